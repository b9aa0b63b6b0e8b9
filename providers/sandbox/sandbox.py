"""A command in a sandbox, as the worker sees it. No call here takes long, so that an interrupt can be raised."""

import codecs
import json
import os
import select
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
from uuid import uuid4

from providers.sandbox.capture import Capture
from providers.sandbox.cgroups import MOUNT
from providers.sandbox.engines import ENGINES
from providers.sandbox.errors import CommandNotFound, CommandRefused, SandboxFailed
from providers.sandbox.folder import TEMPORARY
from providers.sandbox.kinds import Box
from providers.sandbox.leftovers import WORKSPACE, Remains, kill_leftovers
from providers.sandbox.limits import Limits
from providers.sandbox.processes import Process
from providers.sandbox.removal import remove_tree
from providers.sandbox.supervisor import KILL_SECONDS

_ROOT = Path(__file__).parents[2]
_PROCESS = Box()
_STEP = 0.05
_CLEANING = 5.0  # seconds that the supervisor has to remove the workspace, after its report
_LATE = 30.0  # seconds after the time limit, until a supervisor without a report is given up
_NAMES = {
    "memory": "more than {} bytes of memory",
    "processes": "more than {} processes and threads",
    "disk": "more than {} bytes on disk",
}


@dataclass(frozen=True, slots=True)
class Result:
    exit_code: int  # negative: the signal that ended it
    output: str  # stdout and stderr, in the order in which they were written
    truncated: bool
    timed_out: bool
    seconds: float
    kind: str = "process"
    limit: str | None = None  # that has ended it: time, memory, processes or disk


class Sandbox:
    """A command in a folder: a new one, which is removed at the end, or a given one. The supervisor is there at once;
    `begin` starts the command. Call `read` until `ended` is true, then `result`. `kill` can be called at any time, also
    from another thread."""

    def __init__(
        self,
        command: Sequence[str],
        limits: Limits,
        workspaces: Path,
        *,
        box: Box = _PROCESS,
        folder: str | None = None,
        name: str | None = None,
        groups: str | None = MOUNT,
    ) -> None:
        self._command = list(command)
        self._limits = limits
        self._box = box
        self._name = name or uuid4().hex
        self._groups = groups
        self._lock = threading.RLock()
        self._capture = Capture(limits.output)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._received = b""
        self._report: dict[str, Any] | None = None
        self._give_up_at = time.monotonic() + limits.seconds + _LATE
        self._keeps = folder is not None
        self._cleaned: tuple[int, list[Process]] | None = None
        self._pipes: list[IO[bytes]] = []
        if folder is None:
            workspaces.mkdir(parents=True, exist_ok=True)
            folder = tempfile.mkdtemp(prefix=WORKSPACE, dir=workspaces.resolve())
        with suppress(OSError):  # an earlier command in the same folder has made something else of it
            Path(folder, TEMPORARY).mkdir(exist_ok=True)
        self.workspace = folder
        try:
            self._output, self._control, self._reports = self._start()
            self.supervisor, self.groups = self._meet_supervisor()
        except BaseException:
            self.close()
            self._remove_workspace()
            raise

    @property
    def kind(self) -> str:
        return self._box.kind

    @property
    def container(self) -> str | None:
        return f"callboard-{self._name}" if self.kind in ENGINES else None

    def begin(self) -> None:
        with suppress(BrokenPipeError):  # it has ended, which `read` notices
            self._control.write(b"begin\n")
            self._control.flush()

    def _start(self) -> tuple[IO[bytes], IO[bytes], IO[bytes]]:
        environment = {  # nothing of the worker's, which contains secrets
            "PATH": os.environ.get("PATH", os.defpath),
            "LANG": os.environ.get("LANG", "C.UTF-8"),
            "HOME": self.workspace,
            "TMPDIR": str(Path(self.workspace, TEMPORARY)),
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
        made = self._box.make_order(self._command, self.workspace, self.container or self._name, self._limits)
        order = {
            "name": self._name,
            "limits": asdict(self._limits),
            "output": theirs,
            "keep": self._keeps,
            "groups": None if "container" in made else self._groups,
            "environment": made["container"]["environment"] if "container" in made else environment,
            **made,
        }
        with suppress(BrokenPipeError):
            supervisor.stdin.write(json.dumps(order).encode() + b"\n")
            supervisor.stdin.flush()
        supervisor.wait()  # it has forked, and its child is not ours
        return output, supervisor.stdin, supervisor.stdout

    def _meet_supervisor(self) -> tuple[Process, list[str]]:
        """Returns the supervisor's own process and its control groups."""
        received = b""
        while not received.endswith(b"\n"):
            if not _wait_for_data([self._reports], _LATE):
                raise SandboxFailed("The supervisor does not answer.")
            data = os.read(self._reports.fileno(), 65536)
            if not data:
                raise SandboxFailed("The supervisor could not be started.")
            received += data
        found = json.loads(received)
        return Process(found["pid"], found["start_ticks"]), found["groups"]

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
            if failure := self._box.read_failure(name, report["exit_code"], output):
                raise failure
            limit = report["limit"]
            if limit and limit != "time":
                output += f"\n… ({_NAMES[limit].format(getattr(self._limits, limit))}: all processes were killed) …\n"
            return Result(
                exit_code=_to_exit_code(report["exit_code"], self.container),
                output=output,
                truncated=self._capture.truncated,
                timed_out=limit == "time",
                seconds=report["seconds"],
                kind=self.kind,
                limit=limit or None,
            )

    def kill(self) -> tuple[int, list[Process]]:
        """Kills the command with all its descendants. Returns the number of those killed, and survivors."""
        with self._lock:
            _close(self._control)
            deadline = time.monotonic() + KILL_SECONDS + 1
            while self._report is None and not self._reports.closed and time.monotonic() < deadline:
                self.read(_STEP)
            self.close()
            if self._report is None:
                return self._clean_up()
            return self._report.get("killed", 0), [Process(*each) for each in self._report.get("survivors", [])]

    def close(self) -> None:
        with self._lock:
            for pipe in self._pipes:
                _close(pipe)

    def _clean_up(self) -> tuple[int, list[Process]]:
        """Does the work of a supervisor that was lost, or has never begun."""
        if self._cleaned is None:
            remains = Remains(self.supervisor, self.workspace, self.kind, self.container, self.groups)
            self._cleaned = kill_leftovers(remains, KILL_SECONDS)
            self._remove_workspace()
        return self._cleaned

    def _remove_workspace(self) -> None:
        if not self._keeps:
            remove_tree(self.workspace)


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


def _to_exit_code(code: int, container: str | None) -> int:
    """An engine's client exits with 128 and the number of the signal that has ended the command."""
    return 128 - code if container is not None and 128 < code < 160 else code
