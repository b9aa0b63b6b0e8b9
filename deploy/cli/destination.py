"""Which server the commands talk to: --url, --profile, CALLBOARD_URL, or none: then the application runs in this
process, with the database of CALLBOARD_DATABASE_URL or the embedded one."""

import os
from dataclasses import dataclass
from typing import Annotated

import typer

from deploy.cli.exits import BAD_INPUT, Failure


@dataclass(frozen=True, slots=True)
class Server:
    url: str
    key: str | None


@dataclass(frozen=True, slots=True)
class _Options:
    url: str | None = None
    key: str | None = None
    profile: str | None = None


_options = _Options()


def choose(
    url: Annotated[
        str | None,
        typer.Option("--url", metavar="URL", help="The server to talk to. Default: CALLBOARD_URL.", show_default=False),
    ] = None,
    key: Annotated[
        str | None,
        typer.Option(
            "--key",
            metavar="KEY",
            help="The API key. Better CALLBOARD_KEY or a profile: arguments can be seen by others of this machine.",
            show_default=False,
        ),
    ] = None,
    profile: Annotated[
        str | None,
        typer.Option(
            "--profile",
            metavar="NAME",
            help="A server of the file of profiles (`callboard profile`). Default: CALLBOARD_PROFILE.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """The options of `callboard` itself, before the command."""
    global _options
    if url is not None and profile is not None:
        raise Failure(BAD_INPUT, "Give --url or --profile, not both.")
    _options = _Options(url, key, profile)


def find_server() -> Server | None:
    """Returns the server that was asked for. None: there is none, the database is used directly."""
    key = _options.key or os.environ.get("CALLBOARD_KEY") or None
    if _options.url is not None:
        return Server(_options.url, key)
    name = _options.profile or os.environ.get("CALLBOARD_PROFILE")
    if name:
        return _read_profile(name)
    if url := os.environ.get("CALLBOARD_URL"):
        return Server(url, key)
    if _options.key is not None:
        raise Failure(BAD_INPUT, "--key belongs to a server: give --url as well, or set CALLBOARD_URL.")
    return None


def _read_profile(name: str) -> Server:
    from deploy.cli.profiles import explain_open_file, get_profile

    profile = get_profile(name)
    if profile.key is not None and (wrong := explain_open_file()):
        typer.secho(f"callboard: warning: {wrong}", fg="yellow", err=True)
    return Server(profile.url, _options.key or profile.key)
