"""A memory as a pool of the paper's code: read back it is the same states, actions and values."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import envs
from rememberer.approval import Auto
from rememberer.errors import StoreError
from rememberer.events import EpisodeStarted, Observed
from rememberer.learning import Learner
from rememberer.memory_policy import MemoryPolicy
from rememberer.records import ActionValue, Experience, State
from rememberer.session import Session
from rememberer.store import InMemoryStore
from storage import PoolExport, export_pool, import_pool
from tests.rememberer.encoders import WordEncoder
from tests.rememberer.worlds import memory_on

KINDS = ("search", "article", "author", "category", "reference", "about", "unknown")
NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture(params=["libyaml", "python"])
def _either_yaml(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """With libyaml, and as on a machine without it."""
    if request.param == "python":
        monkeypatch.delattr(yaml, "CDumper")
        monkeypatch.delattr(yaml, "CSafeLoader")


def again(experiences: Sequence[Experience], file: Path) -> list[Experience]:
    """Exported, and imported into an empty memory."""
    told = export_pool(experiences, file)
    store = InMemoryStore()
    read = import_pool(store, "me", file)
    assert (read.experiences, read.actions, read.merged, read.left_out) == (told.experiences, told.actions, 0, 0)
    return list(Learner(store.events("me")).experiences())


def values(experiences: Sequence[Experience]) -> dict[str, Any]:
    """All that a pool holds of experiences, by key, in order."""
    return {
        each.key: (
            (each.state.env, each.state.task, each.state.observation, each.state.kind),
            [(row.action, row.q, row.visits, row.mean_reward, row.reason) for row in each.actions if row.visits],
            (each.history, each.mean_last_reward, each.mean_total_reward, each.visits),
        )
        for each in experiences
    }


def test_what_was_done_in_the_shop_comes_back(tmp_path: Path) -> None:
    memory, draw = memory_on(InMemoryStore()), Random(2)
    for task in range(4):
        session = Session.start(memory, envs.make("webshop"), str(task), MemoryPolicy(WordEncoder()))
        session.run(Auto())
        for step in range(1, len(session.transcript.actions) + 1):
            session.label(step, draw.uniform(-1, 1), comment="妙极了")
    before = memory.experiences()
    assert {each.state.kind for each in before} >= {"search", "results", "item"}
    after = again(before, tmp_path / "pool.yaml")
    assert values(after) == values(before)
    assert [each.state for each in after] == [each.state for each in before]


# Blanks at its ends are no part of an action, a reason or a task.
inside = st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from("\n\"'\0:#-?\u0085\u2028鞋"), max_size=20)
texts = inside.map(str.strip)
amounts = st.floats(-1e9, 1e9)
rows = st.builds(
    ActionValue,
    action=texts.filter(lambda text: text not in ("", "NOTHINGG")),
    q=amounts,
    visits=st.integers(1, 10**6),
    mean_reward=amounts,
    reason=texts,
)
screens = st.builds(
    Experience,
    state=st.builds(
        State,
        env=st.just("wikihow"),
        task=texts.filter(lambda text: not text.startswith("Instruction:")),
        observation=inside.map("<p>{}".format),
        kind=st.sampled_from(KINDS),
    ),
    actions=st.lists(rows, min_size=1, max_size=3, unique_by=lambda row: row.action).map(
        lambda found: tuple(sorted(found, key=lambda row: (-row.q, -row.visits, row.action)))
    ),
    history=st.lists(texts.filter(lambda text: text not in ("", "NOTHINGG")), max_size=3).map(tuple),
    mean_last_reward=amounts,
    mean_total_reward=amounts,
    visits=st.integers(1, 10**6),
    created=st.just(NOW),
    updated=st.just(NOW),
)


@pytest.mark.usefixtures("_either_yaml")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(screens, max_size=3, unique_by=lambda each: (each.key, each.state.kind)))
def test_any_screen_comes_back_to_the_letter(tmp_path: Path, before: list[Experience]) -> None:
    """Chinese, line breaks, quotes and NUL too; and in the order of age, which the file tells."""
    before = list({each.key: each for each in before}.values())
    after = again(before, tmp_path / "pool.yaml")
    assert values(after) == values(before)
    assert [each.key for each in after] == [each.key for each in before]


def test_the_released_code_can_load_it(tmp_path: Path) -> None:
    """It loads with PyYAML's full loader, and looks situations and actions up by tuples."""
    file = tmp_path / "pool.yaml"
    state = State(env="wikihow", task="学会打结", observation="<p>", kind="about")
    known = Experience(
        state=state,
        actions=(ActionValue(action="SCROLL(DOWN)", q=0.5, visits=2, mean_reward=0.25, reason="why"),),
        history=("SCROLL(UP)",),
        visits=3,
        created=NOW,
        updated=NOW,
    )
    assert export_pool([known], file) == PoolExport(experiences=1, actions=1, left_out=0)
    assert "学会打结" in file.read_text("utf-8")
    assert yaml.load(file.read_text("utf-8"), Loader=yaml.FullLoader) == {
        ("<p>", "学会打结", "Access the about page"): {
            "action_dict": {("SCROLL(DOWN)", "why"): {"qvalue": 0.5, "reward": 0.25, "number": 2}},
            "other_info": {
                "action_history": [("SCROLL(UP)", "")],
                "last_reward": 0.0,
                "total_reward": 0.0,
                "number": 3,
            },
            "id": 0,
        }
    }


