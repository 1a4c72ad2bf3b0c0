"""What people did and said, as examples: of each word of theirs, in the words of the prompt, and of nothing else."""

import json
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import envs
from envs import Action, Observation
from rememberer.approval import Auto
from rememberer.events import Event
from rememberer.memory import Memory
from rememberer.model_policy import ModelPolicy, ModelSettings
from rememberer.records import ActionText, Decision, LearningSettings, State
from rememberer.reply import VALUES, parse, resolve, schema
from rememberer.session import Session
from rememberer.store import InMemoryStore
from rememberer.training import HOW_TO_GET_SOME, SINGLY, Kind, completion, examples
from rememberer.values import EpisodeTrace
from tests.rememberer.fakes import FakeModel
from tests.rememberer.logs import Log, logs, patient
from tests.rememberer.worlds import Corridor, Once, Scripted, answer, begin, memory_on

KINDS: tuple[Kind, ...] = ("dpo", "kto", "episodes")


@pytest.fixture
def memory() -> Memory:
    return memory_on(InMemoryStore())


def proposed(chat: list[dict[str, str]]) -> str:
    """The action that an assistant's message proposes; it is all that the message says."""
    (message,) = chat
    assert message["role"] == "assistant"
    (candidate,) = json.loads(message["content"])["candidates"]
    head, _, rest = candidate["action"].partition("<")
    said = candidate.get("argument")
    return f"{head}{said}{rest.partition('>')[2]}" if said else str(candidate["action"])


def pairs(memory: Memory) -> list[tuple[str, str, str]]:
    """Place, chosen and rejected action of each pair."""
    return [
        (_place(each["prompt"]), proposed(each["chosen"]), proposed(each["rejected"]))
        for each in examples(memory, "dpo")
    ]


def verdicts(memory: Memory) -> list[tuple[str, str, bool]]:
    return [(_place(each["prompt"]), proposed(each["completion"]), each["label"]) for each in examples(memory, "kto")]


def _place(prompt: list[dict[str, str]]) -> str:
    return prompt[-1]["content"].partition("<page>\n")[2].partition("\n</page>")[0].strip()


def test_another_candidate_and_an_action_of_ones_own_stand_before_the_first(memory: Memory) -> None:
    session = begin(memory)
    answer(session, "choose", "go back")
    answer(session, "override", "say[hello]")
    answer(session, "approve")
    answer(session, "override", "go on")  # which is to approve the first
    assert pairs(memory) == [("place 0", "go back", "go on"), ("place -1", "say[hello]", "go on")]


def test_what_a_person_rejected_stands_behind_what_they_did_then(memory: Memory) -> None:
    session = begin(memory, policy=Scripted("go on", "go back", "say[hello]"))
    answer(session, "reject", hint="not on")
    answer(session, "reject")
    answer(session, "approve")
    answer(session, "reject")
    session.run(Auto())
    assert pairs(memory) == [("place 0", "say[hello]", "go on"), ("place 0", "say[hello]", "go back")]
    assert verdicts(memory)[:2] == [("place 0", "go on", False), ("place 0", "go back", False)]


def test_nothing_is_before_itself(memory: Memory) -> None:
    session = begin(memory)
    answer(session, "reject")
    answer(session, "override", "go on")
    assert pairs(memory) == [("place 0", "go on", "go back")]


def test_a_step_that_was_taken_back_is_in_nothing(memory: Memory) -> None:
    session = begin(memory)
    answer(session, "choose", "go back")
    session.label(1, 1.0)
    session.take_back()
    answer(session, "approve")
    session.decide(Decision(step=2, kind="stop"))
    assert (pairs(memory), verdicts(memory)) == ([], [])
    (whole,) = examples(memory, "episodes")
    assert [proposed([each]) for each in whole["messages"][2::2]] == ["go on"]


def test_of_two_that_were_compared_the_better_one_is_chosen(memory: Memory) -> None:
    session = begin(memory)
    key = session.turn.state.key
    answer(session, "approve")
    memory.compare("go on", "go back", key=key)
    memory.compare("say[a]", "say[b]", key=key, equal=True)
    memory.compare("say[c]", "say[d]", key=key)
    memory.undo()
    memory.compare("go back", "go on", key=key, by="Anna")
    memory.compare("go on", "fly", key=key)  # which cannot be done there
    memory.compare("a", "b", key="of no state")
    memory.compare("say[e]", "say[f]", key=key, by="Bo")
    memory.compare("say[f]", "say[e]", key=key, by="Bo")
    assert pairs(memory) == [
        ("place 0", "go on", "go back"),
        ("place 0", "go back", "go on"),
        ("place 0", "say[f]", "say[e]"),
    ]
    memory.undo(by="Bo")
    assert pairs(memory)[2] == ("place 0", "say[e]", "say[f]")


