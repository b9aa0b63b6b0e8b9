"""A command in a box, seen from the worker. Nothing here waits for long, so that an interrupt gets in between."""

import codecs
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

from providers.sandbox.capture import Capture
from providers.sandbox.errors import CommandNotFound, CommandRefused, SandboxFailed
from providers.sandbox.keeper import PATIENCE
from providers.sandbox.limits import Limits
from providers.sandbox.strays import kill_strays

_ROOT = Path(__file__).parents[2]
_STEP = 0.05
_CLEANING = 5.0  # seconds that the keeper has for the workspace, after its report
_LATE = 30.0  # seconds after which a keeper that says nothing is given up


@dataclass(frozen=True, slots=True)
class Result:
    exit_code: int  # negative: the signal that ended it
    output: str  # stdout and stderr, as they came
    truncated: bool
    timed_out: bool
    seconds: float


class Sandbox:
    """Starts the command in a new folder, which goes with it. To be read until it has ended, then asked for its result;
    or to be killed at any time, also from another thread."""

    def __init__(self, command: Sequence[str], limits: Limits, workspaces: Path) -> None:
        self._command = list(command)
        self._limits = limits
        self._lock = threading.RLock()
        self._capture = Capture(limits.output)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._news = b""
        self._report: dict[str, Any] | None = None
        self._patient_until = time.monotonic() + limits.seconds + _LATE
        workspaces.mkdir(parents=True, exist_ok=True)
        self.workspace = tempfile.mkdtemp(prefix="box-", dir=workspaces.resolve())
        self._pipes: list[IO[bytes]] = []
        try:
            self._output, self._lifeline, self._reports = self._start()
        except BaseException:
            self.close()
            self._remove()
            raise

    def _start(self) -> tuple[IO[bytes], IO[bytes], IO[bytes]]:
        temporary = Path(self.workspace, "tmp")
        temporary.mkdir()
        environment = {  # all of it: the worker's has secrets
            "PATH": os.environ.get("PATH", os.defpath),
            "LANG": os.environ.get("LANG", "C.UTF-8"),
            "HOME": self.workspace,
            "TMPDIR": str(temporary),
        }
        ours, theirs = os.pipe()
        output = os.fdopen(ours, "rb")
        self._pipes.append(output)
        try:
            # Our ends of its pipes are closed when this process ends or becomes another one.
            keeper = subprocess.Popen(
                [sys.executable, "-m", "providers.sandbox.keeper", self.workspace],
                cwd=_ROOT,
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                pass_fds=(theirs,),
                start_new_session=True,
            )
        finally:
            os.close(theirs)
        assert keeper.stdin is not None  # noqa: S101
        assert keeper.stdout is not None  # noqa: S101
        self._pipes += [keeper.stdin, keeper.stdout]
        order = {
            "command": self._command,
            "environment": environment,
            "limits": asdict(self._limits),
            "output": theirs,
        }
        with suppress(BrokenPipeError):  # then it is gone, which is seen when it is read
            keeper.stdin.write(json.dumps(order).encode() + b"\n")
            keeper.stdin.flush()
        keeper.wait()  # it goes on as a process of its own
        return output, keeper.stdin, keeper.stdout

    @property
    def ended(self) -> bool:
        """All is over, and all is read."""
        now = time.monotonic()
        if self._report is None:
            return self._reports.closed or now > self._patient_until
        return (self._reports.closed and self._output.closed) or now > self._patient_until

    def read(self, seconds: float) -> str:
        """What it has written since, as text; waits at most so long for something to happen."""
        with self._lock:
            text = ""
            for pipe in _ready([pipe for pipe in (self._output, self._reports) if not pipe.closed], seconds):
                data = os.read(pipe.fileno(), 65536)
                if not data:
                    pipe.close()
                if pipe is self._output:
                    self._capture.add(data)
                    text = self._decoder.decode(data, final=not data)
                else:
                    self._hear(data)
            return text

    def _hear(self, news: bytes) -> None:
        self._news += news
        if self._report is None and self._news.endswith(b"\n"):
            self._report = json.loads(self._news)
            self._patient_until = time.monotonic() + _CLEANING

    def result(self) -> Result:
        """Of a command that has ended. Raises CommandNotFound, CommandRefused or SandboxFailed."""
        with self._lock:
            self.close()
            name = self._command[0] if self._command else ""
            if self._report is None:
                self._sweep()
                raise SandboxFailed(f"The keeper of {name!r} was lost: nobody knows how it ended.")
            report = self._report
            if "refused" in report:
                raise _refusal(name, report)
            output = self._capture.text()
            if report["ending"] == "processes":
                output += f"\n… (more than {self._limits.processes} processes: all were killed) …\n"
            return Result(
                exit_code=report["exit_code"],
                output=output,
                truncated=self._capture.truncated,
                timed_out=report["ending"] == "timeout",
                seconds=report["seconds"],
            )

    def kill(self) -> tuple[int, list[int]]:
        """Ends it with all its descendants: how many were killed, and the pids of those who could not be."""
        with self._lock:
            _close(self._lifeline)
            deadline = time.monotonic() + PATIENCE + 1
            while self._report is None and not self._reports.closed and time.monotonic() < deadline:
                self.read(_STEP)
            self.close()
            if self._report is None:
                return self._sweep()
            return self._report.get("killed", 0), self._report.get("survivors", [])

    def close(self) -> None:
        with self._lock:
            for pipe in self._pipes:
                _close(pipe)

    def _sweep(self) -> tuple[int, list[int]]:
        """The keeper's work, without the keeper."""
        answer = kill_strays(self.workspace, PATIENCE)
        self._remove()
        return answer

    def _remove(self) -> None:
        shutil.rmtree(self.workspace, ignore_errors=True)


def _ready(pipes: list[IO[bytes]], seconds: float) -> list[IO[bytes]]:
    poll = select.poll()  # select() ends at descriptor 1024
    for pipe in pipes:
        poll.register(pipe, select.POLLIN)
    ready = {descriptor for descriptor, _ in poll.poll(seconds * 1000)}
    return [pipe for pipe in pipes if pipe.fileno() in ready]


def _close(pipe: IO[bytes]) -> None:
    with suppress(BrokenPipeError):
        pipe.close()


def _refusal(name: str, report: dict[str, Any]) -> Exception:
    if report["missing"]:
        return CommandNotFound(f"There is no command {name!r}, or its interpreter is missing.")
    if report["shortage"]:
        return SandboxFailed(f"{name!r} could not be started now: {report['refused']}")
    return CommandRefused(f"{name!r} cannot be started: {report['refused']}")
