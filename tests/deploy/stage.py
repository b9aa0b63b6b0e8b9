"""A root of its own for the commands of deploy/: with their paths, read-only, as another user, without an engine."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil
import psycopg
import pytest

_SCRIPT = Path(__file__).with_name("enter.sh")


def _can_enter() -> bool:
    tried = subprocess.run(["unshare", "--mount", "--pid", "--fork", "true"], capture_output=True)
    return os.geteuid() == 0 and tried.returncode == 0


needs_stage = pytest.mark.skipif(not _can_enter(), reason="needs root, and namespaces for mounts and processes")


@dataclass(frozen=True)
class Stage:
    """`sockets`: the folder of Postgres's socket. `data`: what lies at `data_at`."""

    venv: Path
    sockets: Path
    folder: Path
    data: Path | None = None
    data_at: str = "/data"

    def start(
        self,
        command: Sequence[str],
        log: Path,
        *,
        uid: int,
        gid: int = 0,
        environment: Mapping[str, str] | None = None,
        setup: str = "",
        own_pids: bool = False,
        **modes: str,
    ) -> "subprocess.Popen[bytes]":
        """Starts the command. `setup` is run before, as root. `own_pids`: in a pid namespace, as its first process."""
        given = {
            "STAGE": str(self.folder),
            "BASE": sys.base_prefix,
            "VENV": str(self.venv),
            "SOCKETS": str(self.sockets),
            "DATA": str(self.data or ""),
            "DATA_AT": self.data_at,
            "SETUP": setup,
            "RUN_UID": str(uid),
            "RUN_GID": str(gid or uid),
        }
        given |= {name.upper(): mode for name, mode in modes.items()}
        path = f"{sys.base_prefix}/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
        kept = dict(os.environ) if uid == 0 else {}  # pip may be configured there
        inside = {"PATH": path, **kept, **(environment or {})}
        namespaces = ["--mount", *(["--pid", "--fork", "--kill-child"] if own_pids else [])]
        program = ["env", "-i", *(f"{name}={value}" for name, value in inside.items()), *command]
        with log.open("ab") as out:
            return subprocess.Popen(
                ["unshare", *namespaces, "sh", str(_SCRIPT), *program],
                env={"PATH": path, **given},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,
            )


def find_first(process: "subprocess.Popen[bytes]") -> psutil.Process:
    """Returns the first process of the pid namespace that was made for the command."""
    [first] = psutil.Process(process.pid).children()
    return first


def end(process: "subprocess.Popen[bytes]") -> None:
    """Kills what is left of a command and its children."""
    with suppress(psutil.NoSuchProcess):
        for each in [*psutil.Process(process.pid).children(recursive=True), psutil.Process(process.pid)]:
            with suppress(psutil.NoSuchProcess):
                each.kill()
    process.wait(20)


@contextmanager
def open_stage(venv: Path, database_url: str, data_at: str, owner: int) -> Iterator[Stage]:
    """Not in pytest's own folder: that is closed to other users. Lets other users through to Postgres's socket."""
    sockets = Path(str(psycopg.conninfo.conninfo_to_dict(database_url)["host"]))
    mode = sockets.stat().st_mode
    sockets.chmod(mode | 0o011)
    sock = next(sockets.glob(".s.PGSQL.*[0-9]"))
    socket_mode = sock.stat().st_mode
    sock.chmod(socket_mode | 0o066)
    try:
        with tempfile.TemporaryDirectory(prefix="callboard-stage-") as folder:
            data = Path(folder, "data")
            data.mkdir(mode=0o750)
            os.chown(data, owner, owner)
            root = Path(folder, "root")
            root.mkdir()
            yield Stage(venv, sockets, root, data, data_at)
    finally:
        sock.chmod(socket_mode)
        sockets.chmod(mode)


def move_url(database_url: str, role: str) -> str:
    """Returns the address of the database on a stage, for a role; the tests' own server trusts everybody."""
    database = psycopg.conninfo.conninfo_to_dict(database_url)["dbname"]
    return f"postgresql://{role}@/{database}?host=/run/postgresql"
