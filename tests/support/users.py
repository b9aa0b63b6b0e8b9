"""Processes of another user, for tests that root runs."""

import os
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import psycopg
import pytest

_ROOT = Path(__file__).parents[2]
NOBODY = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "--"]
_TRY = "import subprocess, sys; sys.exit(subprocess.run([sys.executable, '-c', 'import dramatiq']).returncode)"


@cache
def find_python() -> list[str] | None:
    """Returns the command of a Python that nobody can use, with our packages. This one may be in somebody's home; then
    the system's does if it has the same version."""
    packages = f"PYTHONPATH={_ROOT}:{sysconfig.get_path('purelib')}"
    for path in (sys.executable, f"/usr/bin/python{sys.version_info.major}.{sys.version_info.minor}"):
        command = ["env", packages, path]
        if Path(path).exists() and _works([*NOBODY, *command, "-c", _TRY]):
            return command
    return None


def _works(command: list[str]) -> bool:
    return os.geteuid() == 0 and subprocess.run(command, capture_output=True, check=False).returncode == 0


needs_nobody = pytest.mark.skipif(
    find_python() is None, reason="the tests are not root's, or there is no Python that another user can use"
)


def as_nobody() -> list[str]:
    """Returns the command that runs another one with nobody's Python instead of this one, its first argument."""
    return [*NOBODY, "sh", "-c", f'shift; exec {" ".join(find_python() or [])} "$@"', "sh"]


@contextmanager
def nobodys_data_dir(database_url: str) -> Iterator[Path]:
    """Gives nobody a data directory, and the way to the database's socket. Not in pytest's own folder: each start of
    pytest closes that to all others."""
    info = psycopg.conninfo.conninfo_to_dict(database_url)
    socket = Path(str(info["host"]), f".s.PGSQL.{info['port']}")
    modes = {path: path.stat().st_mode for path in (socket, *socket.parents)}
    for path, mode in modes.items():
        path.chmod(mode | (0o006 if path == socket else 0o001))
    try:
        with tempfile.TemporaryDirectory() as folder:
            os.chown(folder, 65534, 65534)
            yield Path(folder)
    finally:
        for path, mode in modes.items():
            path.chmod(mode)
