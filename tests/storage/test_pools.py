"""Pools of the paper's code: read as they were meant, refused whole where they are broken, and never executed."""

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from envs import Observation
from envs.webshop import WebShop
from rememberer.embedding import SentenceEncoder
from rememberer.errors import StoreError
from rememberer.events import Imported
from rememberer.learning import Learner
from rememberer.memory import Memory
from rememberer.records import Experience, State
from rememberer.store import InMemoryStore, Store
from storage import PoolImport, export_log, import_log, import_pool
from tests.rememberer.encoders import WordEncoder
from tests.storage.conftest import ROOT, episode, open_store

RELEASED = ROOT.parent.joinpath("shared", "data", "rememberer-pools")
"""Other people's data, read where it lies."""

SHOP = """\
? !!python/tuple
- |

  Instruction:
  i want a red scarf, and price lower than 30.00 dollars
  [Back to Search]
  Page 2 (Total results: 12)
  [< Prev]
  [Next >]
  [B000000001]
  Red Scarf
  $12.0
- "Instruction:i want a red scarf, and price lower than 30.00 dollars"
- 'back to search

  < prev

  next >

  b000000001'
: action_dict:
    ? &go !!python/tuple
    - click[b000000001]
    - It is red.
    : {number: 3, qvalue: 0.1, reward: 0.0}
    ? !!python/tuple ['click[B000000001] ', It is cheap.]
    : {number: 1, qvalue: -0.30000000000000004, reward: 1.0e-05}
    ? !!python/tuple [null, null]
    : {number: 1, qvalue: 0.0, reward: 0.0}
    ? !!python/tuple [NOTHINGG, '']
    : {qvalue: 0.0}
    ? click[next >]
    : {qvalue: -1}
  other_info:
    action_history: [&first !!python/tuple ['search[red scarf]', ''], *go, *first]
    last_reward: 0.25
    number: 2
    total_reward: -0.5
  id: 0
? !!python/tuple ['', 'Instruction:x', search]
: action_dict: {}
  id: 1
"""

SCREEN = """\
? !!python/tuple
- <button alt="Search" id="0" clickable="true"></button>
- Search an article to learn how to knit.
- Check the reference list
: action_dict:
    ? !!python/tuple [SCROLL(DOWN), '']
    : qvalue: 2
"""


@pytest.fixture
def pool(tmp_path: Path) -> Callable[..., Path]:
    """Write a pool."""

    def write(text: str | bytes, name: str = "pool.wq.yaml") -> Path:
        file = tmp_path / name
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        return file

    return write


@pytest.fixture(params=["libyaml", "python"])
def _either_parser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """With libyaml, and as on a machine without it."""
    if request.param == "python":
        monkeypatch.delattr(yaml, "CSafeLoader")


def learnt(store: Store, user: str = "me") -> list[Experience]:
    return list(Learner(store.events(user)).experiences())


@pytest.mark.usefixtures("_either_parser")
def test_a_page_of_the_shop_is_read_as_the_shop_would_report_it(store: Store, pool: Callable[..., Path]) -> None:
    assert import_pool(store, "me", pool(SHOP)) == PoolImport(experiences=1, actions=2, merged=1, left_out=3, known=0)
    (event,) = store.events("me")
    assert isinstance(event.body, Imported)
    state = event.body.state
    assert (state.env, state.kind) == ("webshop", "results")
    assert state.task == "i want a red scarf, and price lower than 30.00 dollars"
    assert state.observation == (
        "\nInstruction: \ni want a red scarf, and price lower than 30.00 dollars \n[Back to Search]\n"
        "Page 2 (Total results: 12) \n[< Prev]\n[Next >]\n[B000000001]\nRed Scarf \n$12.0 "
    )
    assert [(each.text, each.label, each.kind) for each in state.actions] == [
        ("click[back to search]", "Back to Search", "back"),
        ("click[< prev]", "< Prev", "page"),
        ("click[next >]", "Next >", "page"),
        ("click[b000000001]", "Red Scarf · $12.0", "open"),
    ]
    assert event.source == event.body.source == "pool.wq.yaml"


def test_rows_of_one_action_are_one_and_what_is_no_action_is_left_out(store: Store, pool: Callable[..., Path]) -> None:
    import_pool(store, "me", pool(SHOP))
    (known,) = learnt(store)
    click, turn = known.actions
    assert (click.action, click.visits, click.reason) == ("click[b000000001]", 4, "It is cheap.")
    assert click.q == pytest.approx((3 * 0.1 - 0.3) / 4, abs=1e-15)
    assert click.mean_reward == pytest.approx(1e-05 / 4, abs=1e-15)
    assert (turn.action, turn.q, turn.visits, turn.reason) == ("click[next >]", -1.0, 1, "")
    assert known.history == ("search[red scarf]", "click[b000000001]", "search[red scarf]")
    assert (known.mean_last_reward, known.mean_total_reward, known.visits) == (0.25, -0.5, 2)
    assert known.origin == "pool.wq.yaml"