def test_a_reward_says_whether_a_step_was_good(memory: Memory) -> None:
    session = begin(memory)
    for action in ("go on", "say[a]", "say[b]", "say[c]", "go on"):
        answer(session, "override", action)
    for step, value in ((1, 0.5), (2, -0.25), (3, 0.0), (4, 1.0)):
        session.label(step, value)
    session.label(2, 1.0)
    session.label(2, -1.0, by="Anna")
    session.label(2, -0.5, by="Bo")
    session.label(5, 1.0)
    memory.undo()
    memory.withdraw(session.episode, 4)
    session.decide(Decision(step=6, kind="stop"))
    session.label(0, 1.0)
    assert verdicts(memory) == [("place 0", "go on", True), ("place 1", "say[a]", False)]


def test_an_episode_is_a_conversation(memory: Memory) -> None:
    session = begin(memory)
    for action in ("go on", "say[well, well]", "go on"):
        answer(session, "override", action)
    assert list(examples(memory, "episodes")) == []  # as it is not over
    answer(session, "approve")
    (whole,) = examples(memory, "episodes")
    chat = whole.pop("messages")
    assert whole == {"env": "corridor", "task": "walk through", "outcome": "solved", "return": 1.0, "source": ""}
    assert [each["role"] for each in chat] == ["system", *["user", "assistant"] * 4]
    assert [proposed([each]) for each in chat[2::2]] == ["go on", "say[well, well]", "go on", "go on"]
    assert "Last actions:\n- go on\n- say[well, well]\n- go on\nLast reward: 0\nTotal reward: 0" in chat[7]["content"]
    assert json.loads(chat[4]["content"]) == {
        "reasoning": "",
        "candidates": [{"action": "say[<words>]", "argument": "well, well", "value": 1.0, "reason": ""}],
    }


def test_the_prompt_is_what_a_model_is_asked_that_remembers_nothing(memory: Memory) -> None:
    """Word for word, with what the person had told it: a reply is trained on what it will answer."""
    model = FakeModel(['{"candidates": [{"action": "search[<keywords>]", "argument": "scarf"}]}'])
    policy = ModelPolicy(model, "fake", ModelSettings(exemplars=0))
    session = Session.start(memory, envs.make("webshop"), "own:a red scarf", policy, candidates=1)
    session.guide("Cheap ones only.")
    session.propose()
    session.decide(Decision(step=1, kind="override", action="search[red scarf]"))
    (pair,) = examples(memory, "dpo")
    assert pair["prompt"] == model.history[0]
    assert "search[keywords]" in pair["prompt"][0]["content"]
    assert "The person says: Cheap ones only." in pair["prompt"][1]["content"]


def test_a_pair_tells_values_where_both_are_known(memory: Memory) -> None:
    """Else it would be told apart by having one."""
    session = begin(memory, policy=Scripted("go back"))
    answer(session, "override", "go on")
    session.label(1, 0.72)
    (pair,) = examples(memory, "dpo")
    assert "value" not in pair["chosen"][0]["content"] + pair["rejected"][0]["content"]
    answer(session, "override", "go back")
    answer(session, "approve")
    session.label(3, -5e-3)
    session.decide(Decision(step=4, kind="stop"))
    pair = next(examples(memory, "dpo"))
    assert '"value": 0.7' in pair["chosen"][0]["content"]
    assert '"value": 0.0' in pair["rejected"][0]["content"]


def test_what_is_quarantined_counts_for_nothing_until_it_does_again(memory: Memory) -> None:
    session = begin(memory)
    key = session.turn.state.key
    answer(session, "choose", "go back")
    session.label(1, 1.0)
    session.decide(Decision(step=2, kind="stop"))
    before = [list(examples(memory, kind)) for kind in KINDS]
    assert all(before)
    for what in ({"episode": session.episode}, {"key": key}):
        memory.quarantine(**what)
        assert not any(list(examples(memory, kind)) for kind in KINDS)
        memory.quarantine(**what, on=False)
    assert [list(examples(memory, kind)) for kind in KINDS] == before


def test_what_came_from_a_quarantined_file_counts_for_nothing() -> None:
    log = Log()
    log.start("theirs", "one", source="bad.jsonl")
    log.decide("theirs", "override", "a", "b")
    log.step("theirs", "b", 1.0, "two", terminated=True)
    log.label("theirs", 1, 1.0)
    store = InMemoryStore()
    store.append(log.events)
    memory = memory_on(store)
    assert [len(list(examples(memory, kind))) for kind in KINDS] == [1, 1, 1]
    assert next(examples(memory, "episodes"))["source"] == "bad.jsonl"
    memory.quarantine(source="bad.jsonl")
    assert not any(list(examples(memory, kind)) for kind in KINDS)


