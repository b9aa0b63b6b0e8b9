"""A command in a sandbox, as the worker sees it. No call here takes long, so that an interrupt can be raised."""

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
from providers.sandbox.leftovers import kill_leftovers
from providers.sandbox.limits import Limits
from providers.sandbox.supervisor import KILL_SECONDS

_ROOT = Path(__file__).parents[2]
_STEP = 0.05
_CLEANING = 5.0  # seconds that the supervisor has to remove the workspace, after its report
_LATE = 30.0  # seconds after the time limit, until a supervisor without a report is given up


@dataclass(frozen=True, slots=True)
class Result:
    exit_code: int  # negative: the signal that ended it
    output: str  # stdout and stderr, in the order in which they were written
    truncated: bool
    timed_out: bool
    seconds: float


class Sandbox:
    """Starts the command in a new folder, which is removed at the end. Call `read` until `ended` is true, then
    `result`. `kill` can be called at any time, also from another thread."""

    def __init__(self, command: Sequence[str], limits: Limits, workspaces: Path) -> None:
        self._command = list(command)
        self._limits = limits
        self._lock = threading.RLock()
        self._capture = Capture(limits.output)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._received = b""
        self._report: dict[str, Any] | None = None
        self._give_up_at = time.monotonic() + limits.seconds + _LATE
        workspaces.mkdir(parents=True, exist_ok=True)
        self.workspace = tempfile.mkdtemp(prefix="sandbox-", dir=workspaces.resolve())
        self._pipes: list[IO[bytes]] = []
        try:
            self._output, self._control, self._reports = self._start()
        except BaseException:
            self.close()
            self._remove_workspace()
            raise

    def _start(self) -> tuple[IO[bytes], IO[bytes], IO[bytes]]:
        temporary = Path(self.workspace, "tmp")
        temporary.mkdir()
        environment = {  # nothing of the worker's, which contains secrets
            "PATH": os.environ.get("PATH", os.defpath),
            "LANG": os.environ.get("LANG", "C.UTF-8"),
            "HOME": self.workspace,
            "TMPDIR": str(temporary),
        }
        ours, theirs = os.pipe()
        output = os.fdopen(ours, "rb")
        self._pipes.append(output)
        try:
            # Our ends of its pipes are closed when this process ends or is replaced by exec.
            supervisor = subprocess.Popen(
                [sys.executable, "-m", "providers.sandbox.supervisor", self.workspace],
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
        assert supervisor.stdin is not None  # noqa: S101
        assert supervisor.stdout is not None  # noqa: S101
        self._pipes += [supervisor.stdin, supervisor.stdout]
        order = {
            "command": self._command,
            "environment": environment,
            "limits": asdict(self._limits),
            "output": theirs,
        }
        with suppress(BrokenPipeError):  # it has ended, which `read` notices
            supervisor.stdin.write(json.dumps(order).encode() + b"\n")
            supervisor.stdin.flush()
        supervisor.wait()  # it has forked, and its child is not ours
        return output, supervisor.stdin, supervisor.stdout

    @property
    def ended(self) -> bool:
        """Whether the command has ended and its output was read."""
        now = time.monotonic()
        if self._report is None:
            return self._reports.closed or now > self._give_up_at
        return (self._reports.closed and self._output.closed) or now > self._give_up_at

    def read(self, seconds: float) -> str:
        """Returns the output since the last call. Waits at most so long for it."""
        with self._lock:
            text = ""
            for pipe in _wait_for_data([pipe for pipe in (self._output, self._reports) if not pipe.closed], seconds):
                data = os.read(pipe.fileno(), 65536)
                if not data:
                    pipe.close()
                if pipe is self._output:
                    self._capture.add(data)
                    text = self._decoder.decode(data, final=not data)
                else:
                    self._receive_report(data)
            return text

    def _receive_report(self, data: bytes) -> None:
        self._received += data
        if self._report is None and self._received.endswith(b"\n"):
            self._report = json.loads(self._received)
            self._give_up_at = time.monotonic() + _CLEANING

    def result(self) -> Result:
        """Returns the result of a command that has ended. Raises CommandNotFound, CommandRefused or SandboxFailed."""
        with self._lock:
            self.close()
            name = self._command[0] if self._command else ""
            if self._report is None:
                self._clean_up()
                raise SandboxFailed(f"The supervisor of {name!r} was lost, so its result is not known.")
            report = self._report
            if "refused" in report:
                raise _make_refusal(name, report)
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
        """Kills the command with all its descendants. Returns the number of those killed and the pids of survivors."""
        with self._lock:
            _close(self._control)
            deadline = time.monotonic() + KILL_SECONDS + 1
            while self._report is None and not self._reports.closed and time.monotonic() < deadline:
                self.read(_STEP)
            self.close()
            if self._report is None:
                return self._clean_up()
            return self._report.get("killed", 0), self._report.get("survivors", [])

    def close(self) -> None:
        with self._lock:
            for pipe in self._pipes:
                _close(pipe)

    def _clean_up(self) -> tuple[int, list[int]]:
        """Does the work of a supervisor that was lost."""
        killed, survivors = kill_leftovers(self.workspace, KILL_SECONDS)
        self._remove_workspace()
        return killed, survivors

    def _remove_workspace(self) -> None:
        shutil.rmtree(self.workspace, ignore_errors=True)


def _wait_for_data(pipes: list[IO[bytes]], seconds: float) -> list[IO[bytes]]:
    poll = select.poll()  # select() takes no descriptors above 1023
    for pipe in pipes:
        poll.register(pipe, select.POLLIN)
    ready = {descriptor for descriptor, _ in poll.poll(seconds * 1000)}
    return [pipe for pipe in pipes if pipe.fileno() in ready]


def _close(pipe: IO[bytes]) -> None:
    with suppress(BrokenPipeError):
        pipe.close()


def _make_refusal(name: str, report: dict[str, Any]) -> Exception:
    if report["missing"]:
        return CommandNotFound(f"There is no command {name!r}, or its interpreter is missing.")
    if report["shortage"]:
        return SandboxFailed(f"{name!r} could not be started now: {report['refused']}")
    return CommandRefused(f"{name!r} cannot be started: {report['refused']}")
