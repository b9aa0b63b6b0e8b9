"""A folder for several commands of one task."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from types import TracebackType
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from broker.execution.sandboxes import SandboxResult


class Folder(Protocol):
    @property
    def path(self) -> str: ...
    def write(self, path: str, data: bytes) -> None: ...
    def read(self, path: str) -> bytes: ...
    def size(self, path: str) -> int: ...
    def list(self) -> list[str]: ...
    def remove(self) -> None: ...


class Run(Protocol):
    def __call__(
        self, command: Sequence[str], seconds: float, limits: dict[str, int], folder: str | None
    ) -> "SandboxResult": ...


class Workspace:
    """`with ctx.workspace() as workspace:` what one command writes, the next one finds. The folder is removed at the
    end. Paths are relative to it; a path that leaves it (.., an absolute one, a symbolic link) raises ValueError."""

    def __init__(self, folder: Folder, run: Run, shielded: Callable[[], AbstractContextManager[object]]) -> None:
        self._folder = folder
        self._run = run
        self._shielded = shielded
        self._closed = False

    def __enter__(self) -> "Workspace":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        with self._shielded():
            self.close()

    def write(self, path: str, data: bytes) -> None:
        """Writes a file, and makes the folders above it. Raises ValueError if it does not fit any more."""
        with self._shielded():
            self._require_open().write(path, data)

    def read(self, path: str) -> bytes:
        """Raises FileNotFoundError if there is no such file, ValueError if it is too large."""
        with self._shielded():
            return self._require_open().read(path)

    def size(self, path: str) -> int:
        """Returns the bytes of a file."""
        with self._shielded():
            return self._require_open().size(path)

    def list(self) -> "list[str]":
        """Returns the paths of all files, in order."""
        with self._shielded():
            return self._require_open().list()

    def run(self, command: Sequence[str], timeout_seconds: float = 60, **limits: int) -> "SandboxResult":
        """Runs a program in the folder, as ctx.sandbox does."""
        return self._run(command, timeout_seconds, limits, self._require_open().path)

    def close(self) -> None:
        """Removes the folder. Repeating it is harmless."""
        if not self._closed:
            self._closed = True
            self._folder.remove()

    def _require_open(self) -> Folder:
        if self._closed:
            raise ValueError("The workspace is closed.")
        return self._folder
