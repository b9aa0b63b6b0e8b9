"""One place for a program of the cluster: when it has ended, for whatever reason, it is started anew there."""

import os
import signal
import subprocess
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import psutil

from deploy.cli.up.die_with_parent import build_command
from deploy.cli.up.service import ROOT
from deploy.prove.journal import Journal

_starter = ThreadPoolExecutor(1, "starter")  # for the kernel, the end of the thread that starts a program is the end of
# its parent: this one lasts as long as the process


class Program:
    """Its lock is held by the fault that is at it."""

    def __init__(
        self,
        name: str,
        arguments: Sequence[str],
        environment: dict[str, str],
        folder: Path,
        faults: Journal,
        is_ready: Callable[[str], bool],
    ) -> None:
        """`is_ready` is asked with what the program has written."""
        self.name = name
        self.lock = threading.Lock()
        self._command = build_command(arguments)
        self._environment = environment
        self._folder = folder
        self._faults = faults
        self._is_ready = is_ready
        self._generation = 0
        self._start()

    def _start(self) -> None:
        self._generation += 1
        self._log = self._folder / f"{self.name}-{self._generation}.log"
        self._process = _starter.submit(self._launch).result()

    def _launch(self) -> "subprocess.Popen[bytes]":
        with self._log.open("wb") as log:
            return subprocess.Popen(
                self._command,
                cwd=ROOT,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    @property
    def log(self) -> str:
        return self._log.read_text(errors="replace")

    @property
    def ready(self) -> bool:
        return not self.ended and self._is_ready(self.log)

    @property
    def ended(self) -> bool:
        return self._process.poll() is not None

    def renew(self) -> None:
        self.kill()
        self._start()

    def renew_if_ended(self) -> None:
        if self.ended:
            self.renew()

    def pids(self) -> list[int]:
        """All of its processes, also those that tasks have started."""
        with suppress(psutil.NoSuchProcess):
            first = psutil.Process(self._process.pid)
            return [first.pid, *(child.pid for child in first.children(recursive=True))]
        return []

    def worker_pids(self) -> list[int]:
        """The worker processes below Dramatiq's master."""
        with suppress(psutil.NoSuchProcess):
            children = psutil.Process(self._process.pid).children()
            return sorted(child.pid for child in children if not _is_tracker(child))
        return []

    def signal(self, number: int) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, number)

    def terminate(self) -> None:
        if not self.ended:
            self._process.send_signal(signal.SIGTERM)

    def wait_ended(self, timeout: float) -> bool:
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout)
        return self.ended

    def kill(self) -> None:
        """Everything that is left of it."""
        self._faults.write("clean up", pids=self.pids())
        self.signal(signal.SIGKILL)
        self._process.wait(10)


def _is_tracker(process: psutil.Process) -> bool:
    with suppress(psutil.NoSuchProcess):
        return "resource_tracker" in " ".join(process.cmdline())
    return True
