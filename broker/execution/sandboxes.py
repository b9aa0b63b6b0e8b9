"""The sandboxes in which a task runs programs; they end with the task. Each has a row, so that every process can find
it. What makes sandboxes is set from outside, because broker/ imports nothing of providers/."""

import threading
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, Protocol

from broker.execution.execution import Execution
from broker.execution.interrupts import Stopped
from broker.execution.output_events import OutputEvents
from broker.execution.workspace import Folder, Workspace
from state.sandboxes import OpenSandbox, close_sandbox, open_sandbox
from state.tasks.ids import new_sandbox_id

if TYPE_CHECKING:
    from broker.context import Context

_STEP = 0.1  # seconds that an interrupt may have to wait


class SandboxResult(Protocol):
    @property
    def exit_code(self) -> int: ...
    @property
    def output(self) -> str: ...
    @property
    def truncated(self) -> bool: ...
    @property
    def timed_out(self) -> bool: ...
    @property
    def seconds(self) -> float: ...
    @property
    def kind(self) -> str: ...
    @property
    def limit(self) -> str | None: ...


class Process(Protocol):
    @property
    def pid(self) -> int: ...
    @property
    def start_ticks(self) -> int | None: ...


class Sandbox(Protocol):
    """A command whose supervisor runs. `begin` starts it."""

    workspace: str
    groups: list[str]

    @property
    def supervisor(self) -> Process: ...
    @property
    def kind(self) -> str: ...
    @property
    def container(self) -> str | None: ...
    @property
    def ended(self) -> bool: ...
    def begin(self) -> None: ...
    def read(self, seconds: float) -> str: ...
    def result(self) -> SandboxResult: ...
    def kill(self) -> tuple[int, Sequence[Process]]: ...


class SandboxProvider(Protocol):
    def start(
        self, command: Sequence[str], *, name: str, seconds: float, folder: str | None, **limits: int
    ) -> Sandbox: ...
    def open_folder(self) -> Folder: ...
    def kill_leftovers(self, sandbox: OpenSandbox) -> tuple[int, Sequence[Process]]: ...
    def remove_left_folders(self) -> None: ...


_provider: SandboxProvider | None = None


def set_provider(provider: SandboxProvider | None) -> None:
    global _provider
    _provider = provider


def get_provider() -> SandboxProvider:
    if _provider is None:
        raise RuntimeError("No sandboxes here: broker.execution.sandboxes.set_provider was not called.")
    return _provider


def has_provider() -> bool:
    return _provider is not None


class OpenedSandbox(NamedTuple):
    id: str
    sandbox: Sandbox


class Sandboxes:
    """The sandboxes and workspaces of one task."""

    def __init__(self, ctx: "Context", execution: Execution) -> None:
        self._ctx = ctx
        self._execution = execution
        self._open: list[OpenedSandbox] = []
        self._workspaces: list[Workspace] = []
        self._closing = threading.RLock()

    def run(
        self,
        command: Sequence[str],
        seconds: float,
        limits: dict[str, int],
        folder: str | None = None,
        stopping: threading.Event | None = None,
    ) -> SandboxResult:
        """`stopping` ends the program from another thread."""
        provider = get_provider()
        output = OutputEvents(self._ctx)
        opened: OpenedSandbox | None = None
        try:
            with self._ctx.shielded():
                name = new_sandbox_id()
                opened = OpenedSandbox(
                    name, provider.start(command, name=name, seconds=seconds, folder=folder, **limits)
                )
                self._open.append(opened)
                self._write_row(opened)
                opened.sandbox.begin()
            sandbox = opened.sandbox
            while True:
                self._raise_if_stopped(stopping)
                with self._ctx.shielded():
                    output.add(sandbox.read(_STEP))
                    if sandbox.ended:
                        return sandbox.result()
        finally:
            with self._ctx.shielded():
                if opened is not None:
                    self._close(opened)
                output.finish()

    def open_workspace(self, stopping: threading.Event | None) -> Workspace:
        run = partial(self.run, stopping=stopping)
        workspace = Workspace(get_provider().open_folder(), run, self._ctx.shielded)
        self._workspaces.append(workspace)
        return workspace

    def _raise_if_stopped(self, stopping: threading.Event | None) -> None:
        """Raises the interrupt in threads that the actor has started: only its first thread is interrupted from
        outside."""
        if stopping is not None and stopping.is_set():
            raise Stopped
        if self._execution.stop is not None and not self._execution.code.runs_here():
            raise self._execution.stop

    def close_all(self) -> None:
        """Closes what an interrupt, or another thread of the task, has left open."""
        with self._closing:
            try:
                for opened in list(self._open):
                    self._close(opened)
            finally:
                for workspace in self._workspaces:
                    workspace.close()

    def _close(self, opened: OpenedSandbox) -> None:
        with self._closing:  # a second thread waits until the first one is done
            if opened not in self._open:
                return
            self._open.remove(opened)
            had_ended = opened.sandbox.ended
            killed, survivors = opened.sandbox.kill()
            self._end_row(opened.id, killed, survivors)
            if had_ended and not survivors:
                return
            pids = [process.pid for process in survivors]
            self._ctx.log.info("sandbox killed", sandbox=opened.id, killed=killed, survivors=pids)
            if self._ctx.request is not None:
                self._ctx.receipt("sandbox killed", killed=killed, survivors=pids)

    # Rows. A run of an actor without a database has none.

    def _write_row(self, opened: OpenedSandbox) -> None:
        sandbox = opened.sandbox
        open_sandbox(
            opened.id,
            task_id=self._ctx.task_id,
            epoch=self._ctx.epoch,
            worker=self._ctx.worker,
            kind=sandbox.kind,
            pid=sandbox.supervisor.pid,
            start_ticks=sandbox.supervisor.start_ticks,
            workspace=sandbox.workspace,
            container=sandbox.container,
            groups=sandbox.groups,
        )

    def _end_row(self, sandbox_id: str, killed: int, survivors: Sequence[Process]) -> None:
        """If it fails, the row stays: the leftovers of this host are looked for by all its workers."""
        try:
            close_sandbox(sandbox_id, killed, [(process.pid, process.start_ticks) for process in survivors])
        except Exception:
            self._ctx.log.exception("the end of a sandbox was not written", sandbox=sandbox_id)
