"""What one person has on the table: the open task, who proposes, what is under way. The same for all their windows.

Work runs in a thread of the desk, not of a browser: a reload or a closed window ends nothing. Windows follow by
`version`.
"""

import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from app import news
from app.explained import recollected
from app.opening import begin, take_up
from app.settings import Settings
from app.view import Card, News, View, card_of
from rememberer.approval import Approver, Auto, Confidence, Human, Question
from rememberer.errors import (
    AlreadyAnswered,
    Cancelled,
    RemembererError,
    SessionError,
    StoreError,
)
from rememberer.memory import Memory
from rememberer.policy import Policy
from rememberer.records import Change, Decision, DecisionKind, Proposal
from rememberer.session import Outcome, Session

Opened = Callable[[], tuple[Memory, Mapping[str, Policy]]]
"""Opens a memory; who can propose from it, by name. Raises `StoreError`."""

STREAM_SECONDS = 0.25
"""At most that often the windows are told of a model's new words."""

log = logging.getLogger(__name__)


class Desk:
    """One user's desk. All methods may be called from any thread; those that start work return before it is done."""

    def __init__(self, user: str, opened: Opened, policy: str, settings: Settings) -> None:
        """Open the memory by calling `opened`, in a thread: a large one takes a while. See `open`."""
        self.user = user
        self.leave = ""
        """See `View.leave`."""
        self._opened = opened
        self._memory: Memory | None = None
        self.policies: Mapping[str, Policy] = {}
        self._settings = settings
        self._policy = policy
        self._session: Session | None = None
        self._status = "empty"
        self._news: News | None = None
        self._error = ""
        self._draft = ""
        self._version = 0
        self._job = 0
        """Number of the work under way; work that is not the last one any more says nothing."""
        self._moved = threading.Condition(threading.RLock())
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
        return self._wait_for_memory()

    def _wait_for_memory(self) -> Memory:
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
                news=self._news,
                error=self._error,
                draft=self._draft,
            )

    def wait(self, version: int, seconds: float) -> None:
        """Return when something has changed since `version`, or after `seconds`."""
        with self._moved:
            self._moved.wait_for(lambda: self._version != version, seconds)

    def start(self, env: str, task_id: str, *, seed: int = 0) -> None:
        """Leave the open task, if any, and begin another. Waits while the memory is being opened.

        Raises `StoreError` when it could not be, `SessionError` while another task is being opened.
        """
        with self._moved:
            self._wait_for_memory()
            if self._status == "opening":
                raise SessionError("A task is just being opened. Wait a moment.")
            self.stop()
            self._begin("opening", lambda job: self._open(job, env, task_id, seed))

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
                similarity=self._settings.ask_similarity,
                visits=self._settings.ask_visits,
                margin=self._settings.ask_margin,
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

    def forget(self, key: str) -> None:
        """Forget an experience. Raises what `Memory.forget` raises."""
        self.memory.forget([key])
        with self._moved:
            self._changed()

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

    def _begin(self, status: str, work: Callable[[int], None]) -> None:
        with self._moved:
            self._job += 1
            self._status, self._error, self._draft = status, "", ""
            self._changed()
            threading.Thread(target=self._work, args=(self._job, work), name="desk", daemon=True).start()

    def _work(self, job: int, work: Callable[[int], None]) -> None:
        error = ""
        try:
            work(job)
        except Cancelled:
            pass
        except RemembererError as problem:
            error = str(problem)
        except Exception as problem:
            log.exception("Work on the desk of %s failed", self.user)
            error = f"Something unforeseen went wrong ({type(problem).__name__}). Your task is kept; try again."
        with self._moved:
            if job == self._job:
                session = self._session
                closed = "shut" if self._memory is None else "empty"
                self._status = closed if session is None else "done" if session.ended else "waiting"
                self._error, self._draft = error, ""
                self._changed()

    def _read(self, job: int) -> None:
        memory, policies = self._opened()
        episodes = memory.episodes()
        last = next((each for each in reversed(episodes) if not each.ended), episodes[-1] if episodes else None)
        with self._moved:
            self._memory, self.policies = memory, policies
            self._tell_status("opening" if last else "empty")
        if last:
            self._resume(job, last.id)

    def _open(self, job: int, env: str, task_id: str, seed: int) -> None:
        policy = self.policies[self._policy]
        session = begin(self._settings, self.memory, policy, env, task_id, seed=seed)
        with self._moved:
            left, self._session, self._news = self._session, None, None
        if left:
            left.close()
        self._take(job, session)

    def _resume(self, job: int, episode: str) -> None:
        self._take(job, take_up(self._settings, self.memory, self.policies[self._policy], episode))

    def _take(self, job: int, session: Session) -> None:
        with self._moved:
            self._session = session
            session.policy = self.policies[self._policy]
        if not session.ended:
            self._tell_status("thinking")
            session.run(Human(), self._show(job))

    def _tell_status(self, status: str) -> None:
        with self._moved:
            self._status = status
            self._changed()

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

    def _show(self, job: int) -> Callable[[str], None]:
        last = 0.0

        def show(text: str) -> None:
            nonlocal last
            with self._moved:
                if job == self._job and time.monotonic() - last >= STREAM_SECONDS:
                    last = time.monotonic()
                    self._draft = text
                    self._changed()

        return show

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

    def _changed(self) -> None:
        self._version += 1
        self._moved.notify_all()


@dataclass(frozen=True, slots=True)
class _WhileWanted:
    """Answers nothing once the person has asked for something else."""

    desk: Desk
    job: int
    approver: Approver

    def review(self, step: int, proposal: Proposal) -> Decision | Question | None:
        return self.approver.review(step, proposal) if self.desk._job == self.job else None
