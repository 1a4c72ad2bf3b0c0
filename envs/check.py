"""A conformance checker that any environment can be run through, ours or yours.

It plays: a few tasks, a few random walks, and everything that a world must bear with. What it found out is told in
one sentence: what the contract asks, and what came.
"""

import math
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

import numpy as np

from envs.base import OWN_TASK, Action, Observation, Step, Task, TextEnv, matches
from envs.errors import ContractBroken, UnknownTask

NONSENSE = ("", " ", "no such action", "click[no such button]", "[", "\x00\n\u2028", "🙂" * 1000)
"""What any world must bear with: it leaves the page and is marked invalid."""

_OFFERS = "an observation must offer at least one action until the episode ends"


def check(env: TextEnv, episodes: int = 3, seed: int = 0) -> None:
    """Play `episodes` random walks, closing `env` at the end. Raises `ContractBroken` for the first breach found.

    Some breaches show only now and then: more episodes find more. The same seed plays the same.
    """
    _check_description(env)
    tasks = _check_tasks(env)
    _check_unknown_task(env, {task.id for task in tasks})
    random = Random(seed)
    for task in random.sample(tasks, min(episodes, len(tasks))):
        first, played = _walk(env, task, seed, Random(seed))
        if env.replayable:
            _check_replay(env, task, seed, first, played)
        _check_nonsense(env, task, seed)
    if getattr(env, "own_task", False):
        _walk(env, Task(f"{OWN_TASK}find me something", "find me something"), seed, random)
    for number in ("first", "second"):
        try:
            env.close()
        except Exception as error:
            raise ContractBroken(f"close may be called twice, but the {number} call raised {error!r}.") from error


def _ask(fulfilled: bool, asked: str, got: object) -> None:
    if not fulfilled:
        raise ContractBroken(f"The contract asks: {asked}. What came: {got!r:.300}.")


def _check_description(env: object) -> None:
    missing = [
        name
        for name in (
            "name",
            "replayable",
            "step_limit",
            "grammar",
            "kind_similarity",
            "tasks",
            "reset",
            "step",
            "close",
        )
        if not hasattr(env, name)
    ]
    _ask(not missing, "an environment has everything that TextEnv names", f"{type(env).__name__} without {missing}")
    assert isinstance(env, TextEnv)
    _ask(isinstance(env.name, str) and bool(env.name), "`name` is a text", env.name)
    _ask(isinstance(env.replayable, bool), "`replayable` is True or False", env.replayable)
    _ask(_is_count(env.step_limit), "`step_limit` is a whole number above 0", env.step_limit)
    _ask(isinstance(env.grammar, str) and bool(env.grammar.strip()), "`grammar` says what to do", env.grammar)
    if env.kind_similarity is not None:
        _check_kinds(env.kind_similarity)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _check_kinds(table: Mapping[tuple[str, str], float]) -> None:
    kinds = sorted({kind for pair in table for kind in pair})
    matrix = np.array([[table.get((one, other), 0.0) for other in kinds] for one in kinds])
    itself = [kind for kind in kinds if table.get((kind, kind)) != 1]
    _ask(not itself, "a kind's similarity with itself is 1", {kind: table.get((kind, kind)) for kind in itself})
    within = bool(((matrix >= 0) & (matrix <= 1)).all())
    _ask(within, "similarities of kinds are between 0 and 1", dict(table))
    _ask(bool((matrix == matrix.T).all()), "`kind_similarity` is symmetric", dict(table))
    lowest = float(np.linalg.eigvalsh(matrix).min())
    _ask(lowest > -1e-9, "`kind_similarity` is positive semi-definite (lowest eigenvalue 0 or more)", lowest)


def _check_tasks(env: TextEnv) -> list[Task]:
    tasks: Any = env.tasks()
    _ask(isinstance(tasks, Sequence) and len(tasks) > 0, "`tasks()` gives a sequence with at least one task", tasks)
    for task in tasks:
        _ask(isinstance(task, Task), "every task is a Task", task)
        right = isinstance(task.id, str) and isinstance(task.text, str) and bool(task.id and task.text)
        _ask(right, "a task's id and text are texts, not empty", task)
        _ask(task.split in ("train", "test"), "a task's split is train or test", task)
    ids = [task.id for task in tasks]
    twice = sorted({each for each in ids if ids.count(each) > 1}) if len(set(ids)) < len(ids) else []
    _ask(not twice, "task ids are unique, none comes twice", twice)
    again = [task.id for task in env.tasks()]
    _ask(again == ids, "`tasks()` keeps its order", f"{ids[:5]} and then {again[:5]}")
    return list(tasks)


def _check_unknown_task(env: TextEnv, known: set[str]) -> None:
    unknown = "no such task"
    while unknown in known:
        unknown += "!"
    asked = "`reset` raises UnknownTask for an id that `tasks()` does not have"
    try:
        got = env.reset(unknown)
    except UnknownTask:
        return
    except Exception as error:
        raise ContractBroken(f"The contract asks: {asked}. What came: {error!r:.300}.") from error
    _ask(False, asked, got)


