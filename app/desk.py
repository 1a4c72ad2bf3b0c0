"""What one person has on the table: the open task, who proposes, what is under way. The same for all their windows.

Work runs in a thread of the desk, not of a browser: see `app.work`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from app import news
from app.explained import recollected
from app.opening import begin, fork, take_up
from app.settings import Settings
from app.view import Card, News, View, card_of
from app.work import Work
from rememberer.approval import Approver, Auto, Confidence, Human, Question
from rememberer.errors import AlreadyAnswered, SessionError, StoreError
from rememberer.memory import Memory
from rememberer.policy import Policy
from rememberer.records import Change, Decision, DecisionKind, Proposal
from rememberer.session import Outcome, Session

Opened = Callable[[], tuple[Memory, Mapping[str, Policy]]]
"""Opens a memory; who can propose from it, by name. Raises `StoreError`."""


class Desk(Work):
    """One user's desk. All methods may be called from any thread; those that start work return before it is done."""

    def __init__(self, user: str, opened: Opened, policy: str, settings: Settings) -> None:
        """Open the memory by calling `opened`, in a thread: a large one takes a while. See `open`."""
        super().__init__(user)
        self.leave = ""
        """See `View.leave`."""
        self._opened = opened
        self._memory: Memory | None = None
        self.policies: Mapping[str, Policy] = {}
        self.settings = settings
        self._policy = policy
        self._session: Session | None = None
        self._news: News | None = None
        self.open()

    def open(self) -> None:
        """Open the memory unless it is open or on the way; again, where that failed before.

        Then the last open task comes back on the table, or else the last one, to look at and to reward.
        """
        with self._moved:
            if self._memory is None and self._status != "reading":
                self._begin("reading", self._read)

    @property
    def memory(self) -> Memory:
        """The user's memory, waited for while it is being opened. Raises `StoreError` when it could not be."""
        with self._moved:
            self._moved.wait_for(lambda: self._status != "reading")
            if self._memory is None:
                raise StoreError(self._error)
            return self._memory

    def view(self) -> View:
        """What is on the table now."""
        with self._moved:
            memory = self._memory
            transcript = self._session.transcript if self._session else None
            if transcript and transcript.ended and self._status == "waiting":
                self._status = "done"  # another process has ended it
            waiting = transcript.turn.waiting if transcript else None
            return View(
                version=self._version,
                user=self.user,
                leave=self.leave,
                status=self._status,
                transcript=transcript,
                labels=memory.said(transcript.episode) if memory and transcript else {},
                undoable=memory.can_undo() if memory else (False, False),
                recalled=tuple(recollected(memory, each) for each in waiting.recalled) if memory and waiting else (),
                memories=len(memory) if memory else 0,
                policy=self._policy,
                policies=tuple(self.policies) or (self._policy,),
                prices=self.settings.prices,
                news=self._news,
                error=self._error,
                draft=self._draft,
            )

    def start(self, env: str, task_id: str, *, seed: int = 0) -> None:
        """Leave the open task, if any, and begin another. Waits while the memory is being opened.

        Raises `StoreError` when it could not be, `SessionError` while another task is being opened.
        """
        self._open(begin, env=env, task_id=task_id, seed=seed)

    def put(self, episode: str, *, go_on: bool = False) -> None:
        """Lay a task of the memory on the table, open or over; with `go_on` one that was stopped goes on.

        What was open stays open. Raises `UnknownEpisode`, and what `start` raises.
        """
        self.memory.trace(episode)
        self._open(take_up, episode=episode, go_on=go_on)

    def fork(self, episode: str, step: int) -> None:
        """Begin the task of an episode again, and do again what was done before `step`. See `app.opening.fork`.

        Raises `UnknownEpisode`, and what `start` raises.
        """
        self.memory.trace(episode)
        self._open(fork, episode=episode, step=step)

    def approve(self, card: Card, picked: int = 0) -> None:
        """Do the candidate at place `picked` of `card`, and go on to the next proposal.

        This and the other answers raise what `Session.decide` raises, `AlreadyAnswered` too when another card lies on
        the table by now; then nothing was done.
        """
        waiting = self._answered(card).turn.waiting
        if not waiting or picked >= len(waiting.candidates):
            raise SessionError("There is no proposal to approve. Type an action, or ask for a proposal.")
        self._decide(card, "choose" if picked else "approve", waiting.candidates[picked].action)

    def override(self, card: Card, action: str) -> None:
        """Do what the person typed instead."""
        self._answered(card, any_proposal=True)
        self._decide(card, "override", action)

    def reject(self, card: Card, hint: str = "") -> None:
        """Do none of the candidates, and propose others with `hint` in mind."""
        self._answered(card)
        self._decide(card, "reject", hint=hint)

    def propose(self) -> None:
        """Propose again, or for the first time after a failure or Stop; finishes a step whose world failed."""
        session = self._open_session()
        with self._moved:
            if self._status not in ("thinking", "running"):
                again = session.turn.waiting is not None
                self._begin("thinking", lambda job: self._think(job, session, again))

    def run(self, ask: bool) -> None:
        """Go on without asking: with `ask` as far as memory is sure, else to the end of the task."""
        self._open_session()
        with self._moved:
            sure = Confidence(
                similarity=self.settings.ask_similarity,
                visits=self.settings.ask_visits,
                margin=self.settings.ask_margin,
            )
            self._go_on(sure if ask else Auto(), status="running")

    def guide(self, text: str) -> None:
        """Tell the agent something for the rest of the task: before its next action, it proposes with that in mind.

        Raises what `Session.guide` raises.
        """
        self._open_session().guide(text)
        with self._moved:
            self._changed()
            if self._status == "waiting":
                self._go_on(Human())

    def take_back(self) -> None:
        """Take the last step back, or the end of a task that was stopped. Raises what `Session.take_back` raises."""
        session = self._needed()
        self.stop()
        step, ended = session.turn.step - 1, session.ended
        changes = session.take_back()
        with self._moved:
            self._error = ""
            self._news = News("The task goes on" if ended == "stopped" else f"Step {step} taken back", tuple(changes))
            self._go_on(Human())

    def stop(self) -> None:
        """Stop what is under way: when this returns, no step and no write of it comes any more. The task stays open."""
        with self._moved:
            if self._status not in ("thinking", "running"):
                return
            session = self._needed()
            self._job += 1
            self._status, self._draft, self._error = "waiting", "", ""
            self._changed()
        session.cancel()

    def label(self, step: int, value: float, comment: str = "") -> None:
        """Reward a step of the task on the table (0: the whole). Raises what `Session.label` raises."""
        session = self._needed()
        changes = session.label(step, value, comment=comment)
        self._tell_label(session, step, f"Reward {value:+g} for {{}}", changes)

    def withdraw(self, step: int) -> None:
        """Take a reward back. Raises what `Memory.withdraw` raises."""
        session = self._needed()
        self._tell_label(session, step, "Reward of {} taken back", session.memory.withdraw(session.episode, step))

    def undo(self, again: bool = False) -> None:
        """Undo what was last said of anything, or do again what was undone. Raises what `Memory.undo` raises."""
        session = self._needed()
        said, changes = session.memory.redo() if again else session.memory.undo()
        self._tell_label(session, *news.of_said(said, session.episode, again), changes)

    def said(self, episode: str, step: int, value: float, *, by: str, comment: str = "") -> list[Change]:
        """Reward a step of any task, in anybody's name. Returns and raises what `Memory.label` does."""
        return self._seen(self.memory.label(episode, step, value, by=by, comment=comment))

    def compared(self, better: str, worse: str, *, key: str, equal: bool, by: str) -> list[Change]:
        """Say which of two is better. Returns and raises what `Memory.compare` does."""
        return self._seen(self.memory.compare(better, worse, key=key, equal=equal, by=by))

    def undone(self, *, by: str) -> list[Change]:
        """Undo what somebody said last, of whatever. Returns and raises what `Memory.undo` does."""
        return self._seen(self.memory.undo(by=by)[1])

    def use(self, policy: str) -> None:
        """Let `policy` propose from now on; what waits is proposed anew. Raises `SessionError` for an unknown one."""
        if policy not in self.policies:
            raise SessionError(f"Nobody here is called {policy!r}. There are: {', '.join(self.policies)}.")
        with self._moved:
            if policy == self._policy:
                return
            self._policy = policy
            self._changed()
            session = self._session
            if session and not session.ended:
                session.policy = self.policies[policy]
                self.stop()
                if not session.turn.decision:
                    self._begin("thinking", lambda job: self._think(job, session, again=True))

    def quarantine(self, **what: Any) -> list[Change]:
        """Have something count for nothing, or again: see `Memory.quarantine`, and what it raises."""
        return self._seen(self.memory.quarantine(**what))

    def forget(self, key: str) -> None:
        """Forget an experience. Raises what `Memory.forget` raises."""
        self.memory.forget([key])
        with self._moved:
            self._changed()

    def _seen(self, changes: list[Change]) -> list[Change]:
        """Have the windows look again: values moved without the table."""
        with self._moved:
            self._changed()
        return changes

    def close(self) -> None:
        """Stop work; the task stays open for the next time."""
        self.stop()
        with self._moved:
            if self._session:
                self._session.close()

    def _answered(self, card: Card, any_proposal: bool = False) -> Session:
        """The session, if `card` is still the one on the table (or of the same step, with `any_proposal`)."""
        session = self._open_session()
        now = card_of(session.transcript)
        if card[:2] != now[:2] or session.turn.decision:
            raise AlreadyAnswered(f"Step {card[1]} was answered already, or another task was begun. Look again.")
        if not any_proposal and card != now:
            raise AlreadyAnswered(f"The proposal of step {card[1]} has been replaced by another. Look again.")
        return session

    def _decide(self, card: Card, kind: DecisionKind, action: str = "", hint: str = "") -> None:
        session = self._needed()
        # Not under the desk's lock: a slow world must not keep the windows from being shown what is.
        outcome = session.decide(Decision(step=card[1], kind=kind, action=action, hint=hint))
        with self._moved:
            self._tell(outcome)
            self._go_on(Human())

    def _needed(self) -> Session:
        with self._moved:
            if self._session is None:
                raise SessionError("There is no task on the table. Start one first.")
            return self._session

    def _open_session(self) -> Session:
        session = self._needed()
        if session.ended:
            raise SessionError("This task is over. Start a new one.")
        if self._status == "opening":
            raise SessionError("Another task is just being opened. Wait a moment.")
        return session

    def _rest(self) -> str:
        closed = "shut" if self._memory is None else "empty"
        return closed if self._session is None else "done" if self._session.ended else "waiting"

    def _open(self, how: Callable[..., Session], **what: Any) -> None:
        with self._moved:
            memory = self.memory
            if self._status == "opening":
                raise SessionError("A task is just being opened. Wait a moment.")
            self.stop()
            make = partial(how, self.settings, memory, **what)
            self._begin("opening", lambda job: self._lay(job, make))

    def _read(self, job: int) -> None:
        memory, policies = self._opened()
        episodes = memory.episodes()
        last = next((each for each in reversed(episodes) if not each.ended), episodes[-1] if episodes else None)
        with self._moved:
            self._memory, self.policies = memory, policies
            self._tell_status("opening" if last else "empty")
        if last:
            self._lay(job, partial(take_up, self.settings, memory, episode=last.id))

    def _lay(self, job: int, make: Callable[..., Session]) -> None:
        """Have `make` open a session for the policy of the desk, and lay it on the table."""
        session = make(policy=self.policies[self._policy])
        with self._moved:
            left, self._session, self._news = self._session, None, None
        if left:
            left.close()
        self._take(job, session)

    def _take(self, job: int, session: Session) -> None:
        with self._moved:
            self._session = session
            session.policy = self.policies[self._policy]
        if not session.ended:
            self._tell_status("thinking")
            session.run(Human(), self._show(job))

    def _go_on(self, approver: Approver, status: str = "thinking") -> None:
        """Propose, and execute what `approver` answers, in a thread."""
        session = self._needed()
        if session.ended:
            self._tell_status("done")
        else:
            self._begin(
                status, lambda job: session.run(_WhileWanted(self, job, approver), self._show(job), self._told(job))
            )

    def _think(self, job: int, session: Session, again: bool) -> None:
        if session.turn.decision:
            session.carry_on()
        if not session.ended:
            session.propose(self._show(job), again=again and session.turn.waiting is not None)

    def _told(self, job: int) -> Callable[[Outcome], None]:
        def told(outcome: Outcome) -> None:
            with self._moved:
                if job == self._job:
                    self._tell(outcome)

        return told

    def _tell(self, outcome: Outcome) -> None:
        self._error, self._draft = "", ""
        self._news = news.of_step(outcome)
        self._changed()

    def _tell_label(self, session: Session, step: int, text: str, changes: list[Change]) -> None:
        with self._moved:
            self._news, self._error = news.of_label(session.transcript, step, text, changes), ""
            self._changed()


@dataclass(frozen=True, slots=True)
class _WhileWanted:
    """Answers nothing once the person has asked for something else."""

    desk: Desk
    job: int
    approver: Approver

    def review(self, step: int, proposal: Proposal) -> Decision | Question | None:
        return self.approver.review(step, proposal) if self.desk._job == self.job else None
