"""Whether the memory policy learns: reward on the same goals with an empty memory, and after some corrected tasks.

    python -m benchmarks.learning [--data DIR] [--train 20] [--test 100]

A scripted teacher that knows the goal corrects the training tasks: where the policy's first candidate is not the right
action, the right one is done instead, and the rejection is remembered. While testing, the policy acts alone and nothing
is learnt. Goals and seeds are fixed. The intervals (95 %) are bootstrapped over the test goals.
"""

import argparse
import random
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from envs import Task
from envs.webshop import WebShop
from envs.webshop.teacher import Teacher
from rememberer import Decision, InMemoryStore, Memory, Policy, Situation, State
from rememberer.memory_policy import MemoryPolicy
from rememberer.session import RETRIEVED, Session

SEED = 0
Rewards = NDArray[np.float64]


def practise(memory: Memory, shop: WebShop, policy: Policy, tasks: Sequence[Task]) -> tuple[int, int]:
    """Work through `tasks` under the teacher's eyes. Returns how many steps that took, and how many it corrected."""
    teacher, steps, corrected = Teacher(shop), 0, 0
    for task in tasks:
        session = Session.start(memory, shop, task.id, policy, seed=SEED)
        while not session.ended:
            proposal, right = session.propose(), teacher.advise()
            corrected += not proposal.candidates or proposal.candidates[0].action != right
            # An override with what was proposed counts as its approval.
            session.decide(Decision(step=session.turn.step, kind="override", action=right, by="teacher"))
            steps += 1
    return steps, corrected


def perform(memory: Memory, shop: WebShop, policy: Policy, task: Task) -> float:
    """Let the policy work through a task alone, and return the reward. Writes nothing to the memory."""
    observation, trail, total = shop.reset(task.id, SEED), [], 0.0
    while len(trail) < shop.step_limit:
        state = State.of(shop.name, task.text, observation)
        situation = Situation(state=state, grammar=shop.grammar, last_actions=tuple(trail), seed=SEED)
        proposal = policy.propose(situation, memory.retrieve(state, RETRIEVED), 1)
        trail.append(proposal.candidates[0].action)
        step = shop.step(trail[-1])
        observation, total = step.observation, total + step.reward
        if step.terminated or step.truncated:
            break
    return total


def interval(values: Rewards) -> str:
    """The mean, with its bootstrapped 95 % interval."""
    draws = np.random.default_rng(SEED).choice(values, (10_000, len(values))).mean(axis=1)
    low, high = np.quantile(draws, [0.025, 0.975])
    return f"{values.mean():6.3f}  [{low:6.3f}, {high:6.3f}]"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, help="folder with the official files; default: our own catalogue")
    parser.add_argument("--train", type=int, default=20, help="corrected tasks")
    parser.add_argument("--test", type=int, default=100, help="test goals")
    asked = parser.parse_args()

    shop = WebShop(asked.data)
    memory = Memory(InMemoryStore())
    policy = MemoryPolicy(memory.encoder)
    goals = [task for task in shop.tasks() if task.split == "test"][: asked.test]
    lessons = [task for task in shop.tasks() if task.split == "train"]
    lessons = random.Random(SEED).sample(lessons, min(asked.train, len(lessons)))

    def test() -> Rewards:
        return np.array([perform(memory, shop, policy, goal) for goal in goals])

    began = time.monotonic()
    empty = test()
    steps, corrected = practise(memory, shop, policy, lessons)
    taught = test()
    print(f"{len(goals)} test goals, mean and 95 % interval")
    print(f"{len(lessons)} training tasks: {corrected} of {steps} steps corrected, {len(memory)} experiences\n")
    print(f"reward, empty memory  {interval(empty)}")
    print(f"reward, after lessons {interval(taught)}")
    print(f"difference, by goal   {interval(taught - empty)}\n")
    print(f"solved, empty memory  {interval((empty >= 1).astype(float))}")
    print(f"solved, after lessons {interval((taught >= 1).astype(float))}")
    print(f"\n{time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
