"""Contents: each has a row in Postgres, and its bytes in the content store."""

import hashlib
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from state.access.caller import SYSTEM, Caller
from state.database import Row, fetch, fetch_one, retrying
from state.disk import make_private
from state.errors import ContentNotFound, ContentStoreFailed
from state.media.stores import get_store
from state.settings import get_settings

_ABANDONED_SECONDS = 24 * 3600  # longer than any execution


@dataclass(frozen=True, slots=True)
class StoredBytes:
    sha256: str
    size: int
    media_type: str


def store_file(file: Path, sha256: str, size: int, media_type: str) -> StoredBytes:
    """Publishes a complete file whose hash is known. Storing the same bytes again changes nothing."""
    _note_bytes(sha256)
    get_store().put(file, sha256, media_type)
    return StoredBytes(sha256, size, media_type)


@retrying
def _note_bytes(sha256: str) -> None:
    """Says that they will be stored: bytes that do not become a content are removed after a while."""
    fetch("bytes_note", {"sha256": sha256})


def store_bytes(data: bytes, media_type: str, folder: Path) -> StoredBytes:
    """As `store_file`, for bytes: writes them into a file in the given folder, which the caller removes."""
    file = folder / uuid4().hex
    try:
        with file.open("xb") as out:
            out.write(data)
            out.flush()
            os.fsync(out.fileno())
    except OSError as failed:
        raise ContentStoreFailed(f"Cannot store the content: {failed.strerror}") from failed
    return store_file(file, hashlib.sha256(data).hexdigest(), len(data), media_type)


@retrying
def get_content(content_id: str, *, caller: Caller = SYSTEM) -> Row:
    """Returns the row, with the tenant of the task that made the content. `get_store()` has the bytes, by the
    sha256. The same bytes may belong to contents of several tenants: each has an id of its own."""
    row = fetch_one("content", {"id": content_id, "scope": caller.tenant})
    if row is None:
        raise ContentNotFound(content_id)
    return row


def read_content(row: Row) -> bytes:
    return b"".join(get_store().stream(row["sha256"]))


@contextmanager
def scratch_folder(task_id: str, epoch: int) -> Iterator[Path]:
    """A folder for the unfinished files of one execution, removed when that ends. The folder of a killed execution is
    removed by the next execution of its task, or after a day by any other."""
    parent = get_settings().data_dir.absolute() / "tmp"
    folder = parent / f"{task_id}.{epoch}"
    try:
        make_private(parent)
        folder.mkdir(exist_ok=True)
        _remove_abandoned(parent, task_id, epoch)
    except OSError as failed:
        raise ContentStoreFailed(f"Cannot work in {parent}: {failed.strerror}") from failed
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _remove_abandoned(parent: Path, task_id: str, epoch: int) -> None:
    for other in parent.iterdir():
        task, _, number = other.name.partition(".")
        if not number.isdigit():
            continue
        try:
            old = time.time() - other.stat().st_mtime > _ABANDONED_SECONDS
        except FileNotFoundError:
            continue
        if old or (task == task_id and int(number) < epoch):
            shutil.rmtree(other, ignore_errors=True)
