"""The tests' own PostgreSQL, which they may restart."""

import signal
from pathlib import Path

import psycopg

from state.database.embedded import PostgresServer

_MODES = {"fast": signal.SIGINT, "immediate": signal.SIGQUIT}


class TestPostgres:
    __test__ = False

    def __init__(self, folder: Path, *settings: str) -> None:
        """`settings`: further lines of its configuration."""
        self._server = PostgresServer(folder / "data")
        self._settings = settings
        self._url = ""

    def start(self) -> None:
        self._server.initialize()
        rules = self._server.data / "tests_hba.conf"
        with (self._server.data / "postgresql.conf").open("a") as config:
            config.write("\nmax_connections = 300\nfsync = off\n")  # tests do not survive a power cut either
            config.write("log_line_prefix = 'cb|%d|%a|'\n")
            config.writelines(f"{line}\n" for line in self._settings)
            config.write(f"hba_file = '{rules}'\n")  # tests are the superuser
        rules.write_text("local all all trust\n")
        rules.chmod(0o644)  # Postgres may be another user
        self.start_again()

    def start_again(self) -> None:
        self._url = self._server.start(is_unused=lambda: True).url("postgres", "{database}")

    def stop(self, mode: str = "immediate") -> None:
        self._server.stop(_MODES[mode])

    def restart(self, mode: str = "fast") -> None:
        self.stop(mode)
        self.start_again()

    def log_size(self) -> int:
        return self._server.log.stat().st_size

    def log_since(self, position: int) -> str:
        with self._server.log.open("rb") as log:
            log.seek(position)
            return log.read().decode(errors="replace")

    def url(self, database: str = "postgres") -> str:
        return self._url.format(database=database)

    def execute(self, text: str) -> None:
        with psycopg.connect(self.url(), autocommit=True) as connection:
            connection.execute(text)
