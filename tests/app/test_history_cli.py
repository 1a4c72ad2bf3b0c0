"""The past in the terminal: how it was, and what of it shall not count."""

from datetime import UTC, datetime, timedelta

from tests.app.conftest import Run

SOON = f"{datetime.now(UTC).astimezone() + timedelta(days=2):%Y-%m-%d}"


def _episode(run: Run) -> str:
    return run("memory", "episodes")[1].splitlines()[1].split()[0]


def test_episodes_are_listed_the_newest_first(run: Run) -> None:
    assert run("memory", "episodes") == (0, "0 of 0 episodes\n", "")
    run("play", "--own", "a red scarf", typed=("search[shawl]", "s"))
    run("play", "--own", "a blue hat", typed=("search[hat]", "s"))
    head, hat, scarf, count = run("memory", "episodes")[1].splitlines()
    assert head.split() == ["episode", "began", "outcome", "return", "steps", "task", "from"]
    assert "a blue hat" in hat
    assert "a red scarf" in scarf
    assert count == "2 of 2 episodes"


def test_an_episode_is_quarantined_and_comes_back(run: Run) -> None:
    run("play", "--own", "a red scarf", typed=("search[shawl]", "r 0.5", "s"))
    before = run("memory", "list")
    code, out, _ = run("memory", "quarantine", "--episode", _episode(run)[:6])
    assert code == 0
    assert "+0.50 ->  gone  search[shawl]\n1 value moved; 0 experiences now\n" in out
    assert run("memory", "list")[1] == "0 of 0 experiences\n"
    assert "quarantined" in run("memory", "episodes")[1]
    _, out, _ = run("memory", "quarantine", "--episode", _episode(run), "--undo")
    assert "  new -> +0.50  search[shawl]\n1 value moved; 1 experience now\n" in out
    assert run("memory", "list") == before


def test_so_is_an_experience_by_the_beginning_of_its_key(run: Run) -> None:
    run("play", "--own", "a red scarf", typed=("search[shawl]", "s"))
    key = run("memory", "list")[1].splitlines()[1].split()[0]
    assert run("memory", "quarantine", "--key", key[:6])[0] == 0
    assert run("memory", "list")[1] == "0 of 0 experiences\n"
    assert run("memory", "quarantine", "--key", key[:6])[0] == 1
    assert run("memory", "quarantine", "--key", key[:6], "--undo")[0] == 0
    assert run("memory", "list")[1].splitlines()[1].startswith(key)


def test_what_is_to_be_quarantined_has_to_be_named_once(run: Run) -> None:
    for options in ([], ["--key", "1", "--episode", "2"]):
        code, _, err = run("memory", "quarantine", *options)
        assert code == 2
        assert "Name one of --episode, --source and --key." in err
    code, _, err = run("memory", "quarantine", "--source", "bad.yaml")
    assert code == 1
    assert err == "Nothing in the memory of 'me' came from 'bad.yaml'. What was imported came from: nowhere, so far.\n"
    assert (
        "No episode begins with 'e'. See them: rememberer memory episodes"
        in run("memory", "quarantine", "--episode", "e")[2]
    )


def test_a_moment_is_shown_as_it_was(run: Run) -> None:
    run("play", "--own", "a red scarf", typed=("search[shawl]", "r 0.5", "s"))
    key = run("memory", "list")[1].splitlines()[1].split()[0]
    assert run("memory", "at", "2020-01-01 12:00") == (0, "0 of 0 experiences as of 2020-01-01 12:00:00\n", "")
    code, out, _ = run("memory", "at", SOON)
    assert code == 0
    assert out.splitlines()[1].split()[:4] == [key, "+0.50", "1x", "search[shawl]"]
    assert "+0.50  1x  search[shawl]" in run("memory", "at", SOON, key[:5])[1]
    code, _, err = run("memory", "at", "yesterday")
    assert code == 2
    assert "'yesterday' does not match the formats" in err
