"""A session in the terminal: the same open task, the same memory as on the page."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import envs
from app.opening import open_memory, open_store
from app.policies import Policies
from app.settings import Settings
from app.terminal import complain, counted, one_line, say, signed
from app.ui.render import gist, outcome_words, shown_label
from envs.base import OWN_TASK
from rememberer.embedding import SentenceEncoder
from rememberer.errors import AlreadyAnswered, RemembererError, SessionError, UnknownExperience
from rememberer.memory import Memory
from rememberer.policy import Policy
from rememberer.records import Candidate, Change, Decision, Proposal, Recalled
from rememberer.session import Session, end_open, transcript_of
from rememberer.transcript import Turn

HELP = """\
Enter: do the first     2: do the second     an action: do that instead (!action if it looks like one of these)
+ or -: reward the last step     r 0.5: likewise     r 2 -1: reward step 2     n [hint]: none of these
s: stop the task     q: leave it open, for later"""
SHOWN = 3
"""Experiences that are shown with a proposal."""


def play(
    settings: Settings,
    env: str,
    *,
    task_id: str | None = None,
    own: str | None = None,
    new: bool = False,
    seed: int = 0,
    policy: str | None = None,
    read: Callable[[], str] = lambda: input("> "),
) -> None:
    """Work through a task, reading answers line by line with `read` until the task or the input ends.

    Raises `RemembererError` for what cannot be opened.
    """
    if own is not None and task_id is not None:
        raise SessionError("Either --task or --own: a goal of the world, or what you want in your own words.")
    policies = Policies(settings)
    with closing(policies), closing(open_store(settings)) as store:
        memory = open_memory(store, settings, settings.user, SentenceEncoder(settings.encoder))
        named = policies.of(memory.encoder)
        chosen = policy or policies.default
        if chosen not in named:
            raise SessionError(f"Nobody here is called {chosen!r}. There are: {', '.join(named)}.")
        wanted = task_id if own is None else OWN_TASK + own
        session = None if new or wanted else _resumed(settings, memory, named[chosen])
        with closing(session or _started(settings, memory, named[chosen], env, wanted, seed)) as session:
            say(f"Task: {session.transcript.started.task}", HELP)
            try:
                _work(session, read)
                _look_back(session, read)
            except (EOFError, KeyboardInterrupt):
                say("" if session.ended else "\nThe task stays open. Go on: rememberer play")


def _resumed(settings: Settings, memory: Memory, policy: Policy) -> Session | None:
    """The open task, taken up where it stands."""
    left = next((each.id for each in reversed(memory.episodes()) if not each.ended), None)
    if left is None:
        return None
    say("Going on with the open task; another one: rememberer play --new")
    started = transcript_of(memory, left).started
    world = envs.make(started.env, Path(started.data) if started.data else None)
    return Session.resume(memory, world, left, policy, candidates=settings.candidates)


def _started(settings: Settings, memory: Memory, policy: Policy, env: str, wanted: str | None, seed: int) -> Session:
    """A new task; what was open is stopped once the new one is there."""
    world = envs.make(env, settings.data)
    if wanted is None:
        tasks = world.tasks()
        wanted = next((each.id for each in tasks if each.split == "train"), tasks[0].id)
    world.reset(wanted, seed)  # an unknown task is refused here, before anything is stopped
    for each in memory.episodes():
        if not each.ended:
            say(f"Stopped, to begin another: {each.task}")
    end_open(memory)
    return Session.start(
        memory,
        world,
        wanted,
        policy,
        seed=seed,
        learning=settings.learning,
        step_limit=settings.step_limit,
        candidates=settings.candidates,
        data=str(settings.data or ""),
    )


def _work(session: Session, read: Callable[[], str]) -> None:
    while not session.ended:
        proposal = _propose(session)
        while not session.ended and not _answered(session, proposal, read().strip()):
            pass


def _look_back(session: Session, read: Callable[[], str]) -> None:
    """After the end: rewards are taken until an empty line. In a person's own task no other reward may have come."""
    transcript = session.transcript
    steps, total = counted(len(transcript.actions), "step"), signed(sum(transcript.rewards))
    say(f"\nThe task is over ({session.ended}): {steps}, return {total}.")
    if transcript.actions:
        say("Its steps can still be rewarded: +, -, r 0.5, r 2 -1. Enter ends.")
        while typed := read().strip().removeprefix("q"):
            _answered(session, None, typed)


def _propose(session: Session) -> Proposal | None:
    """Show the page and what is proposed there; None when nothing is, and why was told."""
    try:
        if session.turn.decision:
            session.carry_on()  # the world failed in the middle of the last step
        if session.ended:
            return None
        total = signed(sum(session.transcript.rewards))
        step = f"step {session.turn.step} of {session.transcript.started.step_limit}"
        say(f"\n--- {step}, return {total} ---", session.turn.state.observation.strip(), "")
        proposal = session.propose()
    except RemembererError as problem:
        complain(problem)
        say("Enter asks again. You can also type an action.")
        return None
    _show(session.memory, proposal)
    return proposal


def _answered(session: Session, proposal: Proposal | None, typed: str) -> bool:
    """Do what was typed, and tell what it did or why not. False: the same proposal waits on."""
    word, *rest = typed.split()[:1] + typed.split()[1:]if typed else [""]
    try:
        if word in ("+", "-", "r"):
            _reward(session, word, rest)
            return False
        _decide(session, proposal, typed)
    except AlreadyAnswered as problem:
        complain(problem)
    except RemembererError as problem:
        complain(problem)
        return False
    return True


def _reward(session: Session, word: str, rest: list[str]) -> None:
    try:
        value, *at = ([f"{word}1"] if word != "r" else rest[-1:]) + rest[:-1]
        step = int(*at) if at else session.turn.step - 1
    except ValueError:
        raise SessionError("x") from None


def _decide(session: Session, proposal: Proposal | None, typed: str) -> None:
    pass
