"""The command `rememberer`."""

import os
import sys
import traceback
from contextlib import closing
from datetime import datetime
from importlib.metadata import version
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated

import typer

from app.history_cli import history
from app.memory_cli import memory
from app.options import Home, User
from app.settings import load_settings
from app.terminal import HungUp, complain, say
from app.user_cli import user as users
from rememberer.errors import RemembererError

cli = typer.Typer(
    help="An assistant that works through tasks with you, one action at a time, and learns from your corrections.",
    epilog="Without a command the page is served. Every setting is also an environment variable REMEMBERER_...",
    rich_markup_mode=None,
    add_completion=False,
)
memory.add_typer(history)
cli.add_typer(memory, name="memory")
cli.add_typer(users, name="user")

ROUNDS = 3
"""How often the doctor mends and looks again: where the log was out of order, the rest can be judged only after."""

World = Annotated[str, typer.Option("--env", help="The world: see `rememberer envs`.")]
Data = Annotated[Path | None, typer.Option(help="Folder with the official WebShop files.")]
Model = Annotated[str | None, typer.Option(help="A language model's name at the server.")]
BaseUrl = Annotated[str | None, typer.Option(help="An OpenAI-compatible server; the key is in OPENAI_API_KEY.")]
LocalModel = Annotated[Path | None, typer.Option(help="A GGUF file with a language model, run inside the program.")]


def _tell_version(wanted: bool) -> None:
    if wanted:
        print(f"rememberer {version('rememberer')}")
        raise typer.Exit


@cli.callback(invoke_without_command=True)
def start(
    context: typer.Context,
    _: Annotated[
        bool, typer.Option("--version", callback=_tell_version, is_eager=True, help="Tell the version and end.")
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        serve()


@cli.command(epilog="Example: rememberer serve --port 8000 --data ~/webshop")
def serve(
    host: Annotated[str | None, typer.Option(help="Address to serve on; 127.0.0.1 if not given.")] = None,
    port: Annotated[int | None, typer.Option(help="Port to serve on; 7860 if not given, 0 takes a free one.")] = None,
    share: Annotated[bool | None, typer.Option("--share", help="Get a link to the page that works anywhere.")] = None,
    guests: Annotated[bool | None, typer.Option("--guests", help="Let guests look at the memory of `shared`.")] = None,
    home: Home = None,
    user: User = None,
    data: Data = None,
    model: Model = None,
    base_url: BaseUrl = None,
    local_model: LocalModel = None,
) -> None:
    """Serve the page (what happens without a command)."""
    from app.serve import serve as serve_page

    given = {"host": host, "port": port, "share": share, "guests": guests, "home": home, "user": user, "data": data}
    serve_page(load_settings(**given, model=model, base_url=base_url, local_model=local_model))


@cli.command(epilog='Example: rememberer play --own "a red wool scarf for less than 20 dollars"')
def play(
    env: World = "webshop",
    task: Annotated[str | None, typer.Option(help="Number of a goal; the first one for practice if not given.")] = None,
    own: Annotated[str | None, typer.Option(help="Instead of a goal, what you want in your own words.")] = None,
    new: Annotated[bool, typer.Option("--new", help="Leave the open task, if any, and begin another.")] = False,
    seed: Annotated[int, typer.Option(help="Where the world rolls dice: the same number, the same rolls.")] = 0,
    policy: Annotated[str | None, typer.Option(help="Who proposes: memory, openai or local.")] = None,
    home: Home = None,
    user: User = None,
    data: Data = None,
    model: Model = None,
    base_url: BaseUrl = None,
    local_model: LocalModel = None,
) -> None:
    """Work through a task in the terminal. An open task, also one of the page, is taken up again."""
    from app.play import play as play_here

    given = {"home": home, "user": user, "data": data, "model": model, "base_url": base_url}
    settings = load_settings(**given, local_model=local_model)
    play_here(settings, env, task_id=task, own=own, new=new, seed=seed, policy=policy)


@cli.command(epilog="Example: rememberer envs --data ~/webshop")
def envs(data: Data = None) -> None:
    """List the worlds, with the number of their tasks."""
    import envs as worlds

    settings = load_settings(data=data)
    for name in worlds.names():
        world = worlds.make(name, settings.data)
        splits: list[str] = [task.split for task in world.tasks()]
        counts = ", ".join(
            f"{splits.count(split)} to {verb}" for split, verb in (("train", "practise"), ("test", "test"))
        )
        print(f"{name:12} {counts}; {world.step_limit} steps at most")
        world.close()


@cli.command(epilog="Example: rememberer doctor --fix")
def doctor(
    fix: Annotated[bool, typer.Option("--fix", help="Repair what can be repaired.")] = False, home: Home = None
) -> None:
    """Look the memory of all users over: sizes, order, and whether all is as the log says. Ends with 1 if it is not."""
    from app.opening import open_store
    from storage.doctor import examine, mend

    with closing(open_store(load_settings(home=home))) as store:
        found = examine(store, say)
        for _ in range(ROUNDS if fix else 0):
            if any(each.mend for each in found):
                say(*(f"- {each.text}" for each in found))
                mend(store, found, say)
                found = examine(store, lambda told: None)
    say(*([f"- {each.text}" for each in found] or ["Nothing to mend."]))
    if any(each.mend for each in found):
        say("To have it repaired: rememberer doctor --fix")
    raise typer.Exit(1 if found else 0)


def main() -> None:
    """Run the command line: what is known to go wrong ends with a sentence, all else with where its report is."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # not every terminal has every character
    try:
        try:
            cli()
        finally:
            sys.stdout.flush()
    except (HungUp, BrokenPipeError):
        # Python flushes once more at its end, and would complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except RemembererError as problem:
        complain(problem)
        sys.exit(1)
    except Exception as problem:
        complain(f"Something went wrong that nobody foresaw ({type(problem).__name__}). {_report()}")
        sys.exit(2)


def _report() -> str:
    """Write the traceback to a file in the home folder, and say where."""
    try:
        folder = load_settings().home / "reports"
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / f"{datetime.now():%Y-%m-%d-%H%M%S}.txt"
        file.write_text(traceback.format_exc(), "utf-8", "backslashreplace")
    except (OSError, RemembererError):
        return traceback.format_exc()
    return f"What happened exactly is in {file}: please send it along when you report this."


if __name__ == "__main__":
    main()
