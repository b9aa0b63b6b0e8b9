"""Use of the embedded Postgres by a process: the first one starts it, the last one stops it."""

import atexit
import threading
from pathlib import Path

from state.database.embedded.filelock import FileLock, wait_until
from state.database.embedded.server import PostgresServer
from state.disk import make_private
from state.errors import NotReady

_WAIT = 300.0  # seconds: another process starts the server, perhaps after a crash, or stops it
_used: "set[EmbeddedPostgres]" = set()


class EmbeddedPostgres:
    def __init__(self, data_dir: Path, role: str = "callboard_owner") -> None:
        self._data_dir = data_dir
        self._role = role
        self._server = PostgresServer(data_dir / "postgres")
        self._users: FileLock | None = None
        self._url = ""
        self._starting = threading.Lock()

    def url(self) -> str:
        """Starts the server unless it runs already, and returns its address for the role."""
        with self._starting:
            if self._users is None or self._users.closed:  # closed: inherited by a forked child
                self._enter()
            return self._url

    def _enter(self) -> None:
        try:
            make_private(self._data_dir)
            users = self._users = FileLock(self._data_dir / "postgres.users")
            self._share(users)
            self._url = self._server.start(lambda: self._is_alone(users)).url(self._role)
            self._share(users)
        except OSError as failure:
            self._leave()
            raise NotReady(f"The embedded Postgres cannot be used: {failure}") from failure
        except BaseException:
            self._leave()
            raise
        _used.add(self)

    def _is_alone(self, users: FileLock) -> bool:
        """If it returns True, no other process can use the server until this one shares the lock again."""
        if users.try_exclusive():
            return True
        self._share(users)
        return False

    def _share(self, users: FileLock) -> None:
        if not wait_until(users.try_shared, _WAIT):
            raise NotReady(f"The embedded Postgres in {self._data_dir} is held by a process that starts or stops it.")

    def release(self) -> None:
        """Ends this process's use of the server."""
        with self._starting:
            self._leave()

    def _leave(self) -> None:
        users, self._users = self._users, None
        _used.discard(self)
        if users is None or users.closed:
            return
        try:
            if users.try_exclusive():
                self._server.stop()
        finally:
            users.close()


def _release_all() -> None:
    for each in list(_used):
        each.release()


atexit.register(_release_all)
