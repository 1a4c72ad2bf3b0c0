"""The commands `rememberer memory ...`: look at a memory, carry it along, make it anew."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Annotated

import typer

from app.options import Home, User
from app.settings import Settings, load_settings
from rememberer.embedding import SentenceEncoder
from rememberer.errors import UnknownExperience
from rememberer.memory import Memory
from rememberer.records import Experience, State
from rememberer.values import Target
from storage import LanceStore, export_log, import_log

memory = typer.Typer(
    help="Look at the memory, carry it along, make it anew.", rich_markup_mode=None, no_args_is_help=True
)


@memory.command(epilog="Example: rememberer memory stats --user anna")
def stats(home: Home = None, user: User = None) -> None:
    """Tell how much is remembered, and how large it is on disk."""
    settings = load_settings(home=home, user=user)
    with _store(settings) as store:
        known = _memory(store, settings)
        outcomes = [each.outcome for each in known.episodes()]
        counts = ", ".join(f"{outcomes.count(outcome)} {outcome}" for outcome in dict.fromkeys(outcomes))
        labels = sum(len(known.labels(each.id)) for each in known.episodes())
        size = store.stats()
        total = size.log.bytes + size.experiences.bytes + size.vectors.bytes
        print(f"{settings.user}: {len(known)} experiences, {labels} rewards of yours")
        print(f"tasks: {len(outcomes)}" + (f" ({counts})" if counts else ""))
        print(f"events of all users: {size.log.rows}")
        print(f"on disk: {total / 1e6:.1f} MB in {store.path}")
        print(f"embedding model: {settings.encoder}")


@memory.command("list", epilog="Example: rememberer memory list --search scarf --limit 5")
def list_(
    search: Annotated[str, typer.Option(help="Only what has all these words.")] = "",
    limit: Annotated[int, typer.Option(min=1, help="At most so many, the newest.")] = 20,
    home: Home = None,
    user: User = None,
) -> None:
    """List experiences, the newest first."""
    settings = load_settings(home=home, user=user)
    with _store(settings) as store:
        every = _memory(store, settings).experiences()
        words = search.casefold().split()
        found = [each for each in reversed(every) if all(word in text_of(each) for word in words)]
        for each in found[:limit]:
            best = each.actions[0]
            value = f"{best.q:+.2f}" if best.visits else "  -  "
            print(f"{each.key[:12]}  {value}  {one_line(best.action, 30):30}  {one_line(each.state.task, 60)}")
        print(f"{min(len(found), limit)} of {len(found)} experiences" + (f" with {search!r}" if search else ""))


@memory.command(epilog="Example: rememberer memory show 1447044e")
def show(
    key: Annotated[str, typer.Argument(help="The key, or how it begins.")], home: Home = None, user: User = None
) -> None:
    """Show one experience, and what its values are made of."""
    settings = load_settings(home=home, user=user)
    with _store(settings) as store:
        known = _memory(store, settings)
        found = [each for each in known.experiences() if each.key.startswith(key)]
        if len(found) != 1:
            what = f"{len(found)} experiences begin" if found else "No experience begins"
            raise UnknownExperience(f"{what} with {key!r}. See the keys: rememberer memory list")
        (one,) = found
        print(f"{one.key}\ntask: {one.state.task}\noutcome: {one.outcome or one.origin}\n")
        print(one.state.observation.strip(), end="\n\n")
        for row in one.actions:
            value = f"{row.q:+.2f}" if row.visits else "  -  "
            rejected = f", rejected {len(row.rejections)} times" if row.rejections else ""
            print(f"{value}  {row.visits} tried{rejected}  {row.action}")
            for target in known.explain(one.key, row.action):
                print(f"         {_made_of(target)}")


@memory.command(epilog="Example: rememberer memory export my-memory.jsonl")
def export(file: Annotated[Path, typer.Argument(help="File to write.")], home: Home = None, user: User = None) -> None:
    """Write the whole memory to a file."""
    settings = load_settings(home=home, user=user)
    with _store(settings) as store:
        print(f"{export_log(store, settings.user, file)} events written to {file}")


@memory.command("import", epilog="Example: rememberer memory import my-memory.jsonl --user anna")
def import_(
    file: Annotated[Path, typer.Argument(help="File that `export` wrote.")], home: Home = None, user: User = None
) -> None:
    """Add what a file holds to the memory. Twice changes nothing."""
    settings = load_settings(home=home, user=user)
    with _store(settings) as store:
        count = import_log(store, settings.user, file)
        print(f"{count} events were new; now {len(_memory(store, settings))} experiences")


@memory.command(epilog="Example: rememberer memory rebuild")
def rebuild(home: Home = None) -> None:
    """Make everything that is derived from the log anew, for all users: after the embedding model was changed."""
    settings = load_settings(home=home)
    with _store(settings, reembed=True) as store:
        for user in store.users():
            print(f"{user}: {_memory(store, settings, user).rebuild()} experiences", flush=True)


@contextmanager
def _store(settings: Settings, *, reembed: bool = False) -> Iterator[LanceStore]:
    from app.opening import open_store

    with closing(open_store(settings, reembed=reembed)) as store:
        yield store


def _memory(store: LanceStore, settings: Settings, user: str = "") -> Memory:
    from app.opening import open_memory

    return open_memory(store, settings, user or settings.user, SentenceEncoder(settings.encoder))


def text_of(experience: Experience) -> str:
    """All words of an experience that a search looks at, folded."""
    state: State = experience.state
    return " ".join([state.task, state.observation, *(row.action for row in experience.actions)]).casefold()


def one_line(text: str, length: int) -> str:
    """A text on one line, cut to `length` characters."""
    words = " ".join(text.split())
    return words if len(words) <= length else words[: length - 1] + "…"


def _made_of(target: Target) -> str:
    parts = " ".join(f"{reward:+.2f}" for reward in target.rewards)
    onwards = f" {target.bootstrap:+.2f} from where it led" if target.bootstrap_key else ""
    label = f", your reward {target.label:+.2f}" if target.label is not None else ""
    return f"{target.value:+.2f} = {parts}{onwards}{label}{'' if target.settled else ' so far'}"
