"""Who may come in: the list, and the commands that change it."""

import io
import json
import os
import pty
import stat
import subprocess
import sys
import unicodedata
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.users import Users, UsersError, checked_name, folded
from tests.app.conftest import Run

PASSWORD = "correct horse"


@pytest.fixture
def users(tmp_path: Path) -> Users:
    return Users(tmp_path / "home")


def test_only_the_right_password_of_somebody_who_is_there_will_do(users: Users) -> None:
    users.add("Anna", PASSWORD)
    found = users.check(" anna ", PASSWORD)
    assert found is not None
    assert found.name == "Anna"
    assert users.check("anna", "correct horsf") is None
    assert users.check("ben", PASSWORD) is None
    assert users.check("", "") is None


def test_an_empty_list_is_another_thing_than_none(users: Users, tmp_path: Path) -> None:
    assert users.is_open
    users.add("anna", PASSWORD)
    users.remove("ANNA")
    assert not users.is_open
    assert not Users(tmp_path / "home").is_open
    assert users.all() == []


def test_a_list_that_goes_away_opens_nothing_that_is_running(users: Users, tmp_path: Path) -> None:
    users.add("anna", PASSWORD)
    assert not users.is_open
    (tmp_path / "home" / "users.json").unlink()
    assert not users.is_open
    assert users.find("anna") is None


def test_another_process_is_heard_at_once(users: Users, tmp_path: Path) -> None:
    other = Users(tmp_path / "home")
    assert other.is_open
    before = users.add("anna", PASSWORD)
    assert other.find("anna") == before
    after = users.set_password("anna", PASSWORD)
    assert other.find("anna") == after
    assert after.fingerprint != before.fingerprint
    users.remove("anna")
    assert other.find("anna") is None


def test_nobody_is_lost_when_many_are_added_at_once(tmp_path: Path) -> None:
    names = [f"user {number}" for number in range(12)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda name: Users(tmp_path).add(name, PASSWORD), names))
    assert sorted(user.name for user in Users(tmp_path).all()) == sorted(names)


def test_files_are_for_their_owner_only_and_hold_no_password(users: Users, tmp_path: Path) -> None:
    users.add("anna", PASSWORD)
    secret = users.secret()
    assert users.secret() == Users(tmp_path / "home").secret() == secret
    for name in ("users.json", "secret"):
        file = tmp_path / "home" / name
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert PASSWORD not in file.read_text()
    assert "argon2id" in (tmp_path / "home" / "users.json").read_text()
    assert "argon2" not in repr(users.all())


def test_a_key_that_is_none_is_not_used(users: Users, tmp_path: Path) -> None:
    users.secret()
    (tmp_path / "home" / "secret").write_text("")
    with pytest.raises(UsersError, match="too short"):
        users.secret()


@pytest.mark.parametrize("broken", ["", "{", "[{}]", '{"anna": 1}', "[1]"])
def test_a_broken_list_lets_nobody_in(users: Users, tmp_path: Path, broken: str) -> None:
    users.add("anna", PASSWORD)
    file = tmp_path / "home" / "users.json"
    file.write_text(broken)
    for act in (users.all, lambda: users.is_open, lambda: users.check("anna", PASSWORD), lambda: users.remove("anna")):
        with pytest.raises(UsersError, match=r"users\.json cannot be read"):
            act()
    assert file.read_text() == broken


@pytest.mark.parametrize("name", ["", "  ", "a" * 65, "a\nb", "a\0", "\u200b", "\ud800", "shared", "GUEST", " Shared "])
def test_names_that_nobody_can_have(users: Users, name: str) -> None:
    with pytest.raises(UsersError):
        users.add(name, PASSWORD)
    assert users.is_open


@pytest.mark.parametrize("same", ["Zoë", "ZOË", " zoë", "Zoe\N{COMBINING DIAERESIS}"])
def test_one_name_in_several_spellings_is_one_name(users: Users, same: str) -> None:
    users.add("Zoë", PASSWORD)
    with pytest.raises(UsersError, match="there already"):
        users.add(same, PASSWORD)
    assert users.find(same) is not None


