"""The embedded Postgres while `callboard up` runs: seen to be alive, and started again when it is not."""

import time
from pathlib import Path

from state.database.embedded import PostgresServer
from state.database.pool import close_database, get_database

_WAIT = 2.0  # seconds between two tries: what is left of the old server needs a moment to end


class EmbeddedServer:
    def __init__(self, data_dir: Path) -> None:
        self.folder = data_dir / "postgres"
        self._server = PostgresServer(self.folder)
        self._next_try = 0.0

    @property
    def alive(self) -> bool:
        return self._server.is_running()

    def tend(self) -> str | None:
        """Starts the server again when it has died; says so when there is something to say."""
        if self.alive or time.monotonic() < self._next_try:
            return None
        self._next_try = time.monotonic() + _WAIT
        try:
            close_database()
            get_database().connect("up").close()
        except Exception as failure:  # whatever the server or the driver make of it
            return f"was gone, and does not start yet ({failure})"
        return "was gone, and has been started again"