def test_a_screen_of_wikihow_is_of_the_kind_of_its_instruction(store: Store, pool: Callable[..., Path]) -> None:
    assert import_pool(store, "me", pool(SCREEN)) == PoolImport(experiences=1, actions=1)
    (known,) = learnt(store)
    assert known.state == State(
        env="wikihow",
        task="Search an article to learn how to knit.",
        observation='<button alt="Search" id="0" clickable="true"></button>',
        kind="reference",
    )
    assert [(each.action, each.q, each.visits) for each in known.actions] == [("SCROLL(DOWN)", 2.0, 1)]
    assert (known.history, known.mean_last_reward, known.visits) == ((), 0.0, 1)


def test_a_file_may_hold_both_and_a_pool_may_be_empty(store: Store, pool: Callable[..., Path]) -> None:
    assert import_pool(store, "me", pool(SHOP + SCREEN)).experiences == 2
    assert import_pool(store, "me", pool("{}\n", "empty.yaml")) == PoolImport()


def test_importing_twice_changes_nothing_whatever_the_file_is_called(store: Store, pool: Callable[..., Path]) -> None:
    import_pool(store, "me", pool(SHOP + SCREEN))
    before = store.events("me")
    assert import_pool(store, "me", pool(SHOP + SCREEN)).known == 2
    assert import_pool(store, "me", pool(SCREEN, "other.yaml")) == PoolImport(known=1)
    assert store.events("me") == before
    assert import_pool(store, "anna", pool(SHOP + SCREEN)).experiences == 2


def test_the_two_tables_of_double_q_learning_are_imported_one_after_the_other(
    store: Store, pool: Callable[..., Path]
) -> None:
    """What both began with counts once; what they learnt apart counts by its visits."""
    apart = SCREEN.replace("qvalue: 2", "{qvalue: -1, number: 3}")
    import_pool(store, "me", pool(SHOP + SCREEN, "table.0.yaml"))
    told = import_pool(store, "me", pool(SHOP + apart, "table.1.yaml"))
    assert (told.experiences, told.known) == (1, 1)
    shop, screen = learnt(store)
    assert shop.visits == 2
    assert [(each.q, each.visits) for each in screen.actions] == [((2 - 3) / 4, 4)]


def test_what_the_file_calls_older_is_older(store: Store, pool: Callable[..., Path]) -> None:
    """The released code sorts its table when it writes it; without an id, something is the latest."""
    screens = [SCREEN.replace("<button", f"<{name}") + (f"  id: {id}\n" if id else "") for name, id in AGES.items()]
    import_pool(store, "me", pool("".join(screens)))
    assert [each.state.observation[1] for each in learnt(store)] == ["c", "a", "d", "b"]


AGES = {"a": "7", "b": "", "c": "2", "d": "7"}


def test_the_same_situation_twice_in_a_file_is_one(store: Store, pool: Callable[..., Path]) -> None:
    import_pool(store, "me", pool(SCREEN + SCREEN.replace("qvalue: 2", "qvalue: 1") + SCREEN))
    (known,) = learnt(store)
    assert [(each.q, each.visits) for each in known.actions] == [(1.5, 2)]


def _with(old: str, new: str) -> tuple[int, str]:
    """A pool with one thing made another, and the line of it."""
    text = SHOP + SCREEN
    assert text.count(old) == 1, old
    return text.count("\n", 0, text.index(old)) + 1, text.replace(old, new)