@given(st.text())
def test_a_name_is_the_same_however_it_is_composed(name: str) -> None:
    spellings = [name, f" {name}\t", *(unicodedata.normalize(form, name) for form in ("NFC", "NFD"))]
    assert len({folded(each) for each in spellings}) == 1
    assert folded(folded(name)) == folded(name)
    try:
        kept = checked_name(name)
    except UsersError:
        return
    assert checked_name(kept) == kept
    assert folded(kept) == folded(name)
    assert 0 < len(kept) <= 64


@pytest.mark.parametrize("password", ["", "short", "1234567"])
def test_short_passwords_are_refused_without_being_told(users: Users, password: str) -> None:
    with pytest.raises(UsersError, match="at least 8 characters") as refused:
        users.add("anna", password)
    assert not password or password not in str(refused.value)


def test_the_commands(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def command(*arguments: str, piped: str = "") -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "stdin", io.StringIO(piped))
        return run("user", *arguments)

    assert "Nobody has to log in" in command("list")[1]
    assert command("add", "anna", "--admin", piped=f"{PASSWORD}\nmore\n") == (0, "anna can log in now.\n", "")
    assert command("add", "ben", piped=f"{PASSWORD}\r\n")[0] == 0
    assert command("list")[1] == "anna (admin)\nben\n"
    users = Users(tmp_path / "home")
    assert users.check("anna", PASSWORD)
    assert users.check("ben", PASSWORD)
    assert "logged out everywhere" in command("password", "ben", piped="another one\n")[1]
    assert not users.check("ben", PASSWORD)
    assert users.check("ben", "another one")
    for wrong, told in [
        (("add", "Anna"), "there already"),
        (("add", "guest"), "Choose another name"),
        (("password", "eve"), "rememberer user list"),
        (("remove", "eve"), "rememberer user list"),
    ]:
        code, out, err = command(*wrong, piped=f"{PASSWORD}\n")
        assert (code, out) == (1, "")
        assert told in err
    assert "at least 8" in command("add", "carla")[2]
    assert command("remove", "anna")[1] == "anna cannot come in any more. Their memory stays.\n"
    assert "Now nobody can" in command("remove", "ben")[1]
    assert "Nobody can come in" in command("list")[1]


@pytest.mark.parametrize("command", ["add", "list", "password", "remove"])
def test_every_command_has_help_with_an_example(run: Run, command: str) -> None:
    code, out, _ = run("user", command, "--help")
    assert code == 0
    assert f"Example: rememberer user {command}" in out


@pytest.mark.parametrize(("second", "told"), [(PASSWORD, "can log in now"), ("correct house", "not the same twice")])
def test_a_password_is_typed_twice_and_not_seen(tmp_path: Path, second: str, told: str) -> None:
    ours, theirs = pty.openpty()
    asked = subprocess.Popen(
        [sys.executable, "-m", "app.cli", "user", "add", "anna", "--home", str(tmp_path)],
        cwd=Path(__file__).parents[2],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    seen = b""
    for prompt, typed in ((b"Password: ", PASSWORD), (b"Once more: ", second)):
        while not seen.endswith(prompt):
            seen += os.read(ours, 1024)
        os.write(ours, f"{typed}\n".encode())
    while told.encode() not in seen:
        seen += os.read(ours, 1024)
    os.close(ours)
    assert asked.wait(30) == (0 if second == PASSWORD else 1)
    assert b"correct" not in seen
    assert Users(tmp_path).is_open == (second != PASSWORD)


def test_the_file_is_one_that_people_can_read(users: Users, tmp_path: Path) -> None:
    users.add("anna", PASSWORD, is_admin=True)
    (known,) = json.loads((tmp_path / "home" / "users.json").read_text())
    assert (known["name"], known["is_admin"]) == ("anna", True)