def _experience(action: str = "go", *, observation: str = "<p>", q: float = 0.5, visits: int = 1, **known: Any) -> Any:
    where = {"env": "wikihow", "task": "a task", "kind": "about"} | known
    row = ActionValue(action=action, q=q, visits=visits)
    return Experience(state=State(observation=observation, **where), actions=(row,), created=NOW, updated=NOW, visits=1)


@pytest.mark.parametrize(
    "known",
    [
        _experience(env="corridor"),
        _experience(env="webshop", observation="no page", kind="of the shop"),
        _experience(observation="You are in a room."),
        _experience(kind="else"),
        _experience(task="Instruction: of the shop"),
        _experience(task=" with a blank"),
        _experience(observation="<p> half a pair \ud83e"),
        _experience("half a pair \ud83e"),
        _experience("with a blank "),
        _experience("NOTHINGG"),
        _experience(q=2e9),
        _experience(visits=0),
    ],
)
def test_what_a_pool_cannot_hold_is_left_out_and_counted(known: Experience, tmp_path: Path) -> None:
    file = tmp_path / "pool.yaml"
    assert export_pool([known], file) == PoolExport(experiences=0, actions=0, left_out=1)
    assert again([known, _experience()], file) != []
    assert export_pool([], file) == PoolExport(experiences=0, actions=0, left_out=0)
    assert import_pool(InMemoryStore(), "me", file).experiences == 0


def test_a_file_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="nowhere"):
        export_pool([_experience()], tmp_path / "nowhere" / "pool.yaml")


def test_a_page_of_the_shop_whose_blanks_tell_is_written_as_it_is(tmp_path: Path) -> None:
    """The shop ends lines with blanks; a page that lost them would be another state."""
    shop = envs.make("webshop")
    task = shop.tasks()[0]
    first = State.of("webshop", task.text, shop.reset(task.id))
    seen = shop.step("search[red scarf]").observation
    memory = memory_on(InMemoryStore())
    memory.write([EpisodeStarted(env="webshop", task_id=task.id, task=task.text, state=first)], "e")
    found = State.of("webshop", task.text, seen)
    memory.write([Observed(step=1, action="search[red scarf]", reward=0.0, state=found)], "e")
    memory.write([Observed(step=2, action=found.actions[0].text, reward=0.0, state=first, truncated=True)], "e")
    assert " \n" in found.observation
    assert [each.state for each in again(memory.experiences(), tmp_path / "pool.yaml")] == [first, found]
