"""Two Postgres servers, one of which follows the other, and an address that finds the one that takes writes."""

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from state.schema.migration import migrate
from tests.conftest import settings_for
from tests.machines.servers import Server
from tests.support.memory import find_memory_folder
from tests.support.workers import WorkerTree

LEASE, PULSE = 4.0, 0.5
ACTORS = "actors,tests.support.journalactors"


class Pair(NamedTuple):
    primary: Server
    replica: Server

    def replicate_synchronously(self) -> None:
        self.primary.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
        self.primary.execute("SELECT pg_reload_conf()")
        self.primary.wait_for("SELECT sync_state = 'sync' FROM pg_stat_replication")

    def fail_over(self) -> None:
        self.primary.kill()
        self.replica.promote()

    def wait_for_replica(self) -> None:
        """Until the replica has applied everything that is committed by now."""
        [(position,)] = self.primary.execute("SELECT pg_current_wal_lsn()")
        self.replica.wait_for(f"SELECT pg_last_wal_replay_lsn() >= '{position}'")


@pytest.fixture
def folder() -> Iterator[Path]:
    """Not pytest's own: that is closed to the account of Postgres, and to other users."""
    with tempfile.TemporaryDirectory(
        prefix="callboard-machines-", dir=find_memory_folder(), ignore_cleanup_errors=True
    ) as made:
        Path(made).chmod(0o755)
        yield Path(made)


@pytest.fixture
def pair(folder: Path, tmp_path: Path) -> Iterator[Pair]:
    """This process, and those that it starts, use the address of both."""
    primary, replica = servers = Pair(Server(folder / "primary"), Server(folder / "replica"))
    try:
        primary.initialize()
        primary.start()
        replica.copy(primary)
        replica.start()
        hosts = ",".join(f"{each.address}:{each.port}" for each in servers)
        with settings_for(f"postgresql://postgres@{hosts}/postgres?target_session_attrs=read-write", tmp_path):
            migrate()
            yield servers
    finally:
        primary.kill()
        replica.kill()


@pytest.fixture
def start_workers(pair: Pair, tmp_path: Path) -> Iterator[Callable[..., WorkerTree]]:
    started: list[WorkerTree] = []

    def start(processes: int, threads: int) -> WorkerTree:
        log = tmp_path / f"workers-{len(started)}.log"
        settings: dict[str, Any] = {"actors": ACTORS, "lease_seconds": LEASE, "pulse_seconds": PULSE}
        started.append(WorkerTree(log, processes, threads, **settings))
        return started[-1].wait_ready()

    try:
        yield start
    finally:
        for tree in started:
            tree.kill()
