"""A program that `callboard up` keeps running: started again when it dies, ended with all that it started."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

_TETHER = Path(__file__).with_name("tether.py")
_ROOT = Path(__file__).parents[2]
_STEADY = 60.0  # who ran so long did not die of its start
_LONGEST_WAIT = 30.0


class Service:
    """Start it from the main thread: the kernel takes the end of the starting thread for the parent's end."""

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
        # Straight into the file: when this process is killed, a pipe to it would break under its children.
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-S", str(_TETHER), str(os.getpid()), *self._arguments],
                cwd=_ROOT,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                # A group of its own: Ctrl-C is for us, and Dramatiq takes a second signal for "kill".
                process_group=0,
            )
        self._started = time.monotonic()

    @property
    def pid(self) -> int | None:
        return None if self._process is None else self._process.pid

    def tend(self) -> str | None:
        """Starts the program again when it has died; says so when there is something to say."""
        if self._process is None:
            if time.monotonic() >= self._next_start:
                self.start()
            return None
        code = self._process.poll()
        if code is None:
            return None
        self.kill()
        self._process = None
        steady = time.monotonic() - self._started >= _STEADY
        self.early_deaths = 1 if steady else self.early_deaths + 1
        wait = min(2.0 ** (self.early_deaths - 2), _LONGEST_WAIT) if self.early_deaths > 1 else 0
        self._next_start = time.monotonic() + wait
        how = f"exit code {code}" if code >= 0 else signal.Signals(-code).name
        return f"ended ({how}); starting it again {f'in {wait:.0f} s' if wait else 'now'}"

    def terminate(self) -> None:
        """To the leader alone: it tells its own."""
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()

    @property
    def over(self) -> bool:
        """True when neither the program nor anything in its group is left."""
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
        """Whatever is left of it. Workers whose master is dead cannot log or be told to stop: better that the others
        see at once that they are gone."""
        if self._process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.poll()
