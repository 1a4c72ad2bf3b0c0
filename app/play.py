"""A session in the terminal: the same open task, the same memory as on the page."""

import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import envs
from app.opening import open_memory, open_store
from app.policies import Policies
from app.settings import Settings
from envs.base import OWN_TASK
from rememberer.embedding import SentenceEncoder
from rememberer.errors import RemembererError, SessionError
from rememberer.memory import Memory
from rememberer.policy import Policy
from rememberer.records import Change, Decision, DecisionKind, Proposal
from rememberer.session import Session, end_open, transcript_of

HELP = """Enter: do the first    2: do the second    any action: do that instead    n [hint]: none of these
+ or -: reward the last step    r 0.5 [step]: reward a step    s: stop the task    q: leave it open, for later"""


def play(
    settings: Settings,
    env: str,
    *,
    task_id: str | None = None,
    own: str | None = None,
    new: bool = False,
    policy: str | None = None,
    read: Callable[[], str] = lambda: input("> "),
) -> None:
    """Work through a task, reading answers line by line with `read` until the task or the input ends.

    Raises `RemembererError` for what cannot be opened.
    """
    policies = Policies(settings)
    with closing(policies), closing(open_store(settings)) as store:
        memory = open_memory(store, settings, settings.user, SentenceEncoder(settings.encoder))
        named = policies.of(memory.encoder)
        chosen = policy or policies.default
        if chosen not in named:
            raise SessionError(f"Nobody here is called {chosen!r}. There are: {', '.join(named)}.")
        session = _session(settings, memory, named[chosen], env, OWN_TASK + own if own else task_id, new)
        with closing(session):
            print(f"Task: {session.transcript.started.task}\n{HELP}\n")
            try:
                _converse(session, read)
            except (EOFError, KeyboardInterrupt):
                print("\nThe task stays open. Go on: rememberer play")


def _session(settings: Settings, memory: Memory, policy: Policy, env: str, task_id: str | None, new: bool) -> Session:
    left = next((each.id for each in reversed(memory.episodes()) if not each.ended), None)
    if left and not new and not task_id:
        started = transcript_of(memory, left).started
        world = envs.make(started.env, Path(started.data) if started.data else None)
        return Session.resume(memory, world, left, policy, candidates=settings.candidates)
    end_open(memory)
    world = envs.make(env, settings.data)
    if task_id is None:
        tasks = world.tasks()
        task_id = next((each.id for each in tasks if each.split == "train"), tasks[0].id)
    return Session.start(
        memory,
        world,
        task_id,
        policy,
        learning=settings.learning,
        step_limit=settings.step_limit,
        candidates=settings.candidates,
        data=str(settings.data or ""),
    )


def _converse(session: Session, read: Callable[[], str]) -> None:
    shown: Proposal | None = None
    while not session.ended:
        try:
            proposal = session.propose()
            if proposal is not shown:
                _show(session, proposal)
                shown = proposal
            answer = read().strip()
            if answer == "q":
                raise EOFError
            _tell(_answer(session, proposal, answer))
        except RemembererError as problem:
            print(problem, file=sys.stderr)
            if shown is None:
                # No proposal came: a person can still say what to do.
                _tell(_answer(session, Proposal(candidates=()), read().strip()))
    total = sum(session.transcript.rewards)
    print(f"\nThe task is over ({session.ended}): {len(session.transcript.actions)} steps, return {total:+.2f}.")


def _answer(session: Session, proposal: Proposal, answer: str) -> list[Change]:
    step, (word, _, rest) = session.turn.step, answer.partition(" ")
    if word in ("+", "-", "r"):
        value, _, at = (f"{word}1" if word != "r" else rest).partition(" ")
        try:
            return session.label(int(at) if at else step - 1, float(value))
        except ValueError:
            raise SessionError(f"{answer!r} is no reward. Like this: r 0.5, or r -1 3 for step 3.") from None
    if word == "s" and not rest:
        return session.decide(Decision(step=step, kind="stop")).changes
    if word == "n":
        return session.decide(Decision(step=step, kind="reject", hint=rest.strip())).changes
    if not answer:
        return session.decide(Decision(step=step, kind="approve")).changes
    if answer.isdigit() and 0 < int(answer) <= len(proposal.candidates):
        place = int(answer) - 1
        kind: DecisionKind = "choose" if place else "approve"
        return session.decide(Decision(step=step, kind=kind, action=proposal.candidates[place].action)).changes
    return session.decide(Decision(step=step, kind="override", action=answer)).changes


def _show(session: Session, proposal: Proposal) -> None:
    print(f"--- step {session.turn.step} ---\n{session.turn.state.observation.strip()}\n")
    used = [each for each in proposal.recalled if each.used]
    if not used:
        print("No similar experience.")
    for recalled in used[:3]:
        known = session.memory.experience(recalled.key)
        print(f"{recalled.similarity:4.0%} like: {known.state.task}")
    for place, each in enumerate(proposal.candidates, 1):
        value = f"{each.value:+.2f} ({each.visits}x)" if each.value is not None else "new"
        label = f"  {each.label}" if each.label and each.label.casefold() not in each.action.casefold() else ""
        print(f"{place}  {value:12}  {each.action}{label}")
    for line in (proposal.note, proposal.candidates[0].reason if proposal.candidates else ""):
        if line:
            print(line)


def _tell(changes: list[Change]) -> None:
    if not changes:
        return
    last = changes[-1]
    old = "new" if last.old is None else f"{last.old:+.2f}"
    moved = f"; {len(changes) - 1} others moved" if len(changes) > 1 else ""
    print(f"{last.action}  {old} -> {last.new or 0.0:+.2f} ({last.visits}x){moved}\n")
