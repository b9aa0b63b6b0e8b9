"""Real worker processes: `dramatiq actors`, as people start them."""

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import psutil

from state.workers.registry import list_workers
from tests.support.eventually import eventually

ROOT = Path(__file__).parents[2]
TEST_ACTORS = "actors,tests.support.testactors,tests.support.controlactors"
WITHOUT_TIMER = f"{TEST_ACTORS},tests.support.withouttimer"


class WorkerTree:
    def __init__(
        self, log: Path, processes: int = 1, threads: int = 4, through: Sequence[str] = (), **settings: object
    ) -> None:
        """`through`: a command that starts the workers' own, such as unshare."""
        environment = {f"CALLBOARD_{name.upper()}": str(value) for name, value in settings.items()}
        self.log = log
        self._processes = processes
        self._before = len(list_workers())
        self._out = log.open("w")
        self.process = subprocess.Popen(
            [*through, sys.executable, "-m", "dramatiq", "actors", "-p", str(processes), "-t", str(threads)],
            cwd=ROOT,
            env={**os.environ, "CALLBOARD_ACTORS": TEST_ACTORS, **environment},
            stdout=self._out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def wait_ready(self) -> "WorkerTree":
        def ready() -> bool:
            assert self.process.poll() is None, self.log.read_text()
            return self.log.read_text().count('"worker ready"') >= self._processes

        eventually(ready, what=f"workers ready, see {self.log}")
        return self

    def children(self) -> list[psutil.Process]:
        """The worker processes below Dramatiq's master, oldest first."""
        found = psutil.Process(self.process.pid).children(recursive=True)
        named = [child for child in found if "resource_tracker" not in " ".join(child.cmdline())]
        return sorted(named, key=lambda child: child.pid)

    def signal_all(self, number: int) -> None:
        """To every process of the tree, master included."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, number)

    def terminate(self) -> None:
        self.process.send_signal(signal.SIGTERM)

    def wait(self, timeout: float = 30) -> int:
        return self.process.wait(timeout)

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(10)
        self._out.close()
