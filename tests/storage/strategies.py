"""Any log that a user could have, for hypothesis: events of every type, texts of every kind."""

from datetime import UTC, datetime

from hypothesis import strategies as st

from rememberer.events import (
    Asked,
    Body,
    Compared,
    Decided,
    Dropped,
    EpisodeEnded,
    EpisodeStarted,
    Event,
    Forgotten,
    Guided,
    Imported,
    ImportedAction,
    Labelled,
    LabelWithdrawn,
    Observed,
    Pinned,
    Proposed,
    Quarantined,
    TakenBack,
    Undone,
)
from rememberer.records import (
    ActionText,
    ActionValue,
    Candidate,
    Decision,
    Evidence,
    Experience,
    LearningSettings,
    Proposal,
    Recalled,
    State,
)

# Half pairs too: pages have them, and they are no UTF-8.
texts = st.text(st.characters() | st.characters(categories=["Cs"]), max_size=20)
several_texts = st.lists(texts, max_size=3).map(tuple)
# Few, so that a quarantine names one that there is, and it may be the name of the file that is written.
sources = st.sampled_from(["", "team.jsonl", "first.jsonl"])
numbers = st.floats(allow_nan=False, allow_infinity=False)
amounts = st.floats(-1e9, 1e9)
steps = st.integers(1, 20)
counts = st.integers(1, 10**6)
times = st.datetimes(timezones=st.just(UTC), min_value=datetime(1970, 1, 1), max_value=datetime(2200, 1, 1))

states = st.builds(
    State,
    env=texts,
    task=texts,
    observation=texts,
    kind=texts,
    actions=st.lists(st.builds(ActionText, text=texts, label=texts, kind=texts, typed=st.booleans()), max_size=3),
    forgotten=texts,
)
settings = st.builds(
    LearningSettings,
    n=st.none() | counts,
    gamma=st.floats(0, 1),
    alpha=st.none() | st.floats(0, 1, exclude_min=True),
    step_penalty=amounts,
    beta=amounts,
    double=st.sampled_from(["off", "turn", "random"]),
)
candidates = st.builds(
    Candidate,
    action=texts,
    label=texts,
    value=st.none() | numbers,
    visits=counts,
    reason=texts,
    evidence=st.lists(
        st.builds(Evidence, key=texts, action=texts, q=numbers, visits=counts, weight=numbers), max_size=2
    ),
)
proposals = st.builds(
    Proposal,
    candidates=st.lists(candidates, max_size=3),
    recalled=st.lists(
        st.builds(Recalled, key=texts, similarity=numbers, used=st.booleans(), task=st.none() | numbers), max_size=3
    ),
    prompt=texts,
    reply=texts,
    seconds=numbers,
)
decisions = st.builds(
    Decision,
    step=steps,
    kind=st.sampled_from(["approve", "choose", "override", "reject", "stop"]),
    action=texts,
    hint=texts,
    proposed=texts,
)
imported_actions = st.builds(ImportedAction, action=texts, q=amounts, visits=counts, mean_reward=amounts, reason=texts)

of_episodes: st.SearchStrategy[Body] = st.one_of(
    st.builds(Proposed, step=steps, proposal=proposals),
    st.builds(Decided, decision=decisions),
    st.builds(
        Observed,
        step=steps,
        action=texts,
        reward=amounts,
        state=states,
        terminated=st.booleans(),
        truncated=st.booleans(),
        invalid=st.booleans(),
        reason=texts,
        nearest=texts,
    ),
    st.builds(EpisodeEnded, reason=texts),
    st.builds(Labelled, step=st.integers(0, 20), value=st.floats(-1, 1), by=texts, comment=texts),
    st.builds(LabelWithdrawn, step=st.integers(0, 20), by=texts),
    st.builds(Undone, label=texts, on=st.booleans()),
    st.builds(TakenBack, step=steps),
    st.builds(Guided, step=steps, text=texts),
    st.builds(Asked, step=steps, why=texts),
)
of_no_episode: st.SearchStrategy[Body] = st.one_of(
    st.builds(
        Imported,
        state=states,
        actions=st.lists(imported_actions, max_size=3),
        history=several_texts,
        visits=counts,
        source=sources,
    ),
    st.builds(Pinned, key=texts, pinned=st.booleans()),
    st.builds(Compared, better=texts, worse=texts, key=texts, equal=st.booleans(), by=texts),
    st.builds(Dropped, key=texts, like=texts, similarity=st.floats(-1, 1)),
    st.builds(Quarantined, episode=texts, source=sources, key=texts, on=st.booleans(), reason=texts),
    st.builds(Forgotten, stand_ins=several_texts),
)
starts = st.builds(
    EpisodeStarted,
    env=texts,
    task_id=texts,
    task=texts,
    seed=st.integers(),
    learning=settings,
    table=st.none() | st.sampled_from([0, 1]),
    state=states,
)


@st.composite
def logs(draw: st.DrawFn, user: str) -> list[Event]:
    """A user's log as it is appended: in order, without numbers."""
    bodies: list[tuple[str, Body]] = [("", body) for body in draw(st.lists(of_no_episode, max_size=3))]
    for episode in draw(st.lists(texts, max_size=2, unique=True)):
        bodies += [(episode, body) for body in [draw(starts), *draw(st.lists(of_episodes, max_size=5))]]
    bodies += [("", body) for body in draw(st.lists(of_no_episode, max_size=2))]
    ids = draw(st.lists(texts, min_size=len(bodies), max_size=len(bodies), unique=True))
    return [
        Event(id=id, user=user, episode=episode, time=draw(times), source=draw(sources), body=body)
        for id, (episode, body) in zip(ids, bodies, strict=True)
    ]


experiences = st.builds(
    Experience,
    state=states,
    actions=st.lists(
        st.builds(
            ActionValue,
            action=texts,
            q=numbers,
            visits=st.integers(0, 10**6),
            mean_reward=numbers,
            reason=texts,
            rejections=several_texts,
            labels=st.lists(st.floats(-1, 1), max_size=3).map(tuple),
        ),
        max_size=3,
    ),
    history=several_texts,
    mean_last_reward=numbers,
    visits=counts,
    created=times,
    updated=times,
    origin=texts,
    pinned=st.booleans(),
    episodes=several_texts,
)