def test_forgotten_words_are_in_no_example(memory: Memory) -> None:
    session = begin(memory, Corridor(sign="secret "))
    session.guide("hush")
    session.propose()
    secret = session.turn.state.key
    answer(session, "override", "say[whispered]")
    session.label(1, 1.0)
    memory.compare("say[whispered]", "go on", key=secret)
    other = session.turn.state.key
    answer(session, "override", "go back")
    session.label(2, 1.0)
    session.decide(Decision(step=3, kind="stop"))
    assert "whispered" in json.dumps(list(examples(memory, "episodes")))
    memory.forget([secret])
    for kind in KINDS:
        found = json.dumps(list(examples(memory, kind)))
        assert "go back" in found
        assert not [each for each in ("hush", "say[whispered]", "forgotten", secret) if each in found]
    memory.forget([other])
    assert not any(list(examples(memory, kind)) for kind in KINDS)


def test_nobody_is_named(memory: Memory) -> None:
    session = begin(memory)
    answer(session, "choose", "go back", by="Ignatia Quux")
    answer(session, "reject", by="Ignatia Quux")
    answer(session, "approve", by="Ignatia Quux")
    session.label(1, 1.0, by="Ignatia Quux", comment="said Ignatia Quux")
    memory.compare("go on", "go back", key=session.transcript.turns[0].state.key, by="Ignatia Quux")
    session.decide(Decision(step=3, kind="stop", by="Ignatia Quux"))
    found = [list(examples(memory, kind)) for kind in KINDS]
    assert [len(each) for each in found] == [3, 2, 1]
    assert "Quux" not in json.dumps(found)


def test_nothing_is_read_until_it_is_asked_for_and_then_no_more_than_needed() -> None:
    read: list[str | None] = []

    class Watched(InMemoryStore):
        def events(self, user: str, *, after: int = -1, episode: str | None = None) -> list[Event]:
            read.append(episode)
            return super().events(user, after=after, episode=episode)

    memory = memory_on(Watched())
    for _ in range(3):
        session = begin(memory, Once())
        answer(session, "choose", "go back")
        session.decide(Decision(step=2, kind="stop"))
    read.clear()
    found = examples(memory, "episodes")
    assert read == []
    next(found)
    assert [each for each in read if each is not None] == [memory.episodes()[0].id]


def test_many_episodes_are_told_in_their_order(memory: Memory) -> None:
    log = Log()
    for number in range(3 * SINGLY):
        log.start(f"e{number}", f"page {number}")
        log.step(f"e{number}", "go", 0.0, "end")
    for number in reversed(range(3 * SINGLY)):
        log.end(f"e{number}")
    memory.store.append(log.events)
    found = [_place(each["messages"][:2]) for each in examples(memory, "episodes")]
    assert found == [f"page {number}" for number in range(3 * SINGLY)]


@pytest.mark.parametrize("kind", KINDS)
def test_without_examples_there_is_a_way_to_some(memory: Memory, kind: Kind) -> None:
    assert list(examples(memory, kind)) == []
    assert HOW_TO_GET_SOME[kind].endswith(".")


# TRL's documented types of data sets: https://huggingface.co/docs/trl/dataset_formats
COLUMNS: dict[Kind, dict[str, type]] = {
    "dpo": {"prompt": list, "chosen": list, "rejected": list},
    "kto": {"prompt": list, "completion": list, "label": bool},
    "episodes": {"messages": list, "env": str, "task": str, "outcome": str, "return": float, "source": str},
}
ROLES = {"prompt": ["system", "user"], "chosen": ["assistant"], "rejected": ["assistant"], "completion": ["assistant"]}


