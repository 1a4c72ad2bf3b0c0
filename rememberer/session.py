"""One episode, one action at a time, with a person in the loop: the state machine between world, policy and memory.

    propose -> [proposed] -> decide -> [decided] -> env.step -> [observed] -> memory learns -> propose ...

What is in brackets is an event on disk, written before what follows. So an episode can be taken up where it stands
after a reload, a restart or a kill -9, and nothing is executed twice: the id of an answer is made of what it answers
(episode, step, how many proposals were rejected there, how many steps were taken back), and the log takes an id once.
"""

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Self

import envs
from envs.base import OWN_TASK
from rememberer.answer import resolve
from rememberer.approval import Approver, Question
from rememberer.errors import AlreadyAnswered, Cancelled, SessionError
from rememberer.events import (
    Asked,
    Body,
    Decided,
    EpisodeEnded,
    EpisodeStarted,
    Event,
    Guided,
    Observed,
    Proposed,
    TakenBack,
    new_id,
)
from rememberer.memory import Memory
from rememberer.policy import Policy, Situation, recalled
from rememberer.records import Change, Decision, LearningSettings, Proposal, State
from rememberer.transcript import Transcript, Turn, transcript_of

RETRIEVED = 50
"""Experiences that a policy gets to see."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a decision: the step (None when nothing was executed) and the values that moved."""

    observed: Observed | None
    changes: list[Change] = field(default_factory=list)


