"""Processes that use an embedded Postgres, and its processes and files after they were killed."""

import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import psycopg

from state.database.embedded.account import choose_account
from state.database.embedded.postmaster import Postmaster
from tests.support.eventually import eventually

LONG_NAME = "a-project-with-a-long-name-" * 6

_ROOT = Path(__file__).parents[2]
_PROGRAM = """
import os, sys
from pathlib import Path
from state.database.embedded import EmbeddedPostgres
from state.database.embedded.account import find_binaries
from state.errors import NotReady

if len(sys.argv) > 2:
    find_binaries()  # what it imports may lie where the other user cannot read
    os.setgroups([])
    os.setgid(int(sys.argv[2]))
    os.setuid(int(sys.argv[2]))
try:
    print(EmbeddedPostgres(Path(sys.argv[1])).url(), flush=True)
except NotReady as reason:
    print("refused:", reason, flush=True)
sys.stdin.read()
"""


class EmbeddedUser:
    """A process that uses the embedded Postgres of a data directory until it is told to leave, or killed."""

    def __init__(self, data_dir: Path, prefix: Sequence[str] = (), uid: int | None = None) -> None:
        self.process = subprocess.Popen(
            [*prefix, sys.executable, "-c", _PROGRAM, str(data_dir), *([] if uid is None else [str(uid)])],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=_ROOT,
        )
        self._answer = ""

    @property
    def answer(self) -> str:
        """The address of the server, or why there is none; waits for it."""
        assert self.process.stdout is not None
        self._answer = self._answer or self.process.stdout.readline().strip()
        return self._answer

    def leave(self) -> None:
        self.answer  # noqa: B018  (it leaves as soon as it has come)
        assert self.process.stdin is not None
        self.process.stdin.close()
        assert self.process.wait(60) == 0
        self._close()

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(10)
        self._close()

    def _close(self) -> None:
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe is not None
            pipe.close()


MakeDataDir = Callable[[str], Path]
Enter = Callable[..., EmbeddedUser]


def processes_of(data_dir: Path) -> list[psutil.Process]:
    """Every process of Postgres that works in this data directory."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.name() == "postgres" and process.cwd() == str(data_dir / "postgres"):
                found.append(process)
        except psutil.Error:
            continue
    return found


def postmasters_of(data_dir: Path) -> list[int]:
    everybody = processes_of(data_dir)
    pids = {process.pid for process in everybody}
    found = []
    for process in everybody:
        with suppress(psutil.NoSuchProcess):  # a backend that has ended since
            if process.ppid() not in pids:
                found.append(process.pid)
    return sorted(found)


def kill_postgres(data_dir: Path) -> None:
    """All processes at once, as when the power goes."""
    killed = processes_of(data_dir)
    for end in (psutil.Process.suspend, psutil.Process.kill):  # stopped first: the others would see that one is gone
        for process in killed:
            with suppress(psutil.NoSuchProcess):  # a backend that has ended since
                end(process)
    eventually(lambda: not processes_of(data_dir), what="Postgres is gone")


def remove_socket_folder(data_dir: Path) -> None:
    """The one in /tmp that a killed server has left."""
    left = Postmaster.read(data_dir / "postgres")
    if left is not None and left.socket_folder.name.startswith("callboard-"):
        shutil.rmtree(left.socket_folder, ignore_errors=True)


def write_pid_into_lock_files(data_dir: Path, pid: int, socket_folder: Path) -> None:
    """As if the pid of the server that was killed had been given to another process."""
    for path in (data_dir / "postgres" / "postmaster.pid", socket_folder / ".s.PGSQL.5432.lock"):
        lines = path.read_text().split("\n")
        path.write_text("\n".join([str(pid), *lines[1:]]))


def other_process(data: Path, *command: str) -> "subprocess.Popen[bytes]":
    """Of the account that Postgres runs as: Postgres takes pids of other accounts for dead."""
    return subprocess.Popen(command, **choose_account(data).switch())


def socket_folder_of(url: str) -> Path:
    return Path(psycopg.conninfo.conninfo_to_dict(url)["host"])  # type: ignore[arg-type]


def execute(url: str, text: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(text)


def fetch_value(url: str, text: str) -> Any:
    with psycopg.connect(url, autocommit=True) as connection:
        row = connection.execute(text).fetchone()
    assert row is not None
    return row[0]
