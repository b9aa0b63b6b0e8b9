"""A contender: an app module, the command of its workers, and its store. Everything else is the same for everybody."""

import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.bench.harness.errors import BenchError, StalledError
from tests.bench.harness.processes import Children, tail
from tests.bench.harness.venvs import ROOT
from tests.bench.peers import stamps
from tests.bench.peers.sizes import PROCESSES
from tests.bench.peers.stamps import Stamps
from tests.bench.peers.stores import Store

STALL = 20.0  # seconds without any progress: it will not finish


@dataclass(kw_only=True)
class Side:
    """One object for each contender, used again and again with fresh databases: setup, measure, close."""

    name: str
    app: str  # module for the driver
    python: Path
    command: Callable[[int], Sequence[Sequence[str]]]  # what starts that many worker processes
    store: Store
    children: Children
    folder: Path
    url_variables: Sequence[str] = ("BENCH_DATABASE_URL",)
    env: Mapping[str, str] = field(default_factory=dict)
    url: str = ""
    running: list[subprocess.Popen[str]] = field(default_factory=list)

    def setup(self, url: str) -> None:
        self.url = url
        self.scratch = Path(tempfile.mkdtemp(prefix=f"{self.name}-", dir=self.folder))
        self.stamps = Stamps(self.scratch)
        self.drive("setup")

    def close(self) -> None:
        for child in self.running:
            self.children.stop(child)
        self.running.clear()
        shutil.rmtree(self.scratch, ignore_errors=True)

    def drive(self, verb: str, *arguments: object) -> Any:
        """Run a verb of the driver in a process of this side's Python; its answer."""
        argv = [str(self.python), "-m", "tests.bench.peers.driver", self.app, verb, *map(json.dumps, arguments)]
        output = self.children.run(argv, log=self.scratch / "driver.log", env=self._environment(), timeout=900)
        return json.loads(output.splitlines()[-1])

    def fill(self, kind: str, count: int) -> None:
        self.drive("fill", kind, count)
        self.store.settle(self.url)

    def start_workers(self, processes: int = PROCESSES, *, apart: bool = False) -> None:
        """Apart: so that the end of one worker process does not end the others."""
        commands = [one for _ in range(processes) for one in self.command(1)] if apart else self.command(processes)
        for command in commands:
            log = self.scratch / "workers.log"
            self.running.append(self.children.start(command, log=log, env=self._environment()))

    def wait_stamps(self, count: int) -> None:
        self.wait(lambda: self.stamps.poll() >= count, f"{count} tasks to start")

    def wait(self, done: Callable[[], bool], what: str, pause: float = 0.05, stall: float = STALL) -> None:
        """Wait for it as long as there is progress."""
        seen, moved = -1, time.monotonic()
        while not done():
            if any(child.poll() is not None for child in self.running):
                words = self.last_words(15).strip()
                raise BenchError(f"a worker ended by itself: {words.rpartition(chr(10))[2]}\n{words}")
            if (now := self.stamps.poll()) != seen:
                seen, moved = now, time.monotonic()
            if time.monotonic() - moved > stall:
                raise StalledError(f"stalled after {seen} started, waiting for {what}\n{self.last_words(5)}")
            time.sleep(pause)

    def last_words(self, lines: int) -> str:
        return tail(self.scratch / "workers.log", lines)

    def _environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PG", "CALLBOARD_"))}
        return {
            **kept,
            "PYTHONPATH": str(ROOT),
            stamps.FOLDER_VARIABLE: str(self.scratch),
            **dict.fromkeys(self.url_variables, self.url),
            **self.env,
        }
