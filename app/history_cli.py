"""The commands `rememberer memory ...` about the past: how it was, and what of it shall not count."""

from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from datetime import datetime
from typing import Annotated

import typer

from app.listing import action_lines, episode_rows, rows
from app.options import Home, User
from app.settings import Settings, load_settings
from app.terminal import counted, say, signed
from rememberer.errors import RemembererError, UnknownEpisode, UnknownExperience
from rememberer.memory import Memory

history = typer.Typer(rich_markup_mode=None)

FORMATS = ["%Y-%m-%d", "%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S"]


@history.command(epilog='Example: rememberer memory at "2026-11-30 18:00"')
def at(
    time: Annotated[datetime, typer.Argument(formats=FORMATS, help="A moment, by this machine's clock.")],
    key: Annotated[str, typer.Argument(help="Show this experience as it was; the key, or how it begins.")] = "",
    limit: Annotated[int, typer.Option(min=1, help="At most so many, the newest.")] = 20,
    home: Home = None,
    user: User = None,
) -> None:
    """Show the values of a moment. What was forgotten since is gone from the past too."""
    with _memory(load_settings(home=home, user=user)) as known:
        then = known.at(time.astimezone())
        if key:
            one = next(then.experiences([_experience([each.key for each in then.experiences()], key)]))
            say(one.key, f"task: {one.state.task}", f"\n{one.state.observation.strip()}\n")
            say(*(line for row in one.actions for line in action_lines(row, ())))
            return
        found = sorted(then.experiences(), key=lambda each: each.updated, reverse=True)
        say(*rows(found[:limit]))
        say(f"{min(len(found), limit)} of {counted(len(found), 'experience')} as of {time:%Y-%m-%d %H:%M:%S}")


@history.command(epilog="Example: rememberer memory episodes --limit 5")
def episodes(
    limit: Annotated[int, typer.Option(min=1, help="At most so many, the newest.")] = 20,
    home: Home = None,
    user: User = None,
) -> None:
    """List the tasks that were worked on, the newest first, and the files that something was imported from."""
    with _memory(load_settings(home=home, user=user)) as known:
        every = known.episodes()[::-1]
        say(*episode_rows(every[:limit]))
        say(f"{min(len(every), limit)} of {counted(len(every), 'episode')}")
        for source in known.sources():
            say(f"imported from: {source}")


@history.command(epilog="Example: rememberer memory quarantine --source bad-import.jsonl")
def quarantine(
    episode: Annotated[str, typer.Option(help="An episode: its id, or how it begins.")] = "",
    source: Annotated[str, typer.Option(help="All that was imported from this file.")] = "",
    key: Annotated[str, typer.Option(help="An experience: its key, or how it begins.")] = "",
    undo: Annotated[bool, typer.Option("--undo", help="Have it count again.")] = False,
    reason: Annotated[str, typer.Option(help="Why, for the log.")] = "",
    home: Home = None,
    user: User = None,
) -> None:
    """Have something count for nothing, with all its effects on values, as if it had never been. The log keeps it."""
    if [bool(episode), bool(source), bool(key)].count(True) != 1:
        raise typer.BadParameter("Name one of --episode, --source and --key.")
    with _memory(load_settings(home=home, user=user)) as known:
        episode = _episode([each.id for each in known.episodes()], episode) if episode else ""
        if key:
            key = _experience(known.quarantined() if undo else [each.key for each in known.experiences()], key)
        changes = known.quarantine(episode=episode, source=source, key=key, on=not undo, reason=reason)
        for each in changes:
            new = "gone" if each.new is None else signed(each.new)
            say(f"{each.key[:12]}  {signed(each.old):>5} -> {new:>5}  {each.action}")
        say(f"{counted(len(changes), 'value')} moved; {counted(len(known), 'experience')} now")


@contextmanager
def _memory(settings: Settings) -> Iterator[Memory]:
    from app.opening import open_encoder, open_memory, open_store

    with closing(open_store(settings)) as store:
        yield open_memory(store, settings, settings.user, open_encoder(settings))


def _only(names: Iterable[str], start: str, problem: type[RemembererError], what: str, listed: str) -> str:
    found = [each for each in names if each.startswith(start)]
    if len(found) != 1:
        told = f"{len(found)} {what}s begin" if found else f"No {what} begins"
        raise problem(f"{told} with {start!r}. See them: rememberer memory {listed}")
    return found[0]


def _experience(keys: Iterable[str], start: str) -> str:
    return _only(keys, start, UnknownExperience, "experience", "list")


def _episode(ids: Iterable[str], start: str) -> str:
    return _only(ids, start, UnknownEpisode, "episode", "episodes")