BROKEN: dict[str, tuple[int, str]] = {
    "an object": _with("!!python/tuple ['', 'Inst", "!!python/object:os.system ['', 'Inst"),
    "a call": _with("{qvalue: -1}", '!!python/object/apply:os.system ["touch executed"]'),
    "a number of numpy": _with("qvalue: 0.1", "qvalue: !!python/object/apply:numpy.core.multiarray.scalar [a, b]"),
    "a tag of somebody's": _with("[&first", "!thing [&first"),
    "an unknown field with a tag": _with("id: 1", "more: !!binary aGk="),
    "an unknown field": _with("id: 1", "more: 1"),
    "not a number": _with("0.1", ".nan"),
    "infinite": _with("1.0e-05", "-.inf"),
    "too large": _with("0.1", "1.0e+10"),
    "a word": _with("0.1", "high"),
    "a list for a number": _with("{qvalue: -1}", "{qvalue: [-1]}"),
    "nothing for a number": _with("{qvalue: -1}", "{qvalue: }"),
    "no visits": _with("number: 3", "number: 0"),
    "half a visit": _with("number: 3", "number: 1.5"),
    "a misspelt field": _with("number: 3", "nubmer: 3"),
    "a field twice": _with("number: 3", "number: 3, number: 4"),
    "no value of an action": _with("{qvalue: -1}", "{reward: 0.0}"),
    "no actions": _with("action_dict: {}", "other_info: {}"),
    "a long action": _with("[null, null]", "[a, b, c]"),
    "no action": _with("click[next >]\n", "{}\n"),
    "a list for a reason": _with("[SCROLL(DOWN), '']", "[SCROLL(DOWN), ['']]"),
    "a history that is none": _with("[&first !!python/tuple ['search[red scarf]', ''], *go, *first]", "3"),
    "a list for fields": _with("{qvalue: -1}", "[qvalue, -1]"),
    "a short situation": _with("'Instruction:x', search]", "search]"),
    "a list for a task": _with("'Instruction:x', search]", "[], search]"),
    "a page of something else": _with(
        "!!python/tuple ['', 'Instruction:x'", "!!python/tuple ['You are in a room', 'x'"
    ),
    "an unknown alias": _with("*go", "*going"),
    "broken brackets": _with("1.0e-05}", "1.0e-05]"),
    "a control character": _with("It is red.", "It is \x07."),
    "no text": (1, ""),
    "words": (1, "hello"),
    "a list": (1, "- 1"),
    "two documents": (2, "{}\n---\n{}"),
}


