"""Content stores keep the bytes of contents under their hash, so that the same bytes are stored once and never
change."""

import errno
import os
import re
import shutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Protocol

from state.disk import make_private, sync
from state.errors import ContentNotFound, ContentStoreFailed
from state.settings import get_settings

CHUNK = 256 * 1024
_SHA256 = re.compile(r"[0-9a-f]{64}")


class ContentStore(Protocol):
    """The interface of content stores. They raise ContentStoreFailed, and ContentNotFound for bytes that are not
    there."""

    def put(self, file: Path, sha256: str, media_type: str) -> None:
        """Publishes a complete file: readers find all of it or nothing. The file may be moved away or left."""

    def remove(self, sha256: str) -> None:
        """Removes the bytes, if they are there."""

    def exists(self, sha256: str) -> bool: ...
    def path(self, sha256: str) -> Path | None:
        """Returns the file with these bytes, or None if the store does not keep files on this host."""

    def stream(self, sha256: str, start: int = 0, length: int | None = None) -> Iterator[bytes]:
        """Yields the bytes, or a part of them. Errors are raised before this returns: an answer has not begun then."""


class FileStore:
    """Files in a folder, `ab/abcdef…`. All hosts must share the folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def put(self, file: Path, sha256: str, media_type: str) -> None:  # noqa: ARG002  (the row has it)
        final = self._path(sha256)
        try:
            make_private(self._folder)
            final.parent.mkdir(exist_ok=True)
            if final.exists() and final.stat().st_size == file.stat().st_size:
                return
            file.chmod(0o640)  # only the owner can read temporary files; the server may be another user of the group
            self._publish(file, final)
        except OSError as failed:
            raise ContentStoreFailed(f"Cannot store the content: {failed.strerror}") from failed

    def remove(self, sha256: str) -> None:
        try:
            self._path(sha256).unlink(missing_ok=True)
        except OSError as failed:
            raise ContentStoreFailed(f"Cannot remove the content: {failed.strerror}") from failed

    def exists(self, sha256: str) -> bool:
        return self._path(sha256).is_file()

    def path(self, sha256: str) -> Path | None:
        if not self.exists(sha256):
            raise ContentNotFound(sha256)
        return self._path(sha256)

    def stream(self, sha256: str, start: int = 0, length: int | None = None) -> Iterator[bytes]:
        try:
            source = self._path(sha256).open("rb")
        except FileNotFoundError:
            raise ContentNotFound(sha256) from None
        except OSError as failed:
            raise ContentStoreFailed(f"Cannot read the content: {failed.strerror}") from failed
        source.seek(start)
        return read_chunks(source, length)

    def _path(self, sha256: str) -> Path:
        return self._folder / make_key(sha256)

    def _publish(self, file: Path, final: Path) -> None:
        try:
            file.rename(final)
        except OSError as failed:
            if failed.errno != errno.EXDEV:  # the folder is a file system of its own
                raise
            copy = final.with_name(f".{file.name}")
            try:
                shutil.copyfile(file, copy)
                sync(copy)
                copy.rename(final)
            finally:
                copy.unlink(missing_ok=True)
        sync(final.parent)  # a row will name the file, which must be there after a power cut as well


class Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...
    def close(self) -> None: ...


def read_chunks(source: Readable, length: int | None) -> Iterator[bytes]:
    try:
        while length is None or length > 0:
            chunk = source.read(CHUNK if length is None else min(CHUNK, length))
            if not chunk:
                return
            length = None if length is None else length - len(chunk)
            yield chunk
    finally:
        source.close()


def make_key(sha256: str) -> str:
    """Returns the name of a content. Accepts only a hash, so that no path from outside can become a name."""
    if _SHA256.fullmatch(sha256) is None:
        raise ContentNotFound(sha256)
    return f"{sha256[:2]}/{sha256}"


def get_store() -> ContentStore:
    settings = get_settings()
    if settings.contents_url is None:
        return FileStore(settings.data_dir.absolute() / "contents")
    return _s3_store(settings.contents_url, settings.contents_endpoint, settings.contents_region)


@cache
def _s3_store(url: str, endpoint: str | None, region: str | None) -> ContentStore:
    """Returns the process's one client: it keeps its connections, and threads may share it."""
    from state.media.s3 import S3Store  # needs boto3, which is optional

    return S3Store(url, endpoint, region)


os.register_at_fork(after_in_child=_s3_store.cache_clear)
