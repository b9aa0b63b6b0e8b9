"""The faults that need a Postgres of their own, proxies in front of it, and clocks that may be wrong."""

import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import psycopg

from deploy.prove.cluster import Cluster
from deploy.prove.faults import Faults
from deploy.prove.journal import Journal
from deploy.prove.run import write_clock
from state.proof.harm import hold_rows
from tests.chaos.storm.proxy import PostgresProxy, When
from tests.chaos.storm.server import StormServer
from tests.chaos.storm.work import StormWork
from tests.support.clock import Clock
from tests.support.wrongclock import write_error

_ARMED = 15.0  # seconds that a proxy waits for a COMMIT


class Harm(Faults):
    def __init__(
        self,
        cluster: Cluster,
        journal: Journal,
        work: StormWork,
        server: StormServer,
        proxies: Sequence[PostgresProxy],
        wrong_clock: Path,
    ) -> None:
        super().__init__(cluster, journal, [work, work.structures])
        self._work = work
        self._server = server
        self._proxies = proxies
        self._wrong_clock = wrong_clock
        self._clock_lock = threading.Lock()
        self._clock_shift = 0.0

    # Postgres as a whole.

    def restart_postgres(self) -> None:
        self.journal.write("restart")
        self._server.restart()

    def fill_disk(self, seconds: float) -> bool:
        if self._server.disk is None:
            return False
        with self._server.full_disk():
            self.journal.write("full disk", seconds=seconds)
            time.sleep(seconds)
        return True

    def make_read_only(self, seconds: float) -> None:
        with self._server.read_only():
            self.journal.write("read-only", seconds=seconds)
            time.sleep(seconds)

    def jam_notify(self, seconds: float) -> None:
        with self._server.jammed_notifications() as sent:
            self.journal.write("jam", sent=sent, seconds=seconds)
            time.sleep(seconds)

    # The way to it.

    def silence_direct(self, seconds: float, cut: bool) -> bool:
        """Connections that listen and claim become half-open."""
        return self._silence(self._proxies[1], seconds, cut=cut)

    def silence_pooled(self, seconds: float, cut: bool) -> bool:
        return self._silence(self._proxies[0], seconds, cut=cut)

    def drop_packets(self, way: int) -> bool:
        """Connections stay open for ever, and carry nothing."""
        connections = self._proxies[way].drop_packets()
        self.journal.write("drop packets", connections=connections)
        return connections > 0

    def _silence(self, proxy: PostgresProxy, seconds: float, *, cut: bool) -> bool:
        connections = proxy.fall_silent()
        self.journal.write("silence", connections=connections, seconds=seconds)
        time.sleep(seconds)
        proxy.talk(cut=cut)
        return connections > 0

    def cut_commit(self, when: When) -> bool:
        """Somebody's COMMIT gets lost, or its answer does. Waits until it has happened."""
        proxy = self._proxies[0]
        before = proxy.cuts
        proxy.cut_next_commit(when)
        deadline = time.monotonic() + _ARMED
        while proxy.cuts == before and time.monotonic() < deadline:
            time.sleep(0.05)
        self.journal.write("cut commit", when=when, cuts=proxy.cuts - before)
        return proxy.cuts > before

    # Rows and transactions.

    def lock_structures(self, seconds: float) -> None:
        """No step of a workflow and no run of a project can end; all other tasks can."""
        self._hold("lock structures", hold_rows(["workflows", "projects"]), seconds)

    def hold_snapshot(self, seconds: float) -> None:
        """A transaction that somebody has left open: nothing that it may see is cleaned up."""
        with psycopg.connect(self._server.url) as connection:
            connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            connection.execute("SELECT pg_current_xact_id(), count(*) FROM callboard.tasks")
            self.journal.write("snapshot", seconds=seconds)
            time.sleep(seconds)
            with suppress(psycopg.OperationalError):  # the server may have ended it
                connection.rollback()

    def insert_gate(self, key: str, seconds: float, commit: bool) -> None:
        """A key that nobody can see yet, and nobody else can insert; and tasks that need it."""
        with psycopg.connect(self._server.url) as connection:
            connection.execute(
                "INSERT INTO callboard.gates (key, declared_concurrent, max_concurrent) VALUES (%s, 2, 2)", [key]
            )
            self.journal.write("limit", gate=key, value=2, before=0, after=0)
            self.journal.write("uncommitted gate", gate=key, seconds=seconds)
            gates: dict[str, int | None] = {key: 2}
            self._work.submit([{"actor": "journal_slow", "seconds": 0.3, "gates": gates, "target": None}] * 4)
            time.sleep(seconds)
            if commit:
                connection.commit()
            else:
                connection.rollback()

    # Clocks.

    def step_clock(self, seconds: float) -> None:
        with self._clock_lock, psycopg.connect(self._server.url, autocommit=True) as connection:
            Clock(connection).advance(self._clock_shift + seconds)
            self._clock_shift += seconds
            self.journal.write("step", seconds=seconds)
            write_clock(self.journal, step=seconds)

    def set_worker_clock(self, error: float) -> None:
        """One tree's wall clock is wrong by so much from now on."""
        self.journal.write("wrong clock", error=error)
        write_error(self._wrong_clock, error)