@patient
@given(logs())
def test_of_any_log_examples_have_the_columns_that_trl_documents(log: list[Event]) -> None:
    store = InMemoryStore()
    store.append(log)
    memory = memory_on(store)
    whole = {each.id for each in memory.episodes() if each.ended and not each.void}
    for kind in KINDS:
        found = list(examples(memory, kind))
        assert kind != "episodes" or len(found) <= len(whole)
        for each in found:
            assert {name: type(value) for name, value in each.items()} == COLUMNS[kind]
            for name, value in each.items():
                if isinstance(value, list):
                    roles = ROLES.get(name, ["system", *["user", "assistant"] * (len(value) // 2)])
                    assert [message["role"] for message in value] == roles
                    assert all({*message} == {"role", "content"} and message["content"] for message in value)
            assert kind != "dpo" or each["chosen"] != each["rejected"]


@patient
@given(logs(without=("quarantine", "drop")))
def test_of_any_log_a_step_is_good_or_bad_by_the_rewards_in_force(log: list[Event]) -> None:
    store = InMemoryStore()
    store.append(log)
    memory = memory_on(store)
    wanted = [sum(map(bool, _rewards(memory, each))) for each in memory.episodes()]
    rejected = sum(
        len({(r.step, r.action) for r in each.rejections if r.kind == "reject"}) for each in memory.episodes()
    )
    assert len(list(examples(memory, "kto"))) == sum(wanted) + rejected


def _rewards(memory: Memory, trace: EpisodeTrace) -> Iterator[float]:
    people = ("person", "another")
    for each in trace.transitions:
        yield sum(memory.labels(trace.id, by).get(each.step, 0.0) for by in people)


def read_back(state: State, action: str, q: float | None = None) -> str | None:
    text = completion(state, action, q)
    if text is None:
        return None
    (suggestion,) = parse(text).suggestions
    assert suggestion.value in [None, *VALUES]
    asked: Any = schema(state.actions, k=1, reasoning_length=10)["properties"]["candidates"]["items"]["properties"]
    assert {*json.loads(text)["candidates"][0]} <= {*asked}
    return resolve(suggestion, state.actions)


def test_a_reply_of_every_action_of_the_shop_is_read_as_that_action() -> None:
    shop, draw = envs.make("webshop"), Random(1)
    kinds = set()
    for task in shop.tasks()[:20]:
        seen = shop.reset(task.id)
        for _ in range(8):
            state = State.of("webshop", task.text, seen)
            done = [each.text.replace("<keywords>", task.text) for each in seen.actions]
            kinds |= {each.kind for each in state.actions}
            assert [read_back(state, each, 0.5) for each in done] == done
            if not done:
                break
            seen = shop.step(draw.choice(done)).observation
    assert {"search", "open", "option", "buy"} <= kinds


texts = st.text(st.characters() | st.characters(categories=["Cs"]) | st.sampled_from('<>[]{}"\\\n -'), max_size=12)
plain = st.text(st.characters(exclude_categories=["Cs", "Z", "Cc"], exclude_characters="<"), min_size=1, max_size=12)


@given(plain, st.floats(-1e9, 1e9))
def test_where_a_world_lists_nothing_a_reply_of_any_action_is_read_as_that_action(said: str, q: float) -> None:
    screen = State.of("wikihow", "Search an article to learn how to knit.", Observation("<p>", "search"))
    for action in (said, f"INPUT(3, {said})", "SCROLL(DOWN)", f'CLICK("{said}")'):
        assert read_back(screen, action, q) == action


@given(texts, plain)
def test_a_typed_action_is_told_by_its_entry_and_its_argument(head: str, said: str) -> None:
    state = State.of("any", "a task", Observation("a page", "any", (Action("search[<words>]", "Search", "s", True),)))
    text = completion(state, f"search[{said}]")
    assert text is not None
    (candidate,) = json.loads(text)["candidates"]
    assert candidate == {"action": "search[<words>]", "argument": said, "reason": ""}


@given(st.lists(st.builds(ActionText, text=texts, label=texts, kind=texts, typed=st.booleans()), max_size=3), texts)
def test_of_odd_texts_a_reply_is_read_as_the_action_or_there_is_none(listed: list[ActionText], other: str) -> None:
    state = State(env="any", task="a task", observation="a page", kind="any", actions=tuple(listed))
    for action in [other, *(each.text for each in listed), *(each.text.replace("<", other) for each in listed)]:
        assert read_back(state, action) in (None, action)


@pytest.mark.parametrize(
    ("q", "value"), [(0.0, 0.0), (-0.04, 0.0), (0.26, 0.3), (1.0, 1.0), (7e8, 1.0), (-1e9, -1.0), (-0.66, -0.7)]
)
def test_a_value_is_one_that_a_reply_can_give(q: float, value: float) -> None:
    state = State(env="any", task="a task", observation="a page", kind="any")
    text = completion(state, "go on", q)
    assert text is not None
    assert f'"value": {value}' in text
    assert value in VALUES


def test_what_happened_is_told_as_it_was_whatever_was_learnt_with(memory: Memory) -> None:
    """The prompt has the rewards of the world, as it had then: not those of people."""
    session = begin(memory, learning=LearningSettings(step_penalty=0.5))
    answer(session, "approve")
    session.label(1, 1.0)
    answer(session, "choose", "go back")
    (pair,) = examples(memory, "dpo")
    assert "Last reward: 0\nTotal reward: 0" in pair["prompt"][1]["content"]
