"""A lease whose row is locked is not renewed, and ends at its old time."""

import time
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

import actors  # noqa: F401  (sets the broker)
import tests.support.controlactors  # noqa: F401  (declares the actors that the tests submit to)
from state import get_task, submit
from tests.support.eventually import eventually
from tests.support.following import wait_for_line
from tests.support.observer import Observer
from tests.support.workers import WorkerTree

LEASE = 6


def lock_signs_of_life(connection: psycopg.Connection) -> None:
    """Locks the row of the worker and its leases: the pulse skips both, and succeeds."""
    connection.execute("SELECT FROM callboard.workers FOR UPDATE")
    connection.execute("SELECT FROM callboard.leases FOR UPDATE")


@pytest.mark.parametrize(("actor", "options"), [("withdraws", {}), ("stubborn", {"seconds": 300})])
def test_code_is_stopped_before_its_lease_ends_if_the_lease_is_locked(
    worker: Callable[..., WorkerTree], database_url: str, tmp_path: Path, actor: str, options: dict[str, int]
) -> None:
    tree = worker(threads=1, lease_seconds=LEASE, pulse_seconds=0.5)
    out = tmp_path / "out.txt"
    task_id = submit(actor, {"file": str(out), **options}).task_id
    wait_for_line(out, "start")
    with psycopg.connect(database_url) as locking:
        lock_signs_of_life(locking)
        locked = time.monotonic()  # no lease was renewed after this moment
        eventually(lambda: "lease lost" in tree.log.read_text(), timeout=LEASE - (time.monotonic() - locked))
        assert get_task(task_id).epoch == 1
    eventually(lambda: get_task(task_id).epoch == 2, timeout=60)


def test_a_lock_that_ends_before_the_lease_stops_no_code(
    worker: Callable[..., WorkerTree], database_url: str, connection: Observer, tmp_path: Path
) -> None:
    worker(threads=1, lease_seconds=LEASE, pulse_seconds=0.2)
    out = tmp_path / "out.txt"
    task_id = submit("withdraws", {"file": str(out)}).task_id
    wait_for_line(out, "start")
    renewed = "SELECT renewed_at FROM callboard.leases"
    with psycopg.connect(database_url) as locking:
        lock_signs_of_life(locking)
        [before] = connection.execute(renewed).fetchall()
    eventually(lambda: connection.execute(renewed).fetchone() != before, what="the next pulse renews it")
    assert get_task(task_id).epoch == 1
