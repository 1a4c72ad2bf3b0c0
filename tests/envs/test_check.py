"""The conformance checker passes a sound world, and finds every kind of breach."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import pytest

from envs import Action, ContractBroken, Observation, Step, Task, TextEnv, UnknownTask, check, matches

LEFT, RIGHT = Action("left", "Left", "move"), Action("right", "Right", "move")
SAY = Action("say[<words>]", "Say something", "say", typed=True)


class Corridor:
    """A sound little world: five places in a row, the last one is the goal; one may talk on the way."""

    name: ClassVar[str] = "corridor"
    replayable: ClassVar[bool] = True
    step_limit: ClassVar[int] = 20
    grammar: ClassVar[str] = "left, right or say[...]"
    kind_similarity: ClassVar[Mapping[tuple[str, str], float] | None] = {("place", "place"): 1.0}
    own_task: ClassVar[bool] = True

    def __init__(self) -> None:
        self.place = 0
        self.resets = 0

    def tasks(self) -> Sequence[Task]:
        return [Task(str(start), f"walk from place {start} to place 5", "train") for start in range(3)]

    def look(self) -> Observation:
        return Observation(f"You are at place {self.place}.", "place", () if self.place == 5 else (LEFT, RIGHT, SAY))

    def reset(self, task_id: str, seed: int = 0) -> Observation:
        if task_id not in ("0", "1", "2") and not task_id.startswith("own:"):
            raise UnknownTask(task_id)
        self.resets += 1
        self.place = 0 if task_id.startswith("own:") else int(task_id)
        return self.look()

    def step(self, action: str) -> Step:
        done = matches(self.look().actions, action)
        if done in (LEFT, RIGHT):
            self.place = max(0, self.place + (1 if done == RIGHT else -1))
        over = self.place == 5
        return Step(self.look(), float(over), terminated=over, info={"invalid": done is None})

    def close(self) -> None:
        pass


def test_a_sound_world_passes() -> None:
    check(Corridor(), episodes=5, seed=3)


def test_a_world_that_cannot_be_replayed_may_differ_each_time() -> None:
    class Windy(Corridor):
        replayable = False

        def look(self) -> Observation:
            return replace(super().look(), text=f"You were put here {self.resets} times.")

    check(Windy())


def seen(**changes: Any) -> dict[str, Callable[..., Any]]:
    """A breach in what is observed."""
    return {"look": lambda self: replace(Corridor.look(self), **changes)}


def stepped(**changes: Any) -> dict[str, Callable[..., Any]]:
    """A breach in what a step returns."""
    return {"step": lambda self, action: replace(Corridor.step(self, action), **changes)}


def acting(**changes: Any) -> dict[str, Callable[..., Any]]:
    """A breach in the actions that are offered."""
    return seen(actions=(replace(RIGHT, **changes), LEFT))


def tasks_in_another_order(self: Corridor) -> Sequence[Task]:
    self.place += 1
    return Corridor.tasks(self)[:: (-1) ** self.place]


def reset_raises_value_error(self: Corridor, task_id: str, seed: int = 0) -> Observation:
    if task_id not in ("0", "1", "2"):
        raise ValueError(task_id)
    return Corridor.reset(self, task_id, seed)


def reset_refuses_known_tasks(self: Corridor, task_id: str, seed: int = 0) -> Observation:
    raise UnknownTask(task_id)


def reset_takes_anything(self: Corridor, task_id: str, seed: int = 0) -> Observation:
    return Corridor.reset(self, task_id if task_id in ("0", "1", "2") else "0", seed)


def reset_knows_no_own_task(self: Corridor, task_id: str, seed: int = 0) -> Observation:
    if task_id.startswith("own:"):
        raise UnknownTask(task_id)
    return Corridor.reset(self, task_id, seed)


def reset_goes_on(self: Corridor, task_id: str, seed: int = 0) -> Observation:
    place = self.place
    Corridor.reset(self, task_id, seed)
    self.place = min(max(self.place, place), 4)
    return self.look()


def step_moves_on_nonsense(self: Corridor, action: str) -> Step:
    step = Corridor.step(self, action)
    if step.info["invalid"]:
        self.place = 3
    return replace(step, observation=self.look())


def step_raises_on_nonsense(self: Corridor, action: str) -> Step:
    if not matches(self.look().actions, action):
        raise KeyError(action)
    return Corridor.step(self, action)


def step_ends_on_nonsense(self: Corridor, action: str) -> Step:
    step = Corridor.step(self, action)
    return replace(step, terminated=step.terminated or step.info["invalid"])


def step_remembers_the_last_run(self: Corridor, action: str) -> Step:
    step = Corridor.step(self, action)
    return replace(step, reward=float(self.resets))


def close_fails_twice(self: Corridor) -> None:
    if self.place == -1:
        raise RuntimeError("closed")
    self.place = -1


TASK = Task("0", "walk", "train")
BREACHES: dict[str, tuple[dict[str, Any], str]] = {
    "no name": ({"name": ""}, "`name` is a text"),
    "replayable is no bool": ({"replayable": 1}, "`replayable` is True or False"),
    "no step limit": ({"step_limit": 0}, "`step_limit` is a whole number above 0"),
    "no grammar": ({"grammar": "  "}, "`grammar` says what to do"),
    "kind not like itself": ({"kind_similarity": {("place", "place"): 0.5}}, "a kind's similarity with itself is 1"),
    "kinds not symmetric": (
        {"kind_similarity": {("place", "place"): 1.0, ("end", "end"): 1.0, ("place", "end"): 0.5}},
        "`kind_similarity` is symmetric",
    ),
    "kinds out of range": (
        {"kind_similarity": {("place", "place"): 1, ("a", "a"): 1, ("place", "a"): -0.5, ("a", "place"): -0.5}},
        "between 0 and 1",
    ),
    "kinds not positive semi-definite": (
        {
            "kind_similarity": {(one, one): 1.0 for one in ("place", "a", "b")}
            | {("place", "a"): 0.9, ("a", "place"): 0.9, ("place", "b"): 0.9, ("b", "place"): 0.9}
        },
        "positive semi-definite",
    ),
    "kind not in the table": (seen(kind="elsewhere"), "names every kind that is observed"),
    "no tasks": ({"tasks": lambda self: []}, "at least one task"),
    "tasks are ids": ({"tasks": lambda self: ["0"]}, "every task is a Task"),
    "empty task": ({"tasks": lambda self: [replace(TASK, text="")]}, "id and text are texts, not empty"),
    "task id is a number": ({"tasks": lambda self: [replace(TASK, id=0)]}, "id and text are texts"),
    "unknown split": ({"tasks": lambda self: [replace(TASK, split="dev")]}, "train or test"),
    "task twice": ({"tasks": lambda self: [TASK, TASK]}, "task ids are unique"),
    "tasks in another order": ({"tasks": tasks_in_another_order}, "keeps its order"),
    "unknown task taken": ({"reset": reset_takes_anything}, "raises UnknownTask"),
    "unknown task is another error": ({"reset": reset_raises_value_error}, "raises UnknownTask"),
    "known task refused": ({"reset": reset_refuses_known_tasks}, "`reset` takes '"),
    "own task promised, not kept": ({"reset": reset_knows_no_own_task}, "`own_task` says that `reset` takes"),
    "observation is a text": ({"look": lambda self: "You are here."}, "is an Observation"),
    "no text": (seen(text=None), "an observation's text"),
    "no kind": (seen(kind=""), "an observation has a kind"),
    "actions are a list": (seen(actions=[LEFT]), "actions are a tuple"),
    "actions are texts": (seen(actions=("left",)), "every action is an Action"),
    "no actions": (seen(actions=()), "at least one action until the episode ends"),
    "same action twice": (seen(actions=(LEFT, LEFT)), "differ in their texts"),
    "empty action": (acting(text=" "), "text, label and kind"),
    "action with spaces around": (acting(text=" right"), "without spaces around it"),
    "no label": (acting(label=""), "text, label and kind"),
    "no kind of action": (acting(kind=""), "text, label and kind"),
    "typed is no bool": (acting(typed=None), "`typed` is True or False"),
    "typed without a place": (acting(text="say", typed=True), "one place <...>"),
    "offered, but not possible": (stepped(info={"invalid": True}), "an action that an observation offers is possible"),
    "step is a tuple": ({"step": lambda self, action: (self.look(), 0.0, False)}, "returns a Step"),
    "reward is no number": (stepped(reward=None), "a reward is a finite number"),
    "reward is not finite": (stepped(reward=float("nan")), "a reward is a finite number"),
    "terminated is a number": (stepped(terminated=0), "`terminated` is True or False"),
    "truncated is nothing": (stepped(truncated=None), "`truncated` is True or False"),
    "info is nothing": (stepped(info=None), "`info` is a mapping"),
    "nonsense not marked": (stepped(info={}), "`info['invalid']` is True"),
    "nonsense moves": ({"step": step_moves_on_nonsense}, "leaves the page"),
    "nonsense ends": ({"step": step_ends_on_nonsense}, "leaves the page"),
    "nonsense raises": ({"step": step_raises_on_nonsense}, "accepts anything"),
    "reset goes on": ({"reset": reset_goes_on}, "gives equal steps"),
    "steps differ": ({"step": step_remembers_the_last_run}, "gives equal steps"),
    "close twice": ({"close": close_fails_twice}, "close may be called twice, but the second"),
}


@pytest.mark.parametrize("breach", BREACHES)
def test_a_breach_is_found(breach: str) -> None:
    changes, message = BREACHES[breach]
    broken: TextEnv = type("Broken", (Corridor,), changes)()
    with pytest.raises(ContractBroken) as found:
        check(broken)
    assert message in str(found.value)


@pytest.mark.parametrize("name", ["name", "step_limit", "reset", "close"])
def test_a_missing_part_is_named(name: str) -> None:
    class Bare:
        pass

    members = {key: value for key, value in vars(Corridor).items() if not key.startswith("__") and key != name}
    bare: Any = type("Bare", (Bare,), members | {"place": 0, "resets": 0})()
    with pytest.raises(ContractBroken, match=f"without \\['{name}'\\]"):
        check(bare)