@pytest.mark.usefixtures("_either_parser")
@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_pool_is_refused_whole_with_the_line(
    case: str, pool: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    line, text = BROKEN[case]
    store = InMemoryStore()
    with pytest.raises(StoreError, match=rf"pool\.wq\.yaml, line {line}: .* was expected\. .*Nothing was imported"):
        import_pool(store, "me", pool(text))
    assert store.events("me") == []
    assert [each.name for each in tmp_path.iterdir()] == ["pool.wq.yaml"]


@pytest.mark.parametrize(
    "tag", ["python/object/apply:os.system", "python/name:os.system", "python/module:os", "python/object/new:os.system"]
)
def test_whatever_a_tag_asks_for_nothing_is_executed(
    tag: str, pool: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even where nobody would look at the value."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StoreError, match=r"line 1: .*nothing is made here"):
        import_pool(InMemoryStore(), "me", pool(f'? !!{tag} ["touch executed"]\n: {{}}\n'))
    assert not (tmp_path / "executed").exists()


def test_bytes_that_are_no_text_are_refused_with_the_line(store: Store, pool: Callable[..., Path]) -> None:
    line, text = _with("It is red.", "It is §.")
    with pytest.raises(StoreError, match=f"line {line}: there is no UTF-8"):
        import_pool(store, "me", pool(text.encode("latin-1")))
    assert store.events("me") == []


def _bombs() -> Iterator[tuple[str, str]]:
    laughs = ['? &a0 ["ha", "ha"]\n: {}\n']
    laughs += [f"? &a{level} [{', '.join([f'*a{level - 1}'] * 9)}]\n: {{}}\n" for level in range(1, 12)]
    yield "laughs", "".join(laughs)
    yield "deep lists", "[" * 20_000
    yield "deep dashes", "- " * 20_000
    yield "deep mappings", "{a: " * 20_000
    yield "itself", "&a [*a, *a]"
    yield "itself as a situation", "? &a !!python/tuple [*a, *a, *a]\n: {}\n"
    # Each experience repeats what stands there once: a long history, a long reason.
    history = ", ".join(["do"] * 800)
    one = (
        "? !!python/tuple ['<{0}', t, '']\n: action_dict: {{a: {{qvalue: 1}}}}\n  other_info: {{action_history: {1}}}\n"
    )
    yield "a history", one.format(0, f"&h [{history}]") + "".join(one.format(n, "*h") for n in range(1, 800))
    other = "? !!python/tuple ['<{0}', t, '']\n: action_dict:\n    ? !!python/tuple [a, {1}]\n    : {{qvalue: 1}}\n"
    yield "a reason", other.format(0, f"&r {'x' * 2000}") + "".join(other.format(n, "*r") for n in range(1, 1500))


@pytest.mark.usefixtures("_either_parser")
@pytest.mark.parametrize("case", [name for name, _ in _bombs()])
def test_a_small_file_that_would_grow_or_sink_is_refused(case: str, pool: Callable[..., Path]) -> None:
    store = InMemoryStore()
    with pytest.raises(StoreError, match=r"line \d+: .*Nothing was imported"):
        import_pool(store, "me", pool(dict(_bombs())[case]))
    assert store.events("me") == []


def test_an_alias_is_a_copy(store: Store, pool: Callable[..., Path]) -> None:
    """Fields that two rows share are the fields of each."""
    text = SCREEN.replace("qvalue: 2", "&row {qvalue: 2, number: 5}\n    ? CLICK(1)\n    : *row")
    import_pool(store, "me", pool(text))
    (known,) = learnt(store)
    assert {each.action: (each.q, each.visits) for each in known.actions} == {
        "SCROLL(DOWN)": (2.0, 5),
        "CLICK(1)": (2.0, 5),
    }


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
actions = st.tuples(texts, texts)
values = st.floats(-1e9, 1e9)
rows = st.fixed_dictionaries({"qvalue": values, "reward": values, "number": st.integers(1, 10**6)})
infos = st.fixed_dictionaries(
    {
        "action_history": st.lists(actions, max_size=3),
        "last_reward": values,
        "total_reward": values,
        "number": st.integers(1, 10**6),
    }
)
grown = st.dictionaries(
    st.tuples(texts.map("<p>{}".format), texts.filter(lambda text: not text.startswith("Instruction:")), texts),
    st.fixed_dictionaries(
        {"action_dict": st.dictionaries(actions, rows, max_size=3), "other_info": infos, "id": st.integers(0, 5)}
    ),
    max_size=3,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(grown)
def test_what_the_released_code_writes_is_read_to_the_letter(tmp_path: Path, records: dict[Any, Any]) -> None:
    """It dumps its table with PyYAML's own `Dumper`, which sorts it, whatever is in it; ids tell the order."""
    file = tmp_path / "grown.yaml"
    file.write_text(yaml.dump(records, Dumper=yaml.Dumper), "utf-8", newline="")
    store = InMemoryStore()
    import_pool(store, "me", file)
    found = [event.body for event in store.events("me") if isinstance(event.body, Imported)]
    wanted = []
    for (observation, task, _), record in sorted(records.items(), key=lambda item: (item[1]["id"], item[0])):
        table: dict[str, list[tuple[str, dict[str, Any]]]] = {}
        for (text, reason), row in sorted(record["action_dict"].items()):
            if text.strip() not in ("", "NOTHINGG"):
                table.setdefault(text.strip(), []).append((reason.strip(), row))
        if table:
            history = tuple(text.strip() for text, _ in record["other_info"]["action_history"] if text.strip())
            wanted.append((observation, task.strip(), history, record["other_info"], table))
    assert len(found) == len(wanted)
    for body, (observation, task, history, info, table) in zip(found, wanted, strict=True):
        assert (body.state.observation, body.state.task, body.history) == (observation, task, history)
        got = (body.mean_last_reward, body.mean_total_reward, body.visits)
        assert got == (info["last_reward"], info["total_reward"], info["number"])
        assert [each.action for each in body.actions] == list(table)
        for action, parts in zip(body.actions, table.values(), strict=True):
            visits = sum(row["number"] for _, row in parts)
            assert action.visits == visits
            mean = sum(row["qvalue"] * row["number"] for _, row in parts) / visits
            assert action.q == (parts[0][1]["qvalue"] if len(parts) == 1 else pytest.approx(mean, rel=1e-6, abs=1e-3))
            assert action.reason == next((reason for reason, _ in reversed(parts) if reason), "")


def _clickables(seen: Observation) -> str:
    if seen.kind == "search":
        return "search"
    return "\n".join(action.text.removeprefix("click[")[:-1] for action in seen.actions)


def test_pages_of_our_shop_come_back_as_the_very_same_states_and_are_retrieved(tmp_path: Path, exported: Path) -> None:
    """With the real encoder, from a memory on disk: the past page is as like the present one as can be."""
    shop, draw = WebShop(), Random(1)
    tasks = {task.id: task.text for task in shop.tasks()}
    first, second = list(tasks)[:2]
    states, records = [], {}
    for task in (first, second):
        pages = [shop.reset(task)]
        pages.append(shop.step("search[" + " ".join(tasks[task].split()[:6]) + "]").observation)
        pages.append(shop.step("click[next >]").observation)
        pages.append(shop.step(next(each.text for each in pages[-1].actions if each.kind == "open")).observation)
        pages.append(
            shop.step(draw.choice([each.text for each in pages[-1].actions if each.kind == "option"])).observation
        )
        for page in pages:
            states.append(State.of("webshop", tasks[task], page))
            key = (page.text, f"Instruction: {tasks[task]}", _clickables(page))
            records[key] = {"action_dict": {(page.actions[0].text, "why"): {"qvalue": 1.0}}}
    assert {state.kind for state in states} == {"search", "results", "item"}
    file = tmp_path / "ours.yaml"
    file.write_text(yaml.dump(records, Dumper=yaml.Dumper), "utf-8")
    with closing(open_store(tmp_path / "memory")) as store:
        assert import_pool(store, "me", file).experiences == len(states) == 10
        memory = Memory(store, "me", SentenceEncoder(exported=exported))
        memory.embed()
        assert {each.key for each in memory.experiences()} == {state.key for state in states}
        for state in states:
            same = [each for each in memory.retrieve(state, 10) if each.similarity > 0.9999]
            assert state.key in {each.experience.key for each in same}
            assert {(each.experience.state.task, each.experience.state.kind) for each in same} == {
                (state.task, state.kind)
            }


def test_embedding_after_an_import_is_kept_so_that_retrieval_encodes_only_the_question(
    tmp_path: Path, pool: Callable[..., Path]
) -> None:
    now = State(env="wikihow", task="Search an article to learn how to sew.", observation="<p>", kind="about")
    with closing(open_store(tmp_path / "memory")) as store:
        import_pool(store, "me", pool(SHOP + SCREEN))
        encoder = WordEncoder()
        Memory(store, "me", encoder).embed()
        assert set(encoder.asked) == {
            "i want a red scarf, and price lower than 30.00 dollars",
            "Search an article to learn how to knit.",
        }
        later = WordEncoder()
        assert Memory(store, "me", later).retrieve(now)
        assert later.asked == [now.task]


def test_a_bad_import_is_rolled_back_by_the_name_of_its_file(store: Store, tmp_path: Path) -> None:
    """A pool as well as a log, and what was known before is as it was."""
    pool, log = tmp_path / "bad.yaml", tmp_path / "bad.jsonl"
    pool.write_text(SCREEN)
    elsewhere = InMemoryStore()
    elsewhere.append(episode(name="theirs"))
    export_log(elsewhere, "me", log)
    store.append(episode(name="mine"))
    memory = Memory(store, "me", WordEncoder())
    before = memory.experiences()
    import_log(store, "me", log)
    import_pool(store, "me", pool)
    memory.refresh()
    both = memory.experiences()
    assert len(both) == len(before) + 1
    assert [each.actions for each in both[: len(before)]] != [each.actions for each in before]
    for source in ("bad.yaml", "bad.jsonl"):
        memory.quarantine(source=source)
    assert [each.actions for each in memory.experiences()] == [each.actions for each in before]
    for source in ("bad.yaml", "bad.jsonl"):
        memory.quarantine(source=source, on=False)
    assert [each.actions for each in memory.experiences()] == [each.actions for each in both]


@pytest.mark.parametrize(
    ("name", "experiences", "actions"),
    [
        ("annotated_pool-auto.q.yaml", 38, 38),
        *((f"init_pool{number}.q.yaml", 2, 2) for number in ("", "2", "3")),
        *((f"init_pool{number}.wq.yaml", 4, 5) for number in ("", "2", "3")),
    ],
)
def test_a_released_pool_is_read_whole(name: str, experiences: int, actions: int) -> None:
    if not (RELEASED / name).exists():
        pytest.skip(f"the paper's pools are not on this machine: no {RELEASED / name}")
    store = InMemoryStore()
    assert import_pool(store, "me", RELEASED / name) == PoolImport(experiences=experiences, actions=actions)
    known = learnt(store)
    assert len(known) == experiences
    assert {each.state.env for each in known} == {"webshop" if ".wq." in name else "wikihow"}
    assert "unknown" not in {each.state.kind for each in known}
    if ".wq." in name:
        assert [each.state.kind for each in known] == ["search", "results", "item", "item"]
        available = [{action.text for action in each.state.actions} for each in known]
        # What was good there can be done there; the one that cannot is the one that the pool discourages.
        good = [each.actions[0].action for each in known]
        assert good[0].startswith("search[")
        assert all(action in there for action, there in zip(good[1:], available[1:], strict=True))
        assert all("Instruction:" not in each.state.task for each in known)
        assert all(action.label != action.text for each in known for action in each.state.actions)
