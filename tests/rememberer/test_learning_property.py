"""Whatever the log and however it comes in: the table is a function of it, and every change of it is told."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from rememberer.events import (
    Compared,
    Decided,
    EpisodeEnded,
    Event,
    Imported,
    Labelled,
    LabelWithdrawn,
    Observed,
    Quarantined,
    TakenBack,
    Undone,
)
from rememberer.learning import Learner
from rememberer.records import Experience
from tests.rememberer.logs import Table, logs, page, patient, table


def everything(learner: Learner) -> Any:
    """All that can be asked of a learner."""
    known = list(learner.experiences())
    made_of = {(each.key, row.action): learner.explain(each.key, row.action) for each in known for row in each.actions}
    v = {each.key: learner.v(each.key) for each in known}
    return known, made_of, v, learner.labels, learner.episodes


def one_by_one(events: Iterable[Event]) -> Learner:
    learner = Learner()
    for event in events:
        learner.apply([event])
    return learner


@patient
@given(logs(), st.data())
def test_one_by_one_in_batches_or_all_at_once_is_the_same_to_the_last_bit(
    log: list[Event], data: st.DataObject
) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(log)), max_size=4)))
    in_batches = Learner()
    for start, end in zip([0, *cuts], [*cuts, len(log)], strict=True):
        in_batches.apply(log[start:end])
    at_once = everything(Learner(log))
    assert everything(in_batches) == at_once
    assert everything(one_by_one(log)) == at_once


@patient
@given(logs())
def test_what_moved_is_told_with_the_value_before_and_after(log: list[Event]) -> None:
    learner, before = Learner(), Table()
    for event in log:
        changes = learner.apply([event])
        after = table(learner.experiences())
        told = {(each.key, each.action): (each.old, each.new, each.visits) for each in changes}
        assert len(told) == len(changes)
        for cell in before | after:
            old, new = before.get(cell, (None, 0)), after.get(cell, (None, 0))
            assert told.pop(cell, None) == ((old[0], *new) if old != new else None)
        assert not told
        before = after


@patient
@given(logs())
def test_what_was_touched_is_all_that_a_copy_of_the_table_needs(log: list[Event]) -> None:
    learner, copy = Learner(), dict[str, Experience]()
    for event in log:
        learner.apply([event])
        touched = learner.touched()
        copy = {key: each for key, each in copy.items() if key not in touched}
        copy |= {each.key: each for each in learner.experiences(touched)}
        assert {each.key: each for each in learner.experiences()} == copy
        assert {each.key: each for each in learner.experiences(list(copy))} == copy


@patient
@given(logs(without=("take back",)))
def test_a_label_counts_as_if_it_had_been_there_from_the_start(log: list[Event]) -> None:
    about = (Labelled, LabelWithdrawn, Compared, Undone)
    first = [event for event in log if isinstance(event.body, about)]
    others = [event for event in log if not isinstance(event.body, about)]
    assert everything(one_by_one(log)) == everything(Learner([*first, *others]))


@patient
@given(logs(without=("take back", "quarantine", "drop")), st.data())
def test_what_was_undone_counts_as_if_it_had_never_been_said(log: list[Event], data: st.DataObject) -> None:
    said = [each for each in log if isinstance(each.body, Labelled | LabelWithdrawn | Compared)]
    undone = data.draw(st.sets(st.sampled_from([each.id for each in said]))) if said else set()
    others = [each for each in log if not isinstance(each.body, Undone)]
    learner = one_by_one(others)
    before = everything(learner)
    for number, each in enumerate(sorted(undone)):
        learner.apply([Event(id=f"u{number}", user="me", body=Undone(label=each))])
    assert everything(learner) == everything(Learner([each for each in others if each.id not in undone]))
    for number, each in enumerate(sorted(undone)):
        learner.apply([Event(id=f"r{number}", user="me", body=Undone(label=each, on=False))])
    assert everything(learner) == before


def told_back(log: list[Event]) -> list[Event]:
    """The same log without what was taken back: the steps, the ends, what was decided and said of them."""
    kept: list[Event] = []
    for event in log:
        if isinstance(event.body, TakenBack):
            first = event.body.step
            kept = [each for each in kept if each.episode != event.episode or not _is_of(each, first)]
        kept.append(event)
    return [each for each in kept if not isinstance(each.body, TakenBack)]


def _is_of(event: Event, first: int) -> bool:
    match event.body:
        case EpisodeEnded():
            return True
        case Observed(step=step) | Labelled(step=step) | LabelWithdrawn(step=step):
            return step >= first
        case Decided(decision=decision):
            return decision.step >= first + (decision.kind == "reject")
    return False


@patient
@given(logs(without=("drop", "quarantine", "late")))
def test_what_was_taken_back_counts_as_if_it_had_never_been(log: list[Event]) -> None:
    """But for when it came about: nothing settles twice at the same moment."""
    final, without_it = one_by_one(log), Learner(told_back(log))
    assert final.labels == without_it.labels
    assert {each.id: each.ended for each in final.episodes.values()} == {
        each.id: each.ended for each in without_it.episodes.values()
    }
    assert worth(final) == worth(without_it)


@patient
@given(logs(without=("take back", "undo", "redo")), st.randoms(use_true_random=False))
def test_labels_that_were_wrong_and_then_put_right_leave_no_trace(log: list[Event], chance: Any) -> None:
    flipped, put_right = [], []
    for event in log:
        if isinstance(event.body, Labelled) and chance.random() < 0.3:
            flipped.append(
                event.model_copy(update={"body": event.body.model_copy(update={"value": -event.body.value})})
            )
        else:
            flipped.append(event)
    learner = one_by_one(flipped)
    final = Learner(log)
    for episode in ("e0", "e1", "e2", "e3"):
        for by in ("person", "another"):
            found = final.labels.of_episode(episode, by)
            put_right += [Event(user="me", episode=episode, body=right) for right in found.values()]
    chance.shuffle(put_right)
    learner.apply(put_right)
    assert everything(learner)[:3] == everything(final)[:3]
    assert learner.labels == final.labels


def worth(learner: Learner) -> Any:
    """What a person sees of the values and what they are made of. Moments are numbered within a log: not theirs."""
    known = {each.key: each for each in learner.experiences()}
    made_of = {}
    for key, action in ((each.key, row.action) for each in known.values() for row in each.actions):
        found = learner.explain(key, action)
        targets = [replace(target, moment=None) for target in found.targets]
        made_of[key, action] = (found.q, [row for _, row in found.imports], targets)
    return known, made_of, {key: learner.v(key) for key in known}


def without(log: list[Event], episodes: set[str], source: str) -> list[Event]:
    """A log in which these episodes, and all that came from a source, never were."""
    gone = episodes | {each.episode for each in log if source and each.source == source}
    return [
        each
        for each in log
        if each.episode not in gone and not (isinstance(each.body, Imported) and source and each.body.source == source)
    ]


@patient
@given(logs(), st.data())
def test_what_is_quarantined_counts_as_if_it_had_never_been_and_can_come_back(
    log: list[Event], data: st.DataObject
) -> None:
    log = [each for each in log if not isinstance(each.body, Quarantined)]
    episode = data.draw(st.sampled_from(["", "e0", "e1", "e2"]))
    source = data.draw(st.sampled_from(["a file", "another file"] if not episode else [""]))
    learner = one_by_one(log)
    before = everything(learner)
    learner.apply([Event(user="me", seq=len(log), body=Quarantined(episode=episode, source=source))])
    assert worth(learner) == worth(Learner(without(log, {episode} - {""}, source)))
    learner.apply([Event(user="me", seq=len(log) + 1, body=Quarantined(episode=episode, source=source, on=False))])
    assert everything(learner) == before


@patient
@given(logs(), st.sampled_from(["one", "two", "three"]))
def test_a_quarantined_experience_is_gone_and_no_value_rests_on_it(log: list[Event], where: str) -> None:
    learner, key = one_by_one(log), page(where).key
    had = any(isinstance(each.body, Quarantined) and each.body.key == key for each in log)
    before = everything(learner)
    learner.apply([Event(user="me", seq=len(log), body=Quarantined(key=key))])
    known, made_of, *_ = everything(learner)
    assert key not in {each.key for each in known}
    assert learner.v(key) is None
    assert all(target.bootstrap_key != key for each in made_of.values() for target in each.targets)
    if not had:
        learner.apply([Event(user="me", seq=len(log) + 1, body=Quarantined(key=key, on=False))])
        assert everything(learner) == before
