"""The files of a workspace over attempts. A workspace ends with its attempt, so its files are kept in the checkpoint,
up to a limit: the largest are left out first. Only regular files are kept, without their modes."""

import base64
from collections.abc import Iterator, Mapping

from pydantic import BaseModel

from broker.execution.workspace import Workspace
from state import jsonsafe

MAX_KEPT = 1024 * 1024  # bytes of all kept files together, as they are stored
MAX_FILES = 1000
_MAX_SHOWN = 2000  # bytes of a file whose text is part of the result
_MAX_SHOWN_TOGETHER = 100_000


class KeptFiles(BaseModel):
    """The files of a workspace at one moment. A file is its text, or base64 of what is not text."""

    texts: dict[str, str] = {}
    binaries: dict[str, str] = {}
    left_out: list[str] = []  # paths, or the reason why nothing is kept

    def restore(self, workspace: Workspace) -> None:
        for path, text in self.texts.items():
            workspace.write(path, text.encode())
        for path, data in self.binaries.items():
            workspace.write(path, base64.b64decode(data))


class ResultFile(BaseModel):
    size: int
    text: str | None = None  # of short files


def write_files(workspace: Workspace, files: Mapping[str, str]) -> None:
    for path, text in files.items():
        workspace.write(path, text.encode())


def keep_files(workspace: Workspace) -> KeptFiles:
    """Returns the files that fit, smallest first."""
    kept = KeptFiles()
    room = MAX_KEPT
    try:
        found = sorted((size, path) for path, size in _measure(workspace))
    except ValueError as too_many:
        return KeptFiles(left_out=[str(too_many)])
    for size, path in found:
        content = None
        if size <= room and len(kept.texts) + len(kept.binaries) < MAX_FILES:
            content = _read(workspace, path)
        stored = MAX_KEPT + 1 if content is None else len(path.encode()) + len(content[1].encode())
        if content is None or stored > room:
            kept.left_out.append(path)
            continue
        room -= stored
        is_text, text = content
        (kept.texts if is_text else kept.binaries)[path] = text
    kept.left_out = sorted(kept.left_out)[:MAX_FILES]
    return kept


def describe_files(workspace: Workspace) -> dict[str, ResultFile]:
    """Returns the sizes of the files, and the texts of short ones, as they are shown in a result."""
    described: dict[str, ResultFile] = {}
    room = _MAX_SHOWN_TOGETHER
    try:
        found = list(_measure(workspace))[:MAX_FILES]
    except ValueError:  # far more than that
        return {}
    for path, size in found:
        described[path] = ResultFile(size=size)
        content = _read(workspace, path) if size <= min(_MAX_SHOWN, room) else None
        if content is not None and content[0]:
            described[path].text = content[1]
            room -= size
    return described


def _measure(workspace: Workspace) -> Iterator[tuple[str, int]]:
    """Yields path and size of each file, sorted by path. Raises ValueError if there are too many."""
    for path in workspace.list():
        try:
            jsonsafe.check(path)
            yield path, workspace.size(path)
        except (OSError, ValueError):
            continue  # gone meanwhile, or its name is no text, so that nobody could ask for it


def _read(workspace: Workspace, path: str) -> tuple[bool, str] | None:
    """Returns the content, and whether it is text; None if it cannot be read."""
    try:
        data = workspace.read(path)
    except (OSError, ValueError):
        return None
    if b"\x00" not in data:
        try:
            return True, data.decode()
        except UnicodeDecodeError:
            pass
    return False, base64.b64encode(data).decode()
