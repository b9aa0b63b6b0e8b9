"""The tests' own PostgreSQL, which they may restart."""

import subprocess
from pathlib import Path
from typing import Any

import psycopg

from state.embedded import server_class


class TestPostgres:
    __test__ = False

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "data"
        self._folder.mkdir()
        self._server: Any = server_class()(self._folder, cleanup_mode=None)

    def start(self) -> None:
        self._server.ensure_pgdata_inited()
        with (self._folder / "postgresql.conf").open("a") as config:
            config.write("\nmax_connections = 300\nfsync = off\n")  # tests do not survive a power cut either
            config.write("log_line_prefix = 'cb|%d|%a|'\n")
        self._server.start()

    def stop(self) -> None:
        self.control("-m", "immediate", "stop")  # by its folder: after a restart it is another process

    def control(self, *arguments: str) -> None:
        """pg_ctl, as the user that Postgres runs as."""
        command = [str(self._server.bin_path / "pg_ctl"), "-D", str(self._folder), "-w", *arguments]
        subprocess.run(command, check=True, user=self._server.system_user, timeout=60, stdout=subprocess.DEVNULL)

    def restart(self, mode: str = "fast") -> None:
        self.control("-m", mode, "-l", str(self._folder / "log"), "restart")

    def log_size(self) -> int:
        return (self._folder / "log").stat().st_size

    def log_since(self, position: int) -> str:
        with (self._folder / "log").open("rb") as log:
            log.seek(position)
            return log.read().decode(errors="replace")

    def url(self, database: str = "postgres") -> str:
        return str(self._server.get_uri(database=database))

    def execute(self, text: str) -> None:
        with psycopg.connect(self.url(), autocommit=True) as connection:
            connection.execute(text)  # type: ignore[arg-type]
