"""Creates the data folder of a Postgres server, and starts the server on it. The programs that do so inherit the lock
of the folder."""

import os
import shutil
import subprocess
from functools import partial
from pathlib import Path

from state.database.embedded.access import ask_for_passwords, asks_for_passwords
from state.database.embedded.account import Account, allow_access, choose_account, find_binaries
from state.database.embedded.filelock import FileLock
from state.database.embedded.socketfolder import make_socket_folder
from state.disk import sync
from state.errors import NotReady

_MARK = "Held by the embedded Postgres as long as one of its processes lives.\n"
_INITDB_OPTIONS = ("--auth=reject", "--encoding=utf8", "--username=postgres")
# Ends at the first error (it would go on), and takes an empty line for the end of a statement (not every line).
_SINGLE_USER = ("--single", "-j", "-c", "exit_on_error=on")
_VARIABLES = ("PATH", "HOME", "LANG", "LANGUAGE", "TZ", "TMPDIR", "LD_LIBRARY_PATH")  # that its programs need
# In the background of a shell that ends: the server is not our child, and so never becomes a zombie of ours.
_IN_BACKGROUND = 'log=$1; shift; exec "$@" </dev/null >>"$log" 2>&1 &'


def initialize(data: Path, lock: FileLock) -> None:
    """Creates the data folder unless there is one, completely or not at all: an `initdb` that is killed leaves
    something that looks like a database, so it works in another folder, which is renamed at the end."""
    if (data / "PG_VERSION").exists():
        return
    account, binaries = choose_account(data), find_binaries()
    allow_access(account, data, binaries)
    unfinished = data.with_name(f"{data.name}.new")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(mode=0o700)
    account.give(unfinished)
    done = _run([str(binaries / "initdb"), *_INITDB_OPTIONS, "-D", str(unfinished)], account, lock)
    if done.returncode != 0:
        raise NotReady(f"The embedded Postgres cannot be created in {data}: {done.stderr.strip()}")
    unfinished.rename(data)  # also replaces an empty folder
    sync(data.parent)


def launch(data: Path, lock: FileLock, *, remove_lock_files: bool) -> None:
    """Starts the server. Returns before it is ready."""
    initialize(data, lock)
    account, binaries = choose_account(data), find_binaries()
    allow_access(account, data, binaries)
    sockets = make_socket_folder(data, account)
    if remove_lock_files:
        for path in (data / "postmaster.pid", *sockets.glob(".s.PGSQL.*.lock")):
            path.unlink(missing_ok=True)
    lock.mark(_MARK)
    if not asks_for_passwords(data):
        ask_for_passwords(data, account.give, partial(_run_script, data, account, lock))
    quoted = str(sockets).replace('"', '""')
    settings = ("listen_addresses=", f'unix_socket_directories="{quoted}"', "unix_socket_permissions=0700")
    server = [str(binaries / "postgres"), "-D", str(data), *(word for each in settings for word in ("-c", each))]
    done = _run(["/bin/sh", "-c", _IN_BACKGROUND, "sh", str(data / "log"), *server], account, lock)
    if done.returncode != 0:
        raise NotReady(f"The embedded Postgres cannot be started: {done.stderr.strip()}")


def _run_script(data: Path, account: Account, lock: FileLock, database: str, text: str) -> None:
    """Runs SQL as the superuser, in a server of its own that nobody can connect to."""
    command = [str(find_binaries() / "postgres"), *_SINGLE_USER, "-D", str(data), database]
    done = _run(command, account, lock, text)
    if done.returncode != 0:
        raise NotReady(f"The roles of the embedded Postgres in {data} cannot be made: {done.stderr.strip()}")


def _run(
    command: list[str], account: Account, lock: FileLock, text: str | None = None
) -> "subprocess.CompletedProcess[str]":
    try:
        return subprocess.run(
            command,
            check=False,
            input=text,
            capture_output=True,
            text=True,
            cwd="/",
            # No secrets: other processes of the user can read the server's environment. No settings of libpq, such as
            # PGPORT: the server reads them as well.
            env={name: value for name, value in os.environ.items() if name in _VARIABLES or name.startswith("LC_")},
            pass_fds=[lock.fileno()],
            start_new_session=True,  # Ctrl-C must not end it
            umask=0o077,
            **account.switch(),
        )
    except OSError as failure:
        raise NotReady(f"{command[0]} cannot be started: {failure}") from failure
