"""The commands `rememberer memory ...`: look at a memory, carry it along, make it anew."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Annotated, Literal

import typer

from app.explained import explained
from app.listing import action_lines, rows
from app.options import Home, User
from app.settings import Settings, load_settings
from app.terminal import counted, say
from app.ui.render import outcome_words
from rememberer.errors import UnknownExperience
from rememberer.memory import Memory
from rememberer.training import HOW_TO_GET_SOME, Kind, examples
from rememberer.view import is_right
from storage import (
    LanceStore,
    PoolImport,
    export_examples,
    export_log,
    export_pool,
    export_table,
    import_log,
    import_pool,
    is_log,
)
from storage.schema import STORE_VERSION

memory = typer.Typer(
    help="Look at the memory, carry it along, make it anew.", rich_markup_mode=None, no_args_is_help=True
)


@memory.command(epilog="Example: rememberer memory stats --user anna")
def stats(home: Home = None, user: User = None) -> None:
    """Tell how much is remembered, and how large it is on disk."""
    settings = load_settings(home=home, user=user)
    with _store(settings) as store:
        known = _memory(store, settings)
        episodes = known.episodes()
        outcomes = [each.outcome for each in episodes]
        counts = ", ".join(f"{outcomes.count(outcome)} {outcome}" for outcome in dict.fromkeys(outcomes))
        size = store.stats()
        total = sum(each.bytes for each in (size.log, size.states, size.values, size.vectors))
        say(
            f"user:            {settings.user}",
            f"experiences:     {len(known)}",
            f"tasks:           {len(outcomes)}{f' ({counts})' if counts else ''}",
            f"your rewards:    {sum(len(known.labels(each.id)) for each in episodes)}",
            f"on disk:         {total / 1e6:.1f} MB for all users, in {store.place}",
            f"embedding model: {settings.encoder}",
            f"schema version:  {STORE_VERSION}",
        )


@memory.command("list", epilog="Example: rememberer memory list --search scarf --limit 5")
def list_(
    search: Annotated[str, typer.Option(help="Only what has all these words.")] = "",
    limit: Annotated[int, typer.Option(min=1, help="At most so many, the newest.")] = 20,
    home: Home = None,
    user: User = None,
) -> None:
    """List experiences, the last changed first."""
    settings = load_settings(home=home, user=user)
    with _store(settings) as store:
        if not is_right(store, settings.user):
            _memory(store, settings)  # which learns from the whole log and mends the view
        found = store.page(settings.user, words=search.split(), limit=limit)
        say(*rows(found.experiences))
        told = f" with {search!r}" if search else ""
        say(f"{len(found.experiences)} of {counted(found.total, 'experience')}{told}")


@memory.command(epilog="Example: rememberer memory show 1447044e")
def show(
    key: Annotated[str, typer.Argument(help="The key, or how it begins.")], home: Home = None, user: User = None
) -> None:
    """Show one experience, and what its values are made of."""
    settings = load_settings(home=home, user=user)
    with _store(settings) as store:
        known = _memory(store, settings)
        found = known.page(key=key, limit=1)
        if found.total != 1:
            what = f"{found.total} experiences begin" if found.total else "No experience begins"
            raise UnknownExperience(f"{what} with {key!r}. See the keys: rememberer memory list")
        (one,) = found.experiences
        say(
            one.key,
            f"task: {one.state.task}",
            f"outcome: {outcome_words(one) or '-'}",
            f"visited: {counted(one.visits, 'time')}, last changed {one.updated.astimezone():%Y-%m-%d %H:%M}",
            f"reached by: {' > '.join(one.history) or 'the beginning'}",
            f"\n{one.state.observation.strip()}\n",
        )
        for row in one.actions:
            say(*action_lines(row, explained(known, one.key, row.action)))


Learnt = Literal["parquet", "yaml", Kind]
Format = Literal["log", Learnt]
_BY_SUFFIX: dict[str, Format] = {".parquet": "parquet", ".yaml": "yaml", ".yml": "yaml"}


@memory.command(epilog="Example: rememberer memory export my-memory.jsonl")
def export(
    file: Annotated[Path, typer.Argument(help="File to write.")],
    form: Annotated[
        Format | None,
        typer.Option(
            "--as",
            help="log: everything, for `import`. parquet: a table. yaml: a pool of the paper's code. dpo, kto, "
            "episodes: examples to train a model with. If not given: by the name of the file, or log.",
        ),
    ] = None,
    home: Home = None,
    user: User = None,
) -> None:
    """Write the memory to a file: to be carried along, looked into, or trained with."""
    settings = load_settings(home=home, user=user)
    form = form or _BY_SUFFIX.get(file.suffix.lower(), "log")
    with _store(settings) as store:
        if form == "log":
            told, none = f"{export_log(store, settings.user, file)} events", ""
        else:
            told, none = _exported(_memory(store, settings), form, file)
    say(f"{told} written to {file}" + (f". {none}" if none else ""))


@memory.command("import", epilog="Example: rememberer memory import my-memory.jsonl --user anna")
def import_(
    file: Annotated[Path, typer.Argument(help="File that `export` wrote, or a YAML pool of the paper's code.")],
    home: Home = None,
    user: User = None,
) -> None:
    """Add what a file holds to the memory. Twice changes nothing."""
    settings = load_settings(home=home, user=user)
    with _store(settings) as store:
        if is_log(file):
            told = counted(import_log(store, settings.user, file), "new event")
        else:
            told = _told(import_pool(store, settings.user, file))
        known = _memory(store, settings)
        say(f"{told}; now {counted(len(known), 'experience')}")
        known.embed()


@memory.command(epilog="Example: rememberer memory rebuild")
def rebuild(home: Home = None) -> None:
    """Make everything that is derived from the log anew, for all users: after the embedding model was changed."""
    settings = load_settings(home=home)
    with _store(settings, reembed=True) as store:
        for user in store.users():
            say(f"{user}: {counted(_memory(store, settings, user).rebuild(), 'experience')}")


@contextmanager
def _store(settings: Settings, *, reembed: bool = False) -> Iterator[LanceStore]:
    from app.opening import open_store

    with closing(open_store(settings, reembed=reembed)) as store:
        yield store


def _memory(store: LanceStore, settings: Settings, user: str = "") -> Memory:
    from app.opening import open_encoder, open_memory

    return open_memory(store, settings, user or settings.user, open_encoder(settings))


def _exported(known: Memory, form: Learnt, file: Path) -> tuple[str, str]:
    """What was written, and, when that is nothing, what would make some."""
    if form == "parquet":
        count = export_table(known.experiences(), file)
        return counted(count, "row"), "" if count else "Nothing is remembered yet: take a step of a task."
    if form == "yaml":
        pool = export_pool(known.experiences(), file)
        aside = f" ({pool.left_out} left out, which a pool cannot hold)" if pool.left_out else ""
        told = f"{counted(pool.experiences, 'experience')} with {counted(pool.actions, 'action')}{aside}"
        return told, "" if pool.experiences else "A pool holds what was done in WebShop or wikiHow: take a step there."
    count = export_examples(examples(known, form), file)
    return counted(count, "example"), "" if count else HOW_TO_GET_SOME[form]


def _told(pool: PoolImport) -> str:
    asides = {
        "merged into another of the same action": pool.merged,
        "left out, without an action": pool.left_out,
        "known before": pool.known,
    }
    words = ", ".join(f"{count} {what}" for what, count in asides.items() if count)
    new = f"{counted(pool.experiences, 'new experience')} with {counted(pool.actions, 'action')}"
    return f"{new} ({words})" if words else new
