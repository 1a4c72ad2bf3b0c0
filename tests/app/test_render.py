"""Whatever a page, a model or a person wrote is shown as text."""

from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.ui import chat, items, render
from app.ui.why import why
from app.view import News, Recollection, View
from rememberer.events import Asked, Decided, EpisodeStarted, Event, Guided, Labelled, Observed, Proposed
from rememberer.labelling import Agreement, Disagreement
from rememberer.records import (
    ActionText,
    ActionValue,
    Candidate,
    Change,
    Decision,
    Evidence,
    Experience,
    LearningSettings,
    Proposal,
    Recalled,
    State,
)
from rememberer.transcript import Transcript
from rememberer.values import EpisodeTrace

OURS = {
    *[
        "b",
        "button",
        "caption",
        "code",
        "details",
        "div",
        "fieldset",
        "form",
        "h1",
        "h2",
        "i",
        "input",
        "label",
        "legend",
        "li",
    ],
    *["ol", "p", "pre", "q", "section", "small", "span", "summary", "table", "td", "th", "tr", "u", "ul"],
}


class _Page(HTMLParser):
    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self.open: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += attrs
        if tag != "input":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def _view(words: str, **changes: object) -> View:
    """A view in which everything that can come from outside is `words`."""
    state = State(
        env=words, task=words, observation=words, kind=words, actions=(ActionText(text=words, label=words, kind=words),)
    )
    rests_on = Evidence(key=state.key, action=words, q=0.5, visits=2, weight=0.9)
    proposal = Proposal(
        candidates=(
            Candidate(action=words, label=words, value=0.5, reason=words, evidence=(rests_on,)),
            Candidate(action=words),
        ),
        recalled=(Recalled(key=state.key, similarity=0.9, used=True, task=0.8, observation=1.0),),
        prompt=words,
        reply=words,
        prompt_tokens=1000,
        reply_tokens=100,
        policy=words,
        reasoning=words,
        note=words,
    )
    bodies = [
        EpisodeStarted(env=words, task_id=words, task=words, step_limit=15, state=state),
        Proposed(step=1, proposal=proposal),
        Decided(decision=Decision(step=1, kind="reject", proposed=words, hint=words)),
        Proposed(step=1, proposal=proposal),
        Decided(decision=Decision(step=1, kind="override", action=words, proposed=words)),
        Observed(step=1, action=words, reward=0.25, state=state),
        Guided(step=2, text=words),
        Proposed(step=2, proposal=proposal),
        Asked(step=2, why=words),
    ]
    known = Experience(
        state=state,
        actions=(
            ActionValue(
                action=words, q=0.25, visits=1, reason=words, rejections=(words,), labels=(0.5,), comments=(words,)
            ),
        ),
        history=(words,),
        created=datetime.now(UTC),
        updated=datetime.now(UTC),
        origin=words,
    )
    change = Change(key=state.key, action=words, old=None, new=0.25, visits=1)
    told: dict[str, object] = {
        "version": 1,
        "user": words,
        "status": "waiting",
        "transcript": Transcript([Event(user=words, episode="e", body=body) for body in bodies]),
        "labels": {1: Labelled(step=1, value=0.5, by=words, comment=words)},
        "undoable": (True, False),
        "recalled": (Recollection(proposal.recalled[0], known, ((known.actions[0], [words]),)),),
        "memories": 1,
        "policy": words,
        "policies": (words,),
        "prices": (2.0, 10.0),
        "news": News(words, (change, change)),
        "error": "",
        "draft": words,
        "leave": words,
    }
    return View(**told | changes)  # type: ignore[arg-type]


def _everything(view: View) -> list[str]:
    known = view.recalled[0].known
    assert known is not None
    transcript = view.transcript
    assert transcript
    trace = EpisodeTrace(
        "e", known.origin, known.state.task, LearningSettings(), known.state, source=known.origin, policy=known.origin
    )
    return [
        why(view, 0),
        chat.replayed(transcript, view.labels, 1),
        render.episode(trace, transcript),
        items.step(transcript, 1),
        items.actions(known, known.actions[0].action, "other"),
        items.episodes(transcript, transcript),
        items.agreement(
            Agreement(0.5, 1, (known.origin, "b"), (Disagreement("e", 1, ((known.origin, 1.0), ("b", -1.0))),)),
            lambda episode: known.origin,
        ),
        render.header(view),
        render.candidates(view, 0),
        render.memories(view),
        render.news(view),
        chat.conversation(view),
        render.experience(known, [(known.actions[0], [known.state.task])]),
    ]


@given(
    st.text()
    | st.sampled_from(["<script>x</script>", "' onload='x", '"><img src=x onerror=y>', "&lt;b&gt;", "\0", "\ud800"])
)
def test_words_from_outside_stay_words(words: str) -> None:
    for html in _everything(_view(words)):
        page = _Page(html)
        assert page.tags <= OURS
        assert not page.open
        assert not [name for name, _ in page.attributes if name.startswith("on") or name in ("src", "href")]
        assert {value for name, value in page.attributes if name == "action"} <= {"/logout"}


def test_they_are_shown_as_they_are() -> None:
    words = "<b>5 > 3</b> & \"so\" 'on' ${x} {{y}}"
    for html in _everything(_view(words)):
        assert words in _Page(html).text


def test_only_who_has_logged_in_can_log_out() -> None:
    assert "Log out" in render.header(_view("look", leave="Log out"))
    assert "form" not in render.header(_view("look", leave=""))


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.856, "+0.86"), (-0.5, "−0.50"), (0.0, "0.00"), (-0.001, "0.00"), (1.0, "+1.00"), (None, "new")],
)
def test_values(value: float | None, shown: str) -> None:
    assert render.value_of(value) == shown


def test_what_nobody_knows_is_not_shown_as_zero() -> None:
    html = render.candidates(_view("look"), 0)
    assert "never tried, value unknown" in html
    assert "0.00" not in html


def test_below_the_threshold_it_is_greyed_and_says_so() -> None:
    view = _view("look")
    known = view.recalled[0].known
    unlike = Recalled(key="k", similarity=0.4, used=False)
    html = render.memories(_view("look", recalled=(Recollection(unlike, known),)))
    assert 'class="mem unused"' in html
    assert "not used" in html
    assert "No similar experience" in html


@pytest.mark.parametrize(
    ("ago", "shown"),
    [(5, "just now"), (60, "1 minute ago"), (7200, "2 hours ago"), (86400 * 3, "3 days ago")],
)
def test_ages(ago: int, shown: str) -> None:
    assert render.age(datetime.now(UTC) - timedelta(seconds=ago)) == shown


def test_why_says_what_a_value_rests_on_and_what_it_cost() -> None:
    text = _Page(why(_view("look"), 0)).text
    assert "look +0.50, done 2 times, weight 0.90" in text
    assert "90% alike: task 80%, what was seen 100%" in text
    assert "1,000 tokens asked, 100 answered" in text
    assert "0.0030 dollars" in text
    assert "it has no value" in _Page(why(_view("look"), 1)).text
    assert why(_view("look"), 2) == ""
