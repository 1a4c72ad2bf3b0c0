"""The commands `rememberer user ...`: who may come in. A password is asked for, and never part of a command."""

import sys
from getpass import getpass
from typing import Annotated

import typer

from app.options import Home
from app.settings import load_settings
from app.terminal import say
from app.users import Users, UsersError, checked_name

user = typer.Typer(
    help="Say who may come in. As soon as there is somebody, everybody has to log in.",
    rich_markup_mode=None,
    no_args_is_help=True,
)

Name = Annotated[str, typer.Argument(help="The name, which is also whose memory it is.")]


@user.command(epilog="Example: rememberer user add anna")
def add(
    name: Name,
    admin: Annotated[bool, typer.Option("--admin", help="Somebody who may do what is for all.")] = False,
    home: Home = None,
) -> None:
    """Let somebody in. The password is asked for twice, or is the first line of what is piped in."""
    users = Users(load_settings(home=home).home)
    added = users.add(checked_name(name), _password(), is_admin=admin)
    say(f"{added.name} can log in now.")


@user.command("list", epilog="Example: rememberer user list")
def list_(home: Home = None) -> None:
    """List everybody who may come in."""
    users = Users(load_settings(home=home).home)
    if users.is_open:
        say("Nobody has to log in. To have everybody log in: rememberer user add NAME")
    else:
        everybody = users.all()
        say(*(f"{each.name}{' (admin)' if each.is_admin else ''}" for each in everybody))
        if not everybody:
            say("Nobody can come in. To let somebody in: rememberer user add NAME")


@user.command(epilog="Example: rememberer user password anna")
def password(name: Name, home: Home = None) -> None:
    """Change a password. Its owner is logged out everywhere."""
    users = Users(load_settings(home=home).home)
    changed = users.set_password(name, _password())
    say(f"{changed.name} has another password, and is logged out everywhere.")


@user.command(epilog="Example: rememberer user remove anna")
def remove(name: Name, home: Home = None) -> None:
    """Let somebody in no more. Their memory stays."""
    users = Users(load_settings(home=home).home)
    say(f"{users.remove(name).name} cannot come in any more. Their memory stays.")
    if not users.all():
        say("Now nobody can. To let somebody in: rememberer user add NAME")


def _password() -> str:
    if not sys.stdin.isatty():
        return sys.stdin.readline().rstrip("\r\n")
    typed = getpass("Password: ")
    if getpass("Once more: ") != typed:
        raise UsersError("That was not the same twice. Nothing was changed. Try again.")
    return typed
