"""One episode, one action at a time, with a person in the loop: the state machine between world, policy and memory.

    propose -> [proposed] -> decide -> [decided] -> env.step -> [observed] -> memory learns -> propose ...

What is in brackets is an event on disk, written before what follows. So an episode can be taken up where it stands
after a reload, a restart or a kill -9, and nothing is executed twice: the id of an answer is made of what it answers
(episode, step, how many proposals were rejected there), and the log takes an id once.
"""

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Self

import envs
from envs.base import OWN_TASK
from rememberer.approval import Approver
from rememberer.errors import AlreadyAnswered, Cancelled, NotAvailable, SessionError
from rememberer.events import Body, Decided, EpisodeEnded, EpisodeStarted, Event, Observed, Proposed, new_id
from rememberer.memory import Memory
from rememberer.policy import RECALLED, Policy, Situation
from rememberer.records import Change, Decision, LearningSettings, Proposal, Recalled, State
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
    ) -> Self:
        """Begin an episode: a task of `env.tasks()`, or `own:` and an instruction. On disk: its first event.

        `step_limit` None: what the environment says. `data`: where the environment's files came from, to be found
        again. Raises `UnknownTask`.
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
            state=State.of(env.name, task, observation),
        )
        episode = new_id()
        events, _ = memory.append([started], episode)
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
        with self._lock:
            turn = self._open_turn()
            if turn.waiting and not again:
                return turn.waiting
            if turn.decision:
                raise AlreadyAnswered(f"Step {turn.step} was answered already and is being executed.")
            situation = self._situation(turn, permit, show)
            number, rejected = len(turn.proposals), len(turn.rejections)
        began = time.monotonic()
        self.memory.refresh()
        known = self.memory.forgotten
        retrieved = self.memory.retrieve(turn.state, RETRIEVED, self.episode)
        proposal = self.policy.propose(situation, retrieved, self.candidates)
        recalled = tuple(
            Recalled(key=each.experience.key, similarity=each.similarity, used=each.used)
            for each in retrieved[:RECALLED]
        )
        proposal = proposal.model_copy(update={"recalled": recalled, "seconds": time.monotonic() - began})
        with self._lock, self.memory.alone():
            self._catch_up()
            if self.memory.forgotten != known:
                raise SessionError("Something was forgotten while this was thought about, so it is dropped. Ask again.")
            overtaken = self.ended or self.turn is not turn or turn.decision or len(turn.rejections) != rejected
            if self._permit is not permit or overtaken:
                raise Cancelled("Stopped: nothing was proposed.")
            # Whoever came first with this number, in this process or another, has made the proposal that counts.
            name = f"{self.episode}-{turn.step}-proposed-{number}"
            self._write([Proposed(step=turn.step, proposal=proposal)], [name])
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

        `told` gets what came of each decision. Raises what `propose` and `decide` raise; `Cancelled` after `cancel`.
        """
        permit = self._permit
        while not self.ended:
            proposal = self._propose(show, False, permit)
            decision = approver.review(self.turn.step, proposal)
            if decision is None:
                return
            with self._lock:
                if self._permit is not permit:
                    raise Cancelled("Stopped: nothing more is done.")
                outcome = self._decide(decision)
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
                unknown = Observed(
                    step=self.turn.step,
                    action=decision.action,
                    reward=0.0,
                    state=self.turn.state,
                    truncated=True,
                    outcome_unknown=True,
                )
                self._write([unknown], [f"{self.episode}-{self.turn.step}-observed"])
            elif not self._ready:
                self._write([EpisodeEnded(reason="The world was lost.")], [f"{self.episode}-ended"])

    def label(self, step: int, value: float, *, by: str = "person", comment: str = "") -> list[Change]:
        """See `Memory.label`."""
        return self.memory.label(self.episode, step, value, by=by, comment=comment)

    def withdraw(self, step: int) -> list[Change]:
        """See `Memory.withdraw`."""
        return self.memory.withdraw(self.episode, step)

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

    def _situation(self, turn: Turn, permit: object, show: Callable[[str], None]) -> Situation:
        rewards = self.transcript.rewards
        return Situation(
            state=turn.state,
            grammar=self._env.grammar,
            last_actions=self.transcript.actions,
            last_reward=rewards[-1] if rewards else 0.0,
            total_reward=sum(rewards),
            refused=tuple(dict.fromkeys(each.proposed for each in turn.rejections if each.proposed)),
            hint=turn.rejections[-1].hint if turn.rejections else "",
            seed=self.transcript.started.seed,
            cancelled=lambda: self._permit is not permit,
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
        decision = self._resolve(decision, turn)
        if not self._ready and decision.kind not in ("reject", "stop"):
            self.carry_on()
            self._open_turn()
        bodies: list[Body] = [Decided(decision=decision)]
        if decision.kind == "stop":
            stopped = f"{self.episode}-ended"
            return Outcome(None, self._write([*bodies, EpisodeEnded()], [f"{stopped}-decided", stopped]))
        changes = self._write(bodies, [f"{self.episode}-{turn.step}-answered-{len(turn.rejections)}"])
        if decision.kind == "reject":
            return Outcome(None, changes)
        outcome = self._execute(decision)
        return Outcome(outcome.observed, [*changes, *outcome.changes])

    def _resolve(self, decision: Decision, turn: Turn) -> Decision:
        """Check a decision against what is proposed and what can be done, and complete it."""
        if decision.kind == "stop":
            return decision
        actions = [each.action for each in turn.waiting.candidates] if turn.waiting else []
        first = actions[0] if actions else ""
        kind, action = decision.kind, decision.action.strip()
        if kind in ("approve", "reject"):
            if not first and kind == "approve":
                raise SessionError("There is no proposal to approve. Type an action, or ask for a proposal.")
            if not turn.waiting or (decision.proposed or action or first) != first:
                raise AlreadyAnswered(f"The proposal of step {turn.step} has been replaced by another; look again.")
            action = first if kind == "approve" else ""
        elif kind == "choose" and action not in actions:
            raise NotAvailable(f"{action!r} is not among the candidates: {'; '.join(actions) or 'there are none'}.")
        elif kind == "override":
            action = self._available(action, turn.state)
        if action and action == first:
            kind = "approve"
        return decision.model_copy(update={"kind": kind, "action": action, "proposed": first})

    @staticmethod
    def _available(action: str, state: State) -> str:
        """Return `action` as the world spells it."""
        available = [envs.Action(each.text, each.label, each.kind, each.typed) for each in state.actions]
        found = envs.matches(available, action)
        if found is None:
            legal = "; ".join(each.text for each in available)
            raise NotAvailable(f"{action!r} cannot be done now. What can be done: {legal}.")
        if not found.typed:
            return found.text
        head, _, rest = found.text.partition("<")
        tail = rest.partition(">")[2]
        spelled = head + action[len(head) : len(action) - len(tail)] + tail
        return spelled if spelled.casefold() == action.casefold() else action

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
            changes = self._write([observed], [f"{self.episode}-{turn.step}-observed"])
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
            if isinstance(event.body, Observed):
                self._ready = False  # a step that was not taken in the world here; `_execute` knows of its own


def end_open(memory: Memory) -> None:
    """End all episodes that are still open, as `stop` does, worlds that are not there any more included."""
    for each in memory.episodes():
        if not each.ended:
            memory.write([EpisodeEnded()], each.id, [f"{each.id}-ended"])
