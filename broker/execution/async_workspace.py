"""`async with ctx.workspace() as workspace:` the workspace of a coroutine."""

import threading
from collections.abc import Callable, Sequence
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, TypeVar

from broker.execution.offload import Offload, run_in
from broker.execution.sandboxes import SandboxResult
from broker.execution.workspace import Workspace

if TYPE_CHECKING:
    from broker.context import Context

_T = TypeVar("_T")


class AsyncWorkspace:
    def __init__(self, context: "Context", offload: Offload) -> None:
        self._context = context
        self._offload = offload
        self._stopping = threading.Event()

    async def __aenter__(self) -> "AsyncWorkspace":
        self._workspace = await run_in(self._offload.programs, partial(self._context.workspace, self._stopping))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.call(Workspace.close)

    async def write(self, path: str, data: bytes) -> None:
        await self.call(lambda workspace: workspace.write(path, data))

    async def read(self, path: str) -> bytes:
        return await self.call(lambda workspace: workspace.read(path))

    async def size(self, path: str) -> int:
        return await self.call(lambda workspace: workspace.size(path))

    async def list(self) -> list[str]:
        return await self.call(lambda workspace: workspace.list())

    async def run(self, command: Sequence[str], timeout_seconds: float = 60, **limits: int) -> SandboxResult:
        """If it is canceled, the program is killed."""
        return await self.call(lambda workspace: workspace.run(command, timeout_seconds, **limits))

    async def call(self, function: Callable[[Workspace], _T]) -> _T:
        """Calls a function with the workspace in a thread. If it is canceled, the program that it runs is killed."""
        try:
            return await run_in(self._offload.programs, partial(function, self._workspace), self._stopping.set)
        finally:
            self._stopping.clear()
