"""Files that are still there after a power cut, and that other users of the machine cannot read."""

import os
import stat
from contextlib import suppress
from pathlib import Path


def sync(path: Path) -> None:
    """Waits until a file, or the names in a folder, are on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def make_private(folder: Path) -> None:
    """Creates a folder that only its user and group can enter, with those above it, or takes everybody else's rights to
    one that exists. A folder of another user, or one that everybody may write to (such as /tmp), stays as it is."""
    if not folder.parent.exists():
        make_private(folder.parent)
    folder.mkdir(mode=0o750, exist_ok=True)
    mode = stat.S_IMODE(folder.stat().st_mode)
    if mode & stat.S_IRWXO and not mode & stat.S_ISVTX:
        with suppress(PermissionError):
            folder.chmod(mode & ~stat.S_IRWXO)
