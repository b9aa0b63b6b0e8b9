"""Profiles: the servers that a person uses, by name, in a file that only this person can read."""

import os
import tomllib
from dataclasses import dataclass
from pathlib import Path

from deploy.cli.exits import BAD_INPUT, NOT_FOUND, Failure

_NAME = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"


@dataclass(frozen=True, slots=True)
class Profile:
    name: str
    url: str
    key: str | None = None


def find_file() -> Path:
    folder = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(folder) / "callboard" / "profiles.toml"


def read_profiles() -> dict[str, Profile]:
    file = find_file()
    try:
        tables = tomllib.loads(file.read_text())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as wrong:
        raise Failure(BAD_INPUT, f"Cannot read {file}: {' '.join(str(wrong).split())}") from None
    profiles = {}
    for name, table in tables.items():
        if not isinstance(table, dict) or not isinstance(table.get("url"), str):
            raise Failure(BAD_INPUT, f"{file}: the profile {name!r} has no url.")
        profiles[name] = Profile(name, table["url"], table.get("key"))
    return profiles


def get_profile(name: str) -> Profile:
    profiles = read_profiles()
    if name not in profiles:
        known = f"There are: {', '.join(sorted(profiles))}." if profiles else "There are none yet."
        raise Failure(NOT_FOUND, f"There is no profile {name!r}. {known} `callboard profile add` makes one.")
    return profiles[name]


def put_profile(profile: Profile) -> None:
    if not profile.name or set(profile.name) - set(_NAME):
        raise Failure(BAD_INPUT, f"{profile.name!r}: a profile's name has letters, digits, - and _.")
    _write({**read_profiles(), profile.name: profile})


def remove_profile(name: str) -> None:
    get_profile(name)
    _write({each: profile for each, profile in read_profiles().items() if each != name})


def explain_open_file() -> str | None:
    """Returns what is wrong if others can read the file, which may hold keys."""
    file = find_file()
    try:
        mode = file.stat().st_mode & 0o777
    except OSError:
        return None
    return f"{file} can be read by others (mode {mode:04o}): chmod 600 {file}" if mode & 0o077 else None


def _write(profiles: dict[str, Profile]) -> None:
    """Replaces the file as a whole: a reader sees the old one or the new one."""
    file = find_file()
    lines = []
    for profile in profiles.values():
        lines += [f"[{profile.name}]", f"url = {_quote(profile.url)}"]
        lines += [f"key = {_quote(profile.key)}"] if profile.key is not None else []
        lines.append("")
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        new = file.with_suffix(f".{os.getpid()}")
        with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as opened:  # noqa: PTH123
            opened.write("\n".join(lines))
        new.replace(file)
    except OSError as failed:
        raise Failure(BAD_INPUT, f"Cannot write {file}: {failed.strerror}.") from None


def _quote(text: str) -> str:
    """A TOML string. JSON escapes the same characters in the same way, and DEL as well."""
    import json

    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
