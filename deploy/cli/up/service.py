"""A program that `callboard up` keeps running: restarted when it dies, and ended together with its children."""

import os
import signal
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from deploy.cli.up.die_with_parent import build_command

ROOT = Path(__file__).parents[3]
"""The folder that holds `actors/`, `http/` and `tests/`: the working directory of all services."""

_STEADY_SECONDS = 60.0  # a service that ran for so long did not fail at its start
_MAX_DELAY = 30.0  # seconds until a service that keeps dying is started again


class Service:
    """Must be started from the main thread: see `build_command`."""

    def __init__(self, name: str, arguments: Sequence[str], environment: dict[str, str], log: Path) -> None:
        self.name = name
        self.log = log
        self.early_deaths = 0
        self._arguments = arguments
        self._environment = environment
        self._process: subprocess.Popen[bytes] | None = None
        self._started = 0.0
        self._next_start = 0.0

    def start(self) -> None:
        # The children write to the file directly: a pipe to this process would break if this process were killed.
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                build_command(self._arguments),
                cwd=ROOT,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                # A group of its own, so that Ctrl-C reaches only this process: Dramatiq takes a second signal for
                # "kill".
                process_group=0,
            )
        self._started = time.monotonic()

    @property
    def pid(self) -> int | None:
        return None if self._process is None else self._process.pid

    def restart_if_ended(self) -> str | None:
        """Restarts the program if it has died, later each time. Returns a message if it has just died."""
        if self._process is None:
            if time.monotonic() >= self._next_start:
                self.start()
            return None
        code = self._process.poll()
        if code is None:
            return None
        self.kill()
        self._process = None
        steady = time.monotonic() - self._started >= _STEADY_SECONDS
        self.early_deaths = 1 if steady else self.early_deaths + 1
        delay = min(2.0 ** (self.early_deaths - 2), _MAX_DELAY) if self.early_deaths > 1 else 0
        self._next_start = time.monotonic() + delay
        how = f"exit code {code}" if code >= 0 else signal.Signals(-code).name
        return f"ended ({how}); restarting {f'in {delay:.0f} s' if delay else 'now'}"

    def terminate(self) -> None:
        """Sends SIGTERM to the program only: it ends its own children."""
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()

    @property
    def ended(self) -> bool:
        """True when neither the program nor any process of its group is left."""
        if self._process is None:
            return True
        if self._process.poll() is None:
            return False
        try:
            os.killpg(self._process.pid, 0)
        except ProcessLookupError:
            return True
        return False

    def kill(self) -> None:
        """Kills the whole group. Workers whose master is dead can neither log nor be told to stop; if they are killed,
        the other workers take over their tasks at once."""
        if self._process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.poll()
