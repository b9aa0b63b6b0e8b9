"""Checks of this machine: Python, packages, settings, folders, the port, sandboxes."""

import os
import shutil
import sys
from collections.abc import Iterator
from importlib import metadata

from deploy.cli.doctor.findings import Finding, ok, problem, warning

_OLDEST_PYTHON = (3, 11)
_GIGABYTE = 10**9


def check_python() -> Iterator[Finding]:
    text = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info[:2] >= _OLDEST_PYTHON:
        yield ok("python", text)
    else:
        yield problem("python", f"{text} is too old", "use Python 3.11 or newer")


def check_packages() -> Iterator[Finding]:
    missing = []
    required = [each for each in metadata.requires("callboard") or [] if "extra ==" not in each]
    for requirement in required:
        name = requirement.split(";")[0]
        for sign in "<>=!~[ ":
            name = name.split(sign)[0]
        try:
            metadata.version(name)
        except metadata.PackageNotFoundError:
            missing.append(name)
    if missing:
        yield problem("packages", f"missing: {', '.join(missing)}", "install them: pip install -e . (or `make up`)")
    else:
        yield ok("packages", f"callboard {metadata.version('callboard')}, all {len(required)} dependencies")


def check_settings() -> Iterator[Finding]:
    from providers.settings import list_wrong_variables
    from state.settings import SettingsError, get_settings

    wrong: list[str] = []
    try:
        get_settings()
    except SettingsError as refused:
        wrong += [line.strip(" -") for line in str(refused).splitlines()]
    wrong += list_wrong_variables()
    for line in wrong:
        yield problem("settings", line, "correct the variable; docs/settings.md lists them")
    if not wrong:
        yield ok("settings", "all variables are valid")


def check_user() -> Iterator[Finding]:
    if os.geteuid() == 0:
        yield warning("user", "runs as root", "use an account of its own: whoever breaks in has the whole machine")
    else:
        yield ok("user", "not root")


def check_data_folder() -> Iterator[Finding]:
    from state.settings import get_settings

    folder = get_settings().data_dir.resolve()
    if not folder.exists():
        yield ok("data folder", f"{folder} will be made")
        return
    mode = folder.stat().st_mode & 0o777
    if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        yield problem("data folder", f"{folder} cannot be written", "give it to the user of workers and servers")
    elif mode & 0o007:
        yield warning("data folder", f"{folder} is open to everybody (mode {mode:04o})", f"chmod 750 {folder}")
    else:
        yield ok("data folder", str(folder))
    free = shutil.disk_usage(folder).free
    text = f"{free / _GIGABYTE:.1f} GB are free in {folder}"
    if free < _GIGABYTE / 10:
        yield problem("disk", text, "make room: Postgres stops when the disk is full")
    elif free < _GIGABYTE:
        yield warning("disk", text, "make room soon")
    else:
        yield ok("disk", text)


def check_sandbox() -> Iterator[Finding]:
    from providers.sandbox.errors import IsolationMissing
    from providers.sandbox.kinds import choose_box
    from state.settings import get_settings

    settings = get_settings()
    try:
        kind = choose_box(settings.sandbox, settings.sandbox_image, settings.sandbox_folders).kind
    except IsolationMissing as missing:
        yield problem("sandbox", str(missing), "install bubblewrap, or set CALLBOARD_SANDBOX; docs/sandboxes.md")
        return
    if kind == "process":
        yield warning("sandbox", "commands run without isolation", "install bubblewrap (apt install bubblewrap)")
    else:
        yield ok("sandbox", kind)


def check_profiles() -> Iterator[Finding]:
    from deploy.cli.profiles import explain_open_file, read_profiles

    count = len(read_profiles())
    if wrong := explain_open_file():
        yield warning("profiles", wrong.partition(": ")[0], wrong.partition(": ")[2])
    elif count:
        yield ok("profiles", f"{count} servers")


def check_port() -> Iterator[Finding]:
    from deploy.cli.exits import Failure
    from deploy.cli.up.address import find_free_port, find_own_host, responds_ok
    from state.settings import get_settings

    host, port = get_settings().host, get_settings().port
    if port == 0:
        return
    if responds_ok(find_own_host(host), port, "/livez"):
        yield ok("port", f"a server answers at {host}:{port}")
        return
    try:
        find_free_port(host, port)
    except Failure:
        remedy = f"end it, or set CALLBOARD_PORT={port + 1}"
        yield problem("port", f"another program has {host}:{port}", remedy)
    else:
        yield ok("port", f"{host}:{port} is free")
