"""The folder of the embedded Postgres's socket: only its owner and root can reach it.

Not in XDG_RUNTIME_DIR: that is removed when the user logs out, and the server runs on."""

import hashlib
import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

from state.database.embedded.account import Account

_PARENT = Path("/tmp")  # noqa: S108  (short, and what is created there is checked)
_LONGEST_ADDRESS = 103  # bytes, of macOS; Linux takes 107
_LONGEST_NAME = "/.s.PGSQL.65535"


def make_socket_folder(data: Path, account: Account) -> Path:
    """Returns the data folder itself, which other containers on the same volume see as well; or, if its path is too
    long for the address of a socket, a private folder with a short path."""
    if len(os.fsencode(data)) + len(_LONGEST_NAME) <= _LONGEST_ADDRESS:
        return data
    # With its inode: when a server ends whose data folder was deleted, it removes its own socket, not that of the next.
    identity = f"{data}-{data.stat().st_ino}"
    name = f"callboard-{account.uid}-{hashlib.sha256(identity.encode()).hexdigest()[:12]}"
    folder = _PARENT / name
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    if not _take(folder, account):  # another user has a folder of this name
        folder = Path(tempfile.mkdtemp(prefix=f"{name}-", dir=_PARENT))
        _take(folder, account)
    return folder


def _take(folder: Path, account: Account) -> bool:
    """Returns False for a link, and for a folder of another user."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        owner = os.fstat(descriptor).st_uid
        if owner not in (account.uid, os.geteuid()):
            return False
        if owner != account.uid:
            os.fchown(descriptor, account.uid, account.gid)
        os.fchmod(descriptor, 0o700)
    finally:
        os.close(descriptor)
    return True


def remove_socket_folder(folder: Path) -> None:
    """Called when the server has stopped; nothing else is in the folder."""
    if folder.parent == _PARENT:
        folder.rmdir()


def is_private(folder: Path, uid: int) -> bool:
    """Returns False for a folder in which another user could have put a socket."""
    found = folder.lstat()
    return stat.S_ISDIR(found.st_mode) and found.st_uid == uid and not found.st_mode & 0o077
