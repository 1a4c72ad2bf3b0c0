"""What happened in one episode, turn by turn, read off its events: what a person sees of it, and where it stands."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from pydantic import ValidationError

import envs
from rememberer.errors import EnvError, SessionError, UnknownEpisode
from rememberer.events import Asked, Decided, EpisodeEnded, EpisodeStarted, Event, Guided, Observed, Proposed, TakenBack
from rememberer.memory import Memory
from rememberer.records import Decision, Proposal, State


@dataclass(slots=True)
class Turn:
    """One step: the state it starts in, what was proposed and rejected there, what was done, what came of it."""

    step: int
    """From 1."""
    state: State
    proposals: list[Proposal] = field(default_factory=list)
    rejections: list[Decision] = field(default_factory=list)
    waiting: Proposal | None = None
    """The proposal that waits for an answer."""
    guided: list[str] = field(default_factory=list)
    """What the person told the agent here, for the rest of the episode."""
    asked: list[str] = field(default_factory=list)
    """Why the agent, running by itself, left it to the person."""
    decision: Decision | None = None
    """The decision that was, or is to be, executed."""
    outcome: Observed | None = None


class Transcript:
    """An episode as its events tell it. `add` takes them in order; what learning alone is about passes by."""

    def __init__(self, events: Iterable[Event]) -> None:
        """Raises `ValueError` when the events do not begin with the episode's start."""
        first, *others = events
        if not isinstance(first.body, EpisodeStarted):
            raise ValueError(f"An episode begins with `started`, not with `{first.body.type}`.")
        self.episode = first.episode
        self.started = first.body
        self.seq = first.seq
        """Place in the log of the last event that was taken."""
        self.turns = [Turn(1, first.body.state)]
        self.taken_back = 0
        """How often steps were taken back."""
        self.ended = ""
        """Empty while open; `terminated` by the environment, `truncated` by the step limit, `stopped` by a person."""
        for event in others:
            self.add(event)

    @property
    def turn(self) -> Turn:
        """Where it stands. After the end: a turn in which nothing happens any more."""
        return self.turns[-1]

    @property
    def actions(self) -> tuple[str, ...]:
        """The executed actions."""
        return tuple(turn.outcome.action for turn in self.turns if turn.outcome)

    @property
    def rewards(self) -> tuple[float, ...]:
        """The environment's reward of each executed step."""
        return tuple(turn.outcome.reward for turn in self.turns if turn.outcome)

    @property
    def guidance(self) -> tuple[str, ...]:
        """What the person has told the agent so far, oldest first."""
        return tuple(text for turn in self.turns for text in turn.guided)

    @property
    def questions(self) -> int:
        """How often the agent, running by itself, asked the person."""
        return sum(len(turn.asked) for turn in self.turns)

    def add(self, event: Event) -> None:
        """Take the next event of the episode. A proposal that came too late, to a step that is over, is nothing."""
        self.seq = event.seq
        turn = self.turn
        match event.body:
            case Proposed(step=turn.step, proposal=proposal) if not turn.decision:
                turn.proposals.append(proposal)
                turn.waiting = proposal
            case Decided(decision=decision) if decision.kind == "reject":
                turn.rejections.append(decision)
                turn.waiting = None
            case Decided(decision=decision) if decision.kind != "stop":
                turn.decision = decision
                turn.waiting = None
            case Observed() as outcome if not self.ended:  # an outcome that comes after the end counts for nothing
                turn.outcome = outcome
                self.ended = "terminated" if outcome.terminated else "truncated" if outcome.truncated else ""
                self.turns.append(Turn(turn.step + 1, outcome.state))
            case EpisodeEnded():
                turn.waiting = None
                self.ended = self.ended or "stopped"
            case Guided(text=text):
                turn.guided.append(text)
                turn.waiting = None
            case Asked(why=why):
                turn.asked.append(why)
            case TakenBack(step=step):
                del self.turns[step:]
                self._reopen(self.turn)
            case _:
                pass

    def _reopen(self, turn: Turn) -> None:
        """Have a turn stand as it did before it was decided."""
        self.taken_back += 1
        self.ended = ""
        turn.decision = turn.outcome = None
        is_new = len(turn.proposals) > len(turn.rejections)
        turn.waiting = turn.proposals[-1] if is_new else None

    def reason(self, step: int, action: str) -> str:
        """Why the policy proposed an action at a step, in its words; empty when it did not."""
        proposed = (each for proposal in reversed(self.turns[step - 1].proposals) for each in proposal.candidates)
        return next((each.reason for each in proposed if each.action == action), "")

    def outcome(self, action: str, step: envs.Step) -> Observed:
        """What came of executing `action` where the episode stands. Raises `EnvError` for what is no answer."""
        number, started = self.turn.step, self.started
        try:
            return Observed(
                step=number,
                action=action,
                reward=step.reward,
                state=State.of(started.env, started.task, step.observation),
                terminated=step.terminated,
                truncated=step.truncated or (not step.terminated and number >= started.step_limit),
                invalid=bool(step.info.get("invalid")),
            )
        except ValidationError as problem:
            wrong = problem.errors()[0]
            raise EnvError(
                f"The world {started.env} answered {action!r:.60} with something that cannot be learnt from "
                f"({'.'.join(map(str, wrong['loc']))} is {wrong['input']!r:.60}). Nothing was written. When it happens "
                "again, start another task, and tell the maker of the world; `envs.check` finds such answers."
            ) from problem

    def unknown(self, action: str) -> Observed:
        """What is written where nobody knows what came of an action: the episode ends there."""
        return Observed(
            step=self.turn.step, action=action, reward=0.0, state=self.turn.state, truncated=True, outcome_unknown=True
        )

    def replay(self, env: envs.TextEnv, step: int | None = None) -> None:
        """Bring a world to where the episode stands, or stood before `step`.

        Raises `SessionError` when it is not what it was.
        """
        observation = env.reset(self.started.task_id, self.started.seed)
        for turn in self.turns[:step]:
            if State.of(self.started.env, self.started.task, observation).key != turn.state.key:
                raise SessionError(
                    f"The world {self.started.env} is not what it was when this task was begun, so the task cannot go "
                    "on. Start a new one; what was learnt stays."
                )
            if turn.outcome and turn.step != step:
                observation = env.step(turn.outcome.action).observation


def transcript_of(memory: Memory, episode: str) -> Transcript:
    """Read an episode, open or closed, from the log. Raises `UnknownEpisode`."""
    events = memory.store.events(memory.user, episode=episode)
    if not events:
        raise UnknownEpisode(f"There is no task {episode!r} in the memory of {memory.user!r}.")
    return Transcript(events)
