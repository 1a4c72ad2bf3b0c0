"""A session in the terminal: the same open task, the same memory as on the page."""

from collections.abc import Callable
from contextlib import closing

import envs
from app.opening import begin, open_encoder, open_memory, open_store, take_up
from app.policies import Policies
from app.settings import Settings
from app.terminal import complain, counted, one_line, say, signed
from app.ui.render import gist, outcome_words, shown_label
from envs.base import OWN_TASK
from rememberer.errors import AlreadyAnswered, RemembererError, SessionError, UnknownExperience
from rememberer.memory import Memory
from rememberer.policy import Policy
from rememberer.records import Candidate, Change, Decision, Proposal, Recalled
from rememberer.session import Session
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
        memory = open_memory(store, settings, settings.user, open_encoder(settings))
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
    return take_up(settings, memory, policy, left)


def _started(settings: Settings, memory: Memory, policy: Policy, env: str, wanted: str | None, seed: int) -> Session:
    """A new task; what was open is stopped once the new one is there."""
    if wanted is None:
        tasks = envs.make(env, settings.data).tasks()
        wanted = next((each.id for each in tasks if each.split == "train"), tasks[0].id)
    left = [each.task for each in memory.episodes() if not each.ended]
    session = begin(settings, memory, policy, env, wanted, seed=seed)
    for task in left:
        say(f"Stopped, to begin another: {task}")
    return session


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
        while typed := read().strip():
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
    if typed == "q":
        raise EOFError  # to leave is the same as to say nothing more
    try:
        if typed.split(" ")[0] in ("+", "-", "r"):
            _reward(session, typed)
            return False
        _decide(session, proposal, typed)
    except AlreadyAnswered as problem:
        complain(problem)
    except RemembererError as problem:
        complain(problem)
        return False
    return True


def _reward(session: Session, typed: str) -> None:
    word, *amounts = typed.split()
    step, value = session.turn.step - 1, f"{word}1"
    try:
        match word, amounts:
            case "+" | "-", []:
                pass
            case "r", [value]:
                pass
            case "r", [at, value]:
                step = int(at)
            case _:
                raise ValueError
        amount = float(value)
    except ValueError:
        raise SessionError(
            f"{typed!r} is no reward. Like this: + or - or r 0.5 for the last step, r 2 -1 for step 2. "
            f"If it is an action: !{typed}"
        ) from None
    changes = session.label(step, amount)
    _tell(f"Reward {signed(amount)} for step {step}", session.transcript.turns[step - 1], changes)


def _decide(session: Session, proposal: Proposal | None, typed: str) -> None:
    turn, word = session.turn, typed.split(" ")[0]
    offered = [each.action for each in proposal.candidates] if proposal else []
    first = offered[0] if offered else ""
    if proposal is None and word in ("", "n"):
        return  # nothing was proposed, so it is asked for again
    if not typed:
        decision = Decision(step=turn.step, kind="approve", action=first)
    elif typed == "s":
        decision = Decision(step=turn.step, kind="stop")
    elif word == "n":
        decision = Decision(step=turn.step, kind="reject", proposed=first, hint=typed[1:].strip())
    elif typed.isdecimal() and 0 < int(typed) <= len(offered):
        action = offered[int(typed) - 1]
        decision = Decision(step=turn.step, kind="approve" if action == first else "choose", action=action)
    else:
        decision = Decision(step=turn.step, kind="override", action=typed.removeprefix("!"))
    outcome = session.decide(decision)
    if done := outcome.observed:
        reward = f", reward {signed(done.reward)}" if done.reward else ""
        _tell(f"Step {done.step} done{reward}", turn, outcome.changes)


def _tell(what: str, turn: Turn, changes: list[Change]) -> None:
    """One line: what was done in a turn, the value that it is about, and how many others moved."""
    done = (turn.state.key, turn.outcome.action if turn.outcome else "")
    about = next((each for each in changes if (each.key, each.action) == done), None)
    others = sum(each.old != each.new for each in changes if each is not about)
    if about:
        what += f": {about.action}  {signed(about.old)} -> {signed(about.new)} ({about.visits}x)"
    if others:
        what += f"; {counted(others, 'other value')} moved"
    elif not about:
        what += "; no value moved"
    say(what)


def _show(memory: Memory, proposal: Proposal) -> None:
    if not any(each.used for each in proposal.recalled):
        say("No similar experience.")
    for recalled in proposal.recalled[:SHOWN]:
        _show_recalled(memory, recalled)
    if proposal.note:
        say("", proposal.note)
    say("")
    for place, candidate in enumerate(proposal.candidates, 1):
        _show_candidate(place, candidate)
    if not proposal.candidates:
        say("Nothing is proposed. Type an action, or n to ask again.")


def _show_recalled(memory: Memory, recalled: Recalled) -> None:
    try:
        known = memory.experience(recalled.key)
    except UnknownExperience:
        return  # forgotten since
    told = [known.state.task, "" if recalled.used else "not used", outcome_words(known), gist(known.state, 60)]
    say(f"{max(recalled.similarity, 0):4.0%}  {' · '.join(one_line(each, 60) for each in told if each)}")
    for row in known.actions[:SHOWN] if recalled.used else ():
        rejected = "  rejected" if row.rejections else ""
        say(f"      {signed(row.q) if row.visits else '-':>5}  {row.visits}x  {one_line(row.action, 60)}{rejected}")


def _show_candidate(place: int, candidate: Candidate) -> None:
    label = shown_label(candidate)
    beside = f"  {one_line(label, 100)}" if label != candidate.action else ""
    tried = f"{candidate.visits}x" if candidate.value is not None else ""
    say(f"{place}  {signed(candidate.value):>5}  {tried:3}  {one_line(candidate.action, 100)}{beside}")
    if candidate.reason:
        say(f"              {one_line(candidate.reason, 160)}")
