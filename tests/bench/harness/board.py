"""A whole Callboard on the bench's Postgres: a migrated database, its HTTP server and its workers."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.bench.harness.errors import BenchError
from tests.bench.harness.postgres import Server
from tests.bench.harness.processes import Children, tail
from tests.bench.harness.venvs import ROOT
from tests.bench.peers.sizes import PROCESSES, THREADS
from tests.bench.peers.stamps import FOLDER_VARIABLE

READY = 60.0  # seconds for a process to start, on a busy machine
ACTORS = "tests.bench.peers.apps.callboard_app"
_CLI = "from deploy.cli import main; main()"
# As `callboard up` starts it.
_HTTP = (
    *("-m", "uvicorn", "--app-dir", str(ROOT / "http"), "--factory", "taskapi:create_app", "--port", "0"),
    *("--no-proxy-headers", "--no-server-header", "--http", "taskapi.guard.connections:Connection"),
)


@dataclass(frozen=True)
class Board:
    """Everything that is started here ends with the board."""

    database_url: str
    folder: Path  # logs, contents
    children: Children
    environment: Mapping[str, str]
    running: list[subprocess.Popen[str]] = field(default_factory=list)

    def command(self, *arguments: str) -> str:
        """Run the `callboard` command; its output."""
        argv = [sys.executable, "-c", _CLI, *arguments]
        return self.children.run(argv, log=self.folder / "command.log", env=self.environment, timeout=300)

    def create_key(self, role: str, tenant: str | None = None) -> str:
        """An API key. Servers that run already ask for it within 5 seconds: create it before them."""
        chosen = [] if tenant is None else ["--tenant", tenant]
        output = self.command("keys", "create", f"bench-{role}", "--role", role, "--json", *chosen)
        key: str = json.loads(output)["key"]
        return key

    def start_server(self) -> int:
        """Its port."""
        log = self.folder / "http.log"
        return wait_port(self.start(_HTTP, log), log)

    def start_workers(self, *, processes: int = PROCESSES, threads: int = THREADS) -> None:
        """Returns when they have registered."""
        log = self.folder / f"workers-{len(self.running)}.log"
        started = self.start(("-m", "dramatiq", "actors", "-p", str(processes), "-t", str(threads)), log)
        deadline = time.monotonic() + READY
        while log.read_text().count('"worker ready"') < processes:
            if started.poll() is not None or time.monotonic() > deadline:
                raise BenchError(f"the workers did not start\n{tail(log)}")
            time.sleep(0.1)

    def start(self, command: Sequence[str], log: Path) -> subprocess.Popen[str]:
        process = self.children.start([sys.executable, *command], log=log, env=self.environment)
        self.running.append(process)
        return process


def wait_port(process: subprocess.Popen[str], log: Path) -> int:
    """The port of a server that says in its log `running on http://127.0.0.1:PORT`."""
    deadline = time.monotonic() + READY
    while process.poll() is None and time.monotonic() < deadline:
        if address := log.read_text().partition("running on http://127.0.0.1:")[2].partition(" ")[0]:
            return int(address)
        time.sleep(0.05)
    raise BenchError(f"the server did not start\n{tail(log)}")


@contextmanager
def open_board(server: Server, children: Children, **settings: str) -> Iterator[Board]:
    """A board with a fresh database, which is gone afterwards, with what runs on it."""
    name = "bench_board"
    folder = server.folder / f"{name}-{time.monotonic_ns()}"
    folder.mkdir()
    with server.database(name) as url:
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("PG", "CALLBOARD_"))}
        environment = {
            **kept,
            "PYTHONPATH": str(ROOT),
            "CALLBOARD_DATABASE_URL": url,
            "CALLBOARD_DATA_DIR": str(folder),
            "CALLBOARD_ACTORS": f"actors,{ACTORS}",
            FOLDER_VARIABLE: str(folder),
            **settings,
        }
        board = Board(url, folder, children, environment)
        try:
            board.command("migrate")
            yield board
        finally:
            for process in reversed(board.running):
                children.stop(process)
