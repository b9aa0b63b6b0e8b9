"""The folder of a task's commands. Commands may leave anything in it, so no path is followed out of it: every part of a
path is opened below the one before, and never through a symbolic link.

The process that made a folder holds a lock on it. The lock ends with the process, so a folder that can be locked by
another one is left over."""

import errno
import fcntl
import os
import stat
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from uuid import uuid4

from providers.sandbox.disk import measure
from providers.sandbox.removal import remove_tree

TEMPORARY = ".tmp"  # for the temporary files of commands
_PREFIX = "folder-"
_MOST_FILES = 10_000  # in a listing
_DEEPEST = 100  # folders below each other in a listing: each is open meanwhile
_MOST_BYTES = 16 * 1024 * 1024  # of a file that is read
_NO_LINK = os.O_NOFOLLOW | os.O_CLOEXEC
_LINKS = (errno.ELOOP, errno.ENOTDIR, errno.EMLINK)


class Folder:
    def __init__(self, workspaces: Path, size: int) -> None:
        workspaces.mkdir(parents=True, exist_ok=True)
        made = tempfile.mkdtemp(prefix="new-", dir=workspaces.resolve())
        self._size = size
        self._root = os.open(made, os.O_RDONLY | os.O_DIRECTORY | _NO_LINK)
        fcntl.flock(self._root, fcntl.LOCK_EX)
        self.path = str(Path(made).with_name(_PREFIX + uuid4().hex))  # only now may others look for its lock
        Path(made).rename(self.path)
        Path(self.path, TEMPORARY).mkdir()

    def write(self, path: str, data: bytes) -> None:
        """Writes a file, with the folders above it. It replaces a file of that name as a whole."""
        *folders, name = _split(path)
        used = measure(self.path, self._size)
        if used + len(data) > self._size:
            raise ValueError(f"{path!r} does not fit: {used} of {self._size} bytes are in use.")
        with self._opened(path, folders, create=True) as folder:
            if _is_link(name, folder):
                raise ValueError(f"{path!r} is a symbolic link.")
            temporary = f".{uuid4().hex}"
            file = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_LINK, 0o666, dir_fd=folder)
            try:
                with os.fdopen(file, "wb") as opened:
                    opened.write(data)
                os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
            except BaseException:
                with suppress(OSError):
                    os.unlink(temporary, dir_fd=folder)
                raise

    def read(self, path: str) -> bytes:
        """Raises FileNotFoundError if there is no such file."""
        with os.fdopen(self._open_file(path), "rb") as opened:
            data = opened.read(_MOST_BYTES + 1)
        if len(data) > _MOST_BYTES:
            raise ValueError(f"{path!r} has more than {_MOST_BYTES} bytes.")
        return data

    def size(self, path: str) -> int:
        file = self._open_file(path)
        try:
            return os.fstat(file).st_size
        finally:
            os.close(file)

    def list(self) -> list[str]:
        """Returns the paths of the files, without those for temporary files. Links are not listed. Raises ValueError if
        there are too many, or folders too deep."""
        found: list[str] = []
        for folder, names, files, descriptor in os.fwalk(dir_fd=self._root, follow_symlinks=False):
            if folder.count(os.sep) > _DEEPEST:
                raise ValueError(f"There are more than {_DEEPEST} folders below each other.")
            if folder == "." and TEMPORARY in names:
                names.remove(TEMPORARY)
            for name in files:
                with suppress(OSError):
                    if stat.S_ISREG(os.stat(name, dir_fd=descriptor, follow_symlinks=False).st_mode):
                        found.append(os.path.normpath(os.path.join(folder, name)))  # noqa: PTH118
            if len(found) > _MOST_FILES:
                raise ValueError(f"There are more than {_MOST_FILES} files.")
        return sorted(found)

    def remove(self) -> None:
        remove_tree(self.path)
        with suppress(OSError):  # a second call
            os.close(self._root)

    def _open_file(self, path: str) -> int:
        *folders, name = _split(path)
        with self._opened(path, folders) as folder:
            try:  # without O_NONBLOCK a named pipe would keep us waiting
                file = os.open(name, os.O_RDONLY | os.O_NONBLOCK | _NO_LINK, dir_fd=folder)
            except OSError as refused:
                raise _explain(path, refused) from None
        if not stat.S_ISREG(os.fstat(file).st_mode):
            os.close(file)
            raise ValueError(f"{path!r} is no file.")
        return file

    @contextmanager
    def _opened(self, path: str, folders: Sequence[str], *, create: bool = False) -> Iterator[int]:
        """Opens the last of the folders, each one below the one before."""
        current = os.dup(self._root)
        try:
            for name in folders:
                if create:
                    with suppress(FileExistsError):
                        os.mkdir(name, dir_fd=current)
                try:
                    below = os.open(name, os.O_RDONLY | os.O_DIRECTORY | _NO_LINK, dir_fd=current)
                except OSError as refused:
                    raise _explain(path, refused) from None
                os.close(current)
                current = below
            yield current
        finally:
            os.close(current)


def remove_left_folders(workspaces: Path) -> None:
    """Removes the folders whose process has died."""
    for path in workspaces.resolve().glob(_PREFIX + "*"):
        with suppress(OSError):
            opened = os.open(path, os.O_RDONLY | os.O_DIRECTORY | _NO_LINK)
            try:
                fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
                remove_tree(str(path))
            finally:
                os.close(opened)


def _split(path: str) -> tuple[str, ...]:
    """Returns the names of a path. Raises ValueError if the path leads out of the folder."""
    parts = PurePosixPath(path).parts
    if not parts or path.startswith("/") or ".." in parts or "\0" in path:
        raise ValueError(f"{path!r} is no path inside the workspace.")
    return parts


def _is_link(name: str, folder: int) -> bool:
    try:
        return stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    except FileNotFoundError:
        return False


def _explain(path: str, refused: OSError) -> Exception:
    if refused.errno in _LINKS:
        return ValueError(f"{path!r} leads through a symbolic link, or a file that is no folder.")
    return FileNotFoundError(refused.errno, f"There is no {path!r}.") if refused.errno == errno.ENOENT else refused
