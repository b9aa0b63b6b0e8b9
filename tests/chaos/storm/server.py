"""The storm's own Postgres, which nobody else would like to share: restarted, filled up, read-only, deaf."""

import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psycopg

from tests.chaos.storm.disk import Disk, mount_disk
from tests.support.postgres import TestPostgres

DATABASE = "storm"
_MEGABYTES = 768
_SETTINGS = ("max_notify_queue_pages = 64", "max_wal_size = 128MB", "min_wal_size = 32MB", "wal_recycle = off")
_PATIENCE = 120.0


class StormServer:
    def __init__(self, postgres: TestPostgres, disk: Disk | None) -> None:
        self.disk = disk
        self._postgres = postgres
        self._busy = threading.Lock()  # one at a time is at the server as a whole
        self.url = postgres.url(DATABASE)

    @property
    def socket(self) -> str:
        info = psycopg.conninfo.conninfo_to_dict(self.url)
        return f"{info['host']}/.s.PGSQL.{info['port']}"

    @property
    def user(self) -> str:
        return str(psycopg.conninfo.conninfo_to_dict(self.url)["user"])

    def restart(self) -> None:
        with self._busy:
            self._postgres.restart("immediate")

    @contextmanager
    def full_disk(self) -> Iterator[None]:
        """Postgres may end, and not start again before there is room."""
        assert self.disk is not None
        with self._busy:
            try:
                self.disk.fill()
                yield
            finally:
                self.disk.free()
                self._postgres.start_again()

    @contextmanager
    def read_only(self) -> Iterator[None]:
        """For all transactions that begin from now on, also on the connections that there are."""
        with self._busy:
            self._configure("ALTER SYSTEM SET default_transaction_read_only = on")
            try:
                yield
            finally:
                self._configure("ALTER SYSTEM RESET default_transaction_read_only")

    def _configure(self, change: str) -> None:
        """Until the server takes it."""
        deadline = time.monotonic() + _PATIENCE
        while True:
            with suppress(psycopg.OperationalError), psycopg.connect(self.url, autocommit=True) as connection:
                connection.execute(change.encode())
                connection.execute("SELECT pg_reload_conf()")
                return
            if time.monotonic() > deadline:
                raise AssertionError(f"the server does not take {change}")
            time.sleep(0.2)

    @contextmanager
    def jammed_notifications(self) -> Iterator[int]:
        """No NOTIFY succeeds: one session listens and stays in its transaction, and the queue is full. Yields how many
        it takes."""
        with psycopg.connect(self.url) as listener, psycopg.connect(self.url, autocommit=True) as sender:
            listener.execute("LISTEN storm_jam")
            listener.commit()
            listener.execute("SELECT 1")
            sent = 0
            with suppress(psycopg.errors.ProgramLimitExceeded):
                while sent < 10_000:
                    sender.execute("SELECT pg_notify('storm_jam', %s)", [f"{sent} {'x' * 7900}"])
                    sent += 1
            yield sent


@contextmanager
def start_server() -> Iterator[StormServer]:
    with (
        tempfile.TemporaryDirectory(prefix="callboard-storm-", ignore_cleanup_errors=True) as folder,
        mount_disk(Path(folder), _MEGABYTES) as disk,
    ):
        postgres = TestPostgres(Path(folder), *_SETTINGS)
        postgres.start()
        try:
            postgres.execute(f"CREATE DATABASE {DATABASE}")
            yield StormServer(postgres, disk)
        finally:
            postgres.stop()