def _check_observation(env: TextEnv, observation: Any) -> None:
    _ask(isinstance(observation, Observation), "what is observed is an Observation", observation)
    _ask(isinstance(observation.text, str), "an observation's text is a text", observation.text)
    _ask(isinstance(observation.kind, str) and bool(observation.kind), "an observation has a kind", observation.kind)
    if env.kind_similarity is not None:
        named = (observation.kind, observation.kind) in env.kind_similarity
        _ask(named, "`kind_similarity` names every kind that is observed", observation.kind)
    _ask(isinstance(observation.actions, tuple), "an observation's actions are a tuple", observation.actions)
    for action in observation.actions:
        _ask(isinstance(action, Action), "every action is an Action", action)
        texts = (action.text, action.label, action.kind)
        right = all(isinstance(text, str) and text.strip() for text in texts) and action.text == action.text.strip()
        _ask(right, "an action's text, label and kind are texts, not empty, the text without spaces around it", action)
        _ask(isinstance(action.typed, bool), "an action's `typed` is True or False", action)
        place = action.text.find("<") < action.text.find(">") and action.text.count("<") == action.text.count(">") == 1
        _ask(place or not action.typed, "a typed action has one place <...> for its argument", action)
    texts_here = [action.text for action in observation.actions]
    _ask(len(set(texts_here)) == len(texts_here), "actions of one observation differ in their texts", texts_here)


def _check_step(env: TextEnv, step: Any) -> None:
    _ask(isinstance(step, Step), "`step` returns a Step", step)
    _check_observation(env, step.observation)
    number = isinstance(step.reward, int | float) and not isinstance(step.reward, bool)
    _ask(number and math.isfinite(step.reward), "a reward is a finite number", step.reward)
    for name in ("terminated", "truncated"):
        value = getattr(step, name)
        _ask(isinstance(value, bool), f"`{name}` is True or False", value)
    _ask(isinstance(step.info, Mapping), "`info` is a mapping", step.info)


def _reset(env: TextEnv, task: Task, seed: int) -> Observation:
    try:
        observation = env.reset(task.id, seed)
    except Exception as error:
        asked = "`own_task` says that `reset` takes" if task.id.startswith(OWN_TASK) else "`reset` takes"
        raise ContractBroken(f"The contract asks: {asked} {task.id!r:.100}. What came: {error!r:.300}.") from error
    _check_observation(env, observation)
    _ask(bool(observation.actions), _OFFERS, observation)
    return observation


def _step(env: TextEnv, action: str) -> Step:
    try:
        step = env.step(action)
    except Exception as error:
        raise ContractBroken(f"`step` accepts anything, but {action!r:.100} raised {error!r:.300}.") from error
    _check_step(env, step)
    return step


def _pick(actions: Sequence[Action], task: Task, random: Random) -> str:
    action = random.choice(actions)
    if not action.typed:
        return action.text
    head, _, rest = action.text.partition("<")
    words = [word for word in task.text.split() if word.isalnum()] or ["word"]
    return head + " ".join(random.sample(words, min(3, len(words)))) + rest.partition(">")[2]


def _walk(env: TextEnv, task: Task, seed: int, random: Random) -> tuple[Observation, list[tuple[str, Step]]]:
    """Do available actions at random until the end or the limit."""
    first = observation = _reset(env, task, seed)
    played: list[tuple[str, Step]] = []
    while len(played) < env.step_limit:
        action = _pick(observation.actions, task, random)
        assert matches(observation.actions, action)
        step = _step(env, action)
        played.append((action, step))
        done = step.terminated or step.truncated
        possible = step.info.get("invalid") is not True
        _ask(possible, "an action that an observation offers is possible", f"{action}: {step.info}")
        if done:
            break
        _ask(bool(step.observation.actions), _OFFERS, step.observation)
        observation = step.observation
    return first, played


def _check_replay(env: TextEnv, task: Task, seed: int, first: Observation, played: Sequence[tuple[str, Step]]) -> None:
    """What is replayable repeats itself, from the first observation on."""
    asked = f"a replayable environment gives equal steps for task {task.id!r}, seed {seed} and equal actions"
    again = env.reset(task.id, seed)
    _ask(again == first, asked, f"another first observation: {again.text!r} instead of {first.text!r}")
    for number, (action, step) in enumerate(played, start=1):
        repeated = env.step(action)
        _ask(repeated == step, asked, f"{repeated} instead of {step} at step {number}, {action}")


def _check_nonsense(env: TextEnv, task: Task, seed: int) -> None:
    before = _reset(env, task, seed)
    for action in NONSENSE:
        if matches(before.actions, action):
            continue
        step = _step(env, action)
        marked = step.info.get("invalid") is True
        _ask(marked, f"`info['invalid']` is True for an action that is not available, like {action!r:.40}", step.info)
        stayed = step.observation == before and not step.terminated
        _ask(stayed, f"an action that is not available, like {action!r:.40}, leaves the page", step)
