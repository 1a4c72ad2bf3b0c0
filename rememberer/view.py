"""Keeps the view in the store equal to what was learnt from the log, whoever dies in between.

The store says up to which event its view is right. Here is kept what later events have touched: all of it goes with the
next write, also what only others wrote to the log and did not live to write to the view.
"""

from collections.abc import Iterable

from rememberer.events import Asked, Decided, EpisodeStarted, Guided, Proposed
from rememberer.learning import Learner
from rememberer.store import Store


def is_right(store: Store, user: str) -> bool:
    """Whether the view shows all that the log says, told without folding the log: no may mean that it does."""
    later = (event.body for event in store.events(user, after=store.view_seq(user)))
    return all(
        isinstance(body, EpisodeStarted | Proposed | Guided | Asked)
        or (isinstance(body, Decided) and body.decision.kind in ("approve", "choose", "stop"))
        for body in later
    )


class ViewWriter:
    """What the view of one user lacks. Who calls `write` holds `Store.alone`."""

    def __init__(self, store: Store, user: str) -> None:
        self._store = store
        self._user = user
        self.start()

    def start(self) -> int:
        """Begin anew. Returns the last event that the view reflects: only what comes after it need be told."""
        self._touched: dict[str, int] = {}
        """Key -> the last event that touched it, of those after `_since`."""
        self._since = self._store.view_seq(self._user)
        self._doubtful = False
        return self._since

    @property
    def lacks(self) -> bool:
        """Whether there is something to write."""
        return self._doubtful or bool(self._touched)

    def tell(self, touched: Iterable[str], seq: int) -> None:
        """Events up to `seq` were learnt from, which touched these keys."""
        self._touched |= dict.fromkeys(touched, seq)

    def doubt(self, seq: int) -> None:
        """Of the event `seq` nobody here knows what it touched: a view that does not reflect it has to be made anew."""
        self._since, self._doubtful = seq, True

    def write(self, learner: Learner, seq: int) -> None:
        """Have the view reflect all up to the event `seq`, as `learner` does. Raises `StoreError`."""
        if not self.lacks:
            return
        there = self._store.view_seq(self._user)
        if there < self._since:
            self._store.drop_experiences(self._user)
            self._store.put_experiences(self._user, learner.experiences(), seq)
        elif keys := [key for key, last in self._touched.items() if last > there]:
            known = list(learner.experiences(keys))
            if gone := {*keys} - {each.key for each in known}:
                self._store.drop_experiences(self._user, sorted(gone))
            self._store.put_experiences(self._user, known, seq)
        else:
            seq = there
        self._touched.clear()
        self._since, self._doubtful = seq, False
