"""The embedded Postgres of `callboard up`: restarted when it has died."""

import time
from pathlib import Path

from state.database import close_database, connect
from state.database.embedded import PostgresServer

_RETRY_SECONDS = 2.0  # the processes of a killed server need a moment to end


class EmbeddedPostgres:
    def __init__(self, data_dir: Path) -> None:
        self.folder = data_dir / "postgres"
        self._server = PostgresServer(self.folder)
        self._next_try = 0.0

    @property
    def alive(self) -> bool:
        return self._server.is_running()

    def restart_if_ended(self) -> str | None:
        """Restarts the server if it has died. Returns a message if it tried to."""
        if self.alive or time.monotonic() < self._next_try:
            return None
        self._next_try = time.monotonic() + _RETRY_SECONDS
        try:
            close_database()
            connect("up").close()  # starts the embedded server
        except Exception as failure:  # any error of the server or the driver: the next try may succeed
            return f"had ended, and does not start yet ({failure})"
        return "had ended, and has been started again"