class Session:
    """An episode under way. Made by `start` and `resume`; all methods may be called from several threads.

    `policy` may be exchanged at any time; `candidates` is how many actions it is asked for.
    """

    def __init__(
        self, memory: Memory, env: envs.TextEnv, policy: Policy, transcript: Transcript, candidates: int = 5
    ) -> None:
        self.memory = memory
        self.policy = policy
        self.transcript = transcript
        self._forgotten = memory.forgotten
        self.candidates = candidates
        self._env = env
        self._ready = False
        """Whether the world stands where the transcript does."""
        self._permit = object()
        """Under which work goes on; `cancel` replaces it."""
        self._lock = threading.RLock()

    @classmethod
    def start(
        cls,
        memory: Memory,
        env: envs.TextEnv,
        task_id: str,
        policy: Policy,
        *,
        seed: int = 0,
        learning: LearningSettings | None = None,
        step_limit: int | None = None,
        candidates: int = 5,
        data: str = "",
        forked: tuple[str, int] | None = None,
    ) -> Self:
        """Begin an episode: a task of `env.tasks()`, or `own:` and an instruction. On disk: its first event.

        `step_limit` None: what the environment says. `data`: where the environment's files came from, to be found
        again. `forked`: see `EpisodeStarted`. Raises `UnknownTask`.
        """
        observation = env.reset(task_id, seed)
        task = next((each.text for each in env.tasks() if each.id == task_id), task_id.removeprefix(OWN_TASK).strip())
        learning = learning or LearningSettings()
        started = EpisodeStarted(
            env=env.name,
            task_id=task_id,
            task=task,
            seed=seed,
            data=data,
            policy=policy.name,
            step_limit=step_limit or env.step_limit,
            learning=learning,
            table=memory.table(learning, seed),
            forked=forked,
            state=State.of(env.name, task, observation),
        )
        events, _ = memory.append([started], new_id())
        session = cls(memory, env, policy, Transcript(events), candidates)
        session._ready = True
        return session

    @classmethod
    def resume(cls, memory: Memory, env: envs.TextEnv, episode: str, policy: Policy, *, candidates: int = 5) -> Self:
        """Take up an episode where it stands. Raises `UnknownEpisode`.

        An open one is replayed in `env`, and a decision without an outcome is executed. Where the world cannot be
        replayed, the episode ends here, and such a decision's outcome is unknown. Raises `SessionError` when the world
        is not what it was.
        """
        session = cls(memory, env, policy, transcript_of(memory, episode), candidates)
        if not session.ended:
            # Another process may be taking it up at the same moment; then its outcome counts.
            with suppress(AlreadyAnswered):
                session.carry_on()
        return session

    @property
    def episode(self) -> str:
        return self.transcript.episode

    @property
    def ended(self) -> str:
        """See `Transcript.ended`."""
        return self.transcript.ended

    @property
    def turn(self) -> Turn:
        return self.transcript.turn

    def propose(self, show: Callable[[str], None] = lambda text: None, *, again: bool = False) -> Proposal:
        """Return the proposal that waits, or make one; `again` makes another one in its place.

        `show` is given the reasoning while a model writes it. On disk: one event. Raises `ModelError`, `Cancelled`
        after `cancel`; then nothing is written and it can be asked again.
        """
        return self._propose(show, again, self._permit)

    def _propose(self, show: Callable[[str], None], again: bool, permit: object) -> Proposal:
        while True:
            with self._lock:
                turn = self._open_turn()
                if turn.waiting and not again:
                    return turn.waiting
                if turn.decision:
                    raise AlreadyAnswered(f"Step {turn.step} was answered already and is being executed.")
                guided = len(self.transcript.guidance)
                situation = self._situation(turn, permit, show)
                number, rejected = len(turn.proposals), len(turn.rejections)
            began = time.monotonic()
            self.memory.refresh()
            known = self.memory.forgotten
            retrieved = self.memory.retrieve(turn.state, RETRIEVED, self.episode)
            try:
                proposal = self.policy.propose(situation, retrieved, self.candidates)
            except Cancelled:
                if self._permit is not permit or len(self.transcript.guidance) == guided:
                    raise
                continue  # the person has said something meanwhile
            kept = {"recalled": recalled(retrieved), "seconds": time.monotonic() - began}
            proposal = proposal.model_copy(update=kept)
            with self._lock, self.memory.alone():
                self._catch_up()
                if self.memory.forgotten != known:
                    raise SessionError("Something was forgotten while this was thought about. Ask again.")
                overtaken = self.ended or self.turn is not turn or turn.decision or len(turn.rejections) != rejected
                if self._permit is not permit or overtaken:
                    raise Cancelled("Stopped: nothing was proposed.")
                if len(self.transcript.guidance) != guided:
                    continue
                # Whoever came first with this number, in this process or another, has made the proposal that counts.
                self._write([Proposed(step=turn.step, proposal=proposal)], [self._id(f"{turn.step}-proposed-{number}")])
                if not self.turn.waiting:
                    raise AlreadyAnswered(f"Step {turn.step} was answered meanwhile, from another window.")
                return self.turn.waiting

    def decide(self, decision: Decision) -> Outcome:
        """Answer the proposal of a step, and execute what was decided. Exactly one answer to a step counts.

        `approve`: `action` may name the first candidate as it was seen. `choose`: another candidate. `override`:
        anything that can be done now. `reject`: nothing is executed, `propose` makes another proposal with `hint` in
        mind. `stop`: the episode ends, truncated.

        On disk: the decision, then the outcome and the values that it moves. Raises, with nothing executed or written:
        `AlreadyAnswered`, `NotAvailable` (the message lists what can be done), `SessionError`.
        """
        with self._lock:
            return self._decide(decision)

    def run(
        self,
        approver: Approver,
        show: Callable[[str], None] = lambda text: None,
        told: Callable[[Outcome], None] = lambda outcome: None,
    ) -> None:
        """Propose, and execute as long as `approver` answers. Returns when it does not, or the episode has ended.

        `told` gets what came of each decision. Why an approver asks is written down. What was proposed before the
        person said something (`guide`) is not executed. Raises what `propose` and `decide` raise, `Cancelled` too.
        """
        permit = self._permit
        while not self.ended:
            proposal = self._propose(show, False, permit)
            answer = approver.review(self.turn.step, proposal)
            with self._lock:
                if answer is not None and self._permit is not permit:
                    raise Cancelled("Stopped: nothing more is done.")
                self._catch_up()
                if not self.ended and self.turn.waiting is not proposal and not self.turn.decision:
                    continue  # the person has said something meanwhile
                if isinstance(answer, Question):
                    self._ask(answer.why)
                if not isinstance(answer, Decision):
                    return
                outcome = self._decide(answer)
            told(outcome)

    def carry_on(self) -> None:
        """Bring the world to where the transcript stands, and execute the decision that has no outcome, if any.

        For after a restart, or when executing failed. See `resume`.
        """
        with self._lock:
            decision = self._open_turn().decision
            if self._env.replayable:
                self._ready = False
                self.transcript.replay(self._env)
                self._ready = True
                if decision:
                    self._execute(decision)
            elif decision:
                unknown = self.transcript.unknown(decision.action)
                self._write([unknown], [self._id(f"{self.turn.step}-observed")])
            elif not self._ready:
                self._write([EpisodeEnded(reason="The world was lost.")], [self._id("ended")])

    def take_back(self) -> list[Change]:
        """Take the last step back, or the end that `stop` made: it has never been. Its proposal waits again.

        Returns the values that moved. On disk: one event. Raises `SessionError` where there is nothing to take back, or
        the world cannot be replayed.
        """
        with self._lock:
            self._catch_up()
            turn, transcript = self.turn, self.transcript
            step = turn.step if self.ended == "stopped" else turn.step - 1
            if not self._env.replayable:
                name = self._env.name
                raise SessionError(f"The world {name} cannot go back. Nothing was taken back; reward the step instead.")
            if step < 1 or (turn.decision and not turn.outcome):
                raise SessionError("There is no step to take back.")
            self.cancel()
            changes = self._write([TakenBack(step=step)], [self._id(f"{step}-taken-back")])
            self._ready = False
            transcript.replay(self._env)
            self._ready = True
            return changes

    def guide(self, text: str) -> None:
        """Tell the agent something for the rest of the episode. What waits, or is thought about, is proposed anew.

        On disk: one event. Raises `SessionError` when there is nothing to say, or the episode is over.
        """
        if not text.strip():
            raise SessionError("Nothing was said. Type what the agent should know.")
        with self._lock:
            turn = self._open_turn()
            self._write([Guided(step=turn.step, text=text.strip())], [new_id()])

    def label(self, step: int, value: float, *, by: str = "person", comment: str = "") -> list[Change]:
        """See `Memory.label`."""
        return self.memory.label(self.episode, step, value, by=by, comment=comment)

    def cancel(self) -> None:
        """Stop work under way: when this returns, no proposal and no step of `propose` or `run` comes any more.

        The episode stays open.
        """
        self._permit = object()
        with self._lock:  # the step under way, if any, is done then
            return

    def close(self) -> None:
        """Stop work and let go of the world. The episode stays open and can be resumed."""
        self.cancel()
        self._env.close()

    def _ask(self, why: str) -> None:
        step, number = self.turn.step, len(self.turn.proposals)
        with suppress(AlreadyAnswered):  # it was asked before, and goes on waiting
            self._write([Asked(step=step, why=why)], [self._id(f"{step}-asked-{number}")])

    def _id(self, what: str) -> str:
        """The id of an event of this episode. Steps that were taken back do not give theirs away."""
        again = self.transcript.taken_back
        return f"{self.episode}-{what}" + (f"-again-{again}" if again else "")

    def _situation(self, turn: Turn, permit: object, show: Callable[[str], None]) -> Situation:
        rewards, guided = self.transcript.rewards, len(self.transcript.guidance)
        said = [*self.transcript.guidance, *(each.hint for each in turn.rejections[-1:] if each.hint)]
        return Situation(
            state=turn.state,
            grammar=self._env.grammar,
            last_actions=self.transcript.actions,
            last_reward=rewards[-1] if rewards else 0.0,
            total_reward=sum(rewards),
            refused=tuple(dict.fromkeys(each.proposed for each in turn.rejections if each.proposed)),
            hint="\n".join(said),
            seed=self.transcript.started.seed,
            cancelled=lambda: self._permit is not permit or len(self.transcript.guidance) != guided,
            show=show,
        )

    def _decide(self, decision: Decision) -> Outcome:
        turn = self._open_turn()
        if decision.step != turn.step or turn.decision:
            raise AlreadyAnswered(
                f"Step {decision.step} was answered already; nothing was done twice."
                if decision.step <= turn.step
                else f"Step {decision.step} is not there yet; this is step {turn.step}."
            )
        decision = resolve(decision, turn)
        if not self._ready and decision.kind not in ("reject", "stop"):
            self.carry_on()
            self._open_turn()
        bodies: list[Body] = [Decided(decision=decision)]
        if decision.kind == "stop":
            ids = [self._id("ended-decided"), self._id("ended")]
            return Outcome(None, self._write([*bodies, EpisodeEnded()], ids))
        changes = self._write(bodies, [self._id(f"{turn.step}-answered-{len(turn.rejections)}")])
        if decision.kind == "reject":
            return Outcome(None, changes)
        outcome = self._execute(decision)
        return Outcome(outcome.observed, [*changes, *outcome.changes])

    def _execute(self, decision: Decision) -> Outcome:
        turn = self.turn
        self._ready = False  # until the outcome is written: an error in between leaves the world anywhere
        observed = self.transcript.outcome(decision.action, self._env.step(decision.action))
        nearest = self._nearest(turn.state, observed.state)
        with self.memory.alone():
            self._catch_up()  # words and keys of what was forgotten meanwhile are not written any more
            reason = self.transcript.reason(turn.step, decision.action)
            kept = {"reason": reason, "nearest": nearest if nearest in self.memory else ""}
            observed = observed.model_copy(update=kept)
            changes = self._write([observed], [self._id(f"{turn.step}-observed")])
        self._ready = True
        return Outcome(observed, changes)

    def _nearest(self, before: State, after: State) -> str:
        """Key of the record that stands for a state without one, where learning wants that; never the one written."""
        if self.transcript.started.learning.bootstrap != "nearest":
            return ""
        found = self.memory.retrieve(after, 2, self.episode)
        return next((each.experience.key for each in found if each.used and each.experience.key != before.key), "")

    def _write(self, bodies: Sequence[Body], ids: Sequence[str]) -> list[Change]:
        """Write events of this episode. Raises `AlreadyAnswered` when others were first, unless with a proposal."""
        events, changes = self.memory.append(bodies, self.episode, ids)
        if events[-1].seq == self.transcript.seq + len(events):
            self._take(events)
        else:
            self._catch_up()
        # A store hands back what it has just taken as it was; what it had before is another object.
        if events[0].body is not bodies[0] and not isinstance(bodies[0], Proposed):
            raise AlreadyAnswered("This was answered already, from another window; nothing was done twice.")
        return changes

    def _open_turn(self) -> Turn:
        self._catch_up()
        if self.ended:
            raise SessionError(f"This task is over ({self.ended}). Start a new one.")
        return self.turn

    def _catch_up(self) -> None:
        """Take what the log has more than the transcript, and let go of what was forgotten."""
        if self.memory.forgotten != self._forgotten:
            before, self._forgotten = self.transcript.actions, self.memory.forgotten
            self.transcript = transcript_of(self.memory, self.episode)
            self._ready = self._ready and self.transcript.actions == before
        if events := self.memory.store.events(self.memory.user, after=self.transcript.seq, episode=self.episode):
            self.memory.refresh()
            self._take(events)

    def _take(self, events: Sequence[Event]) -> None:
        for event in events:
            self.transcript.add(event)
            if isinstance(event.body, Observed | TakenBack):
                self._ready = False  # not in the world here; `_execute` and `take_back` know of their own
