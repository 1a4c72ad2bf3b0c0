"""The folder stays small with nobody calling anything, and what was forgotten is in no file."""

from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from rememberer.events import Forgotten
from storage import LanceStore, export_log
from storage.schema import fingerprint
from tests.storage.conftest import episode, event, experience, open_store

FORGOTTEN = Forgotten(stand_ins=("forgotten:1",))
SECRET = "Rosenholz-Schatulle 4711"


def test_single_appends_leave_few_versions_and_files(lance: LanceStore) -> None:
    log = [each for number in range(300) for each in episode(name=str(number))]
    for each in log[:1500]:
        lance.append([each])
    lance.close()
    with closing(open_store(lance.place.path)) as store:
        left = store.stats().log
        assert [each.id for each in store.events("me")] == [each.id for each in log[:1500]]
        store.forget_files()
        least = store.stats().log
    assert left.rows == least.rows == 1500
    assert left.versions <= 100
    assert left.files <= 400
    assert left.bytes <= 3 * least.bytes
    assert (least.versions, least.files) == (1, 4)


def test_a_table_that_takes_long_to_compact_is_compacted_beside_its_writers(
    lance: LanceStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("storage.maintenance._BLINK", 0.0)  # as if it had a hundred thousand rows
    log = [each for number in range(60) for each in episode(name=str(number))]
    for each in log[:300]:
        lance.append([each])
    lance.close()
    with closing(open_store(lance.place.path)) as store:
        assert [each.id for each in store.events("me")] == [each.id for each in log[:300]]
        assert store.stats().log.versions <= 100
        assert store.stats().log.files <= 400


def test_experiences_that_change_all_the_time_stay_small(lance: LanceStore) -> None:
    lance.put_experiences("me", [experience(str(number)) for number in range(200)], 0)
    for step in range(150):
        lance.put_experiences("me", [experience(str(step % 200), q=step)], step)
    lance.close()
    with closing(open_store(lance.place.path)) as store:
        assert store.stats().states.rows == 200
        assert store.stats().states.versions <= 3  # texts are not written again
        assert store.stats().values.versions <= 100
        assert {each.actions[0].q for each in store.experiences("me")} >= set(range(150))


def _files_with(folder: Path, text: str) -> list[str]:
    raw = text.encode()
    files = (path for path in folder.rglob("*") if path.is_file())
    return sorted(str(path.relative_to(folder)) for path in files if raw in path.read_bytes())


@pytest.mark.parametrize("compacted", [False, True])
def test_what_was_forgotten_is_in_no_file_and_nothing_else_changes(
    lance: LanceStore, tmp_path: Path, compacted: bool
) -> None:
    with_secret, others = experience(f"page with {SECRET}", task=SECRET), [experience(str(n)) for n in range(50)]
    with_secret = with_secret.model_copy(update={"history": (SECRET,)})
    ones = np.ones(3, np.float32)
    lance.append([event("you") for _ in range(1000)])
    lance.append(episode("you"))
    lance.put_experiences("you", others, 0)
    lance.put_vectors("you", {f"their {number}": ones for number in range(50)})
    stored = lance.append(episode("me", task=SECRET))
    lance.put_experiences("me", [with_secret, *others], 0)
    lance.put_vectors("me", {SECRET: ones, "text": ones})
    if compacted:
        # All in one large, compressed file of which little is forgotten: LanceDB by itself would leave it as it is.
        lance.forget_files()
    else:
        # Or else not finding it below would say nothing.
        tables = {name.split(".")[0] for name in _files_with(lance.place.path, SECRET)}
        assert tables == {"log", "states", "values", "vectors"}
    export_log(lance, "you", tmp_path / "before.jsonl")
    files = {path for path in lance.place.path.rglob("*.lance") if path.is_file()}
    assert _files_with(lance.place.path, fingerprint("me", SECRET))
    assert _files_with(lance.place.path, fingerprint("me", with_secret.key))
    redacted = episode("me", task="(forgotten)")
    instead = [new.model_copy(update={"id": old.id}) for old, new in zip(stored, redacted, strict=True)]
    lance.replace("me", instead, event(body=FORGOTTEN))
    lance.drop_experiences("me", [with_secret.key])
    lance.put_experiences("me", [], len(stored))
    lance.drop_vectors("me", [SECRET])
    lance.forget_files()

    assert _files_with(lance.place.path, SECRET) == []
    for name in (with_secret.key, SECRET):  # nor can a guess be confirmed by its fingerprint
        assert _files_with(lance.place.path, fingerprint("me", name)) == []
    assert not files & set(lance.place.path.rglob("*"))
    for table in lance._tables:
        (only,) = table.files.lance().list_versions()
        assert only["metadata"]["total_data_file_rows"] == only["metadata"]["total_rows"]
        assert int(only["metadata"]["total_data_files"]) == len(list(table.files.path.glob("data/*")))
    assert [each.body for each in lance.events("me")] == [*(each.body for each in redacted), FORGOTTEN]
    assert {each.key for each in lance.experiences("me")} == {each.key for each in others}
    assert list(lance.vectors("me")) == ["text"]
    export_log(lance, "you", tmp_path / "after.jsonl")
    assert (tmp_path / "after.jsonl").read_bytes() == (tmp_path / "before.jsonl").read_bytes()
    assert {each.key: each for each in lance.experiences("you")} == {each.key: each for each in others}
    assert len(lance.vectors("you")) == 50
    stats = lance.stats()
    assert {each.versions for each in (stats.log, stats.states, stats.values, stats.vectors)} == {1}


def test_forgetting_that_was_cut_short_is_finished_on_opening(tmp_path: Path) -> None:
    folder = tmp_path / "memory"
    with closing(open_store(folder)) as store:
        stored = store.append(episode(task=SECRET))
        redacted = episode(task="(forgotten)")
        instead = [new.model_copy(update={"id": old.id}) for old, new in zip(stored, redacted, strict=True)]
        store.replace("me", instead, event(body=FORGOTTEN))
        assert _files_with(folder, SECRET)
    with closing(open_store(folder)) as store:
        assert _files_with(folder, SECRET) == []
        assert [each.body for each in store.events("me")] == [*(each.body for each in redacted), FORGOTTEN]


def test_half_written_files_of_the_killed_are_removed(lance: LanceStore) -> None:
    lance.append([event()])
    for place, name in (("data", ".tmpAbCdEf"), ("_versions", "123.manifest#1"), ("_transactions", ".tmpXyZ")):
        (lance.place.path / "log.lance" / place / name).write_text(SECRET)
    lance.forget_files()
    assert _files_with(lance.place.path, SECRET) == []
    assert len(lance.events("me")) == 1


def test_stats_count_what_is_there(lance: LanceStore) -> None:
    lance.append(episode())
    lance.put_experiences("me", [experience("one"), experience("two")], 0)
    stats = lance.stats()
    assert (stats.log.rows, stats.states.rows, stats.values.rows, stats.vectors.rows) == (len(episode()), 2, 3, 0)
    on_disk = [path for path in lance.place.path.glob("*.lance/**/*") if path.is_file()]
    counted = [stats.log, stats.states, stats.values, stats.vectors]
    assert sum(each.files for each in counted) == len(on_disk)
    assert sum(each.bytes for each in counted) == sum(path.stat().st_size for path in on_disk)
