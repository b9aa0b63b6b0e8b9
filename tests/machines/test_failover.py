"""A failover with synchronous replication: what was acknowledged is there, and nobody has to start anything again."""

import os
from collections.abc import Callable
from pathlib import Path

import actors  # noqa: F401
import tests.support.journalactors  # noqa: F401
from state import get_events, get_task
from state.database import connect
from taskclient import Client
from tests.machines.conftest import ACTORS, LEASE, Pair
from tests.machines.httpserver import Follower, Submitter, start_http_server
from tests.machines.verdict import find_executions, find_violations
from tests.support.eventually import eventually
from tests.support.workers import WorkerTree

Start = Callable[..., WorkerTree]


def test_everything_acknowledged_survives_the_primary(pair: Pair, start_workers: Start, tmp_path: Path) -> None:
    pair.replicate_synchronously()
    file = tmp_path / "journal"
    tree = start_workers(processes=2, threads=3)
    processes = [child.pid for child in tree.children()]
    with start_http_server(tmp_path / "http.log", {**os.environ, "CALLBOARD_ACTORS": ACTORS}) as url:
        with Client(url) as client:
            long = client.submit("journal_calls", {"journal": str(file), "seconds": 6}).task_id
        follower = Follower(url, long)
        submitter = Submitter(url, "journal_slow", {"journal": str(file), "seconds": 0.2})
        eventually(lambda: find_executions(file, long))
        submitter.wait_for_more(10)
        pair.primary.stop_sending()  # what is committed from now on must not be acknowledged
        pair.primary.wait_for("SELECT count(*) >= 2 FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
        pair.fail_over()
        submitter.wait_for_more(10)
        accepted = [long, *submitter.stop()]
        eventually(lambda: all(get_task(each).finished for each in accepted), timeout=60, every=0.2)
        told = follower.wait()
    assert find_violations(pair.replica.url, file, LEASE, accepted) == []
    assert told == [event.n for event in get_events(long)]
    assert [child.pid for child in tree.children()] == processes

    # The connections of a host that vanishes do not stay at the server for hours.
    with connect("test") as connection:
        names = ("tcp_keepalives_idle", "tcp_user_timeout")
        assert [connection.execute(f"SHOW {name}").fetchone() for name in names] == [
            {names[0]: "10"},
            {names[1]: "30000"},
        ]
