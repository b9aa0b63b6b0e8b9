"""Workers that are gone, and the ends that they have left to be written."""

import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from state import cancel, get_attempts, get_events, get_task, logs, submit, submit_many
from state.database import Connection
from state.maintenance.losses import recover, set_on_loss, sweep_silent
from state.maintenance.sweep import read_last_seen
from state.tasks.new_task import NewTask
from state.workers.identity import Identity
from state.workers.leases import Claimed, Report, Settlement, report, settle
from state.workers.registry import find_dead_siblings, list_workers
from tests.support.clock import Clock
from tests.support.observer import Observer

Take = Callable[..., list[Claimed]]

# A worker that cannot stop its code: claims, stores what has to be written when it is dead, and hangs.
STUCK = """
import json, sys, threading
from state.workers.leases import ClaimRequest, claim
from state.database import connect
from state.maintenance.losses import set_on_loss
from state.workers.identity import Identity
from state.workers.registry import register

me = Identity.of_this_process()
register(me, ["one"], 1, [])
with connect("stuck") as connection:
    [task] = claim(connection, ClaimRequest(me.id, 1, ["one"], [], 1, 0, 0, [], None, 0.3)).tasks
    if sys.argv[1] == "after":
        settlement = {"id": task.id, "epoch": task.epoch, "outcome": "released"}
        report = {"id": task.id, "epoch": task.epoch, "number": 1, "events": [{"kind": "token", "data": {"n": 1}}]}
        assert set_on_loss(connection, me.id, {(task.id, task.epoch): {"report": report, "settlement": settlement}})
print(json.dumps([task.id, me.id]), flush=True)
threading.Event().wait(60)
"""


def on_loss(task: Claimed, outcome: str = "released", lines: int = 0, **more: Any) -> dict[str, Any]:
    events = [{"kind": "token", "data": {"n": n}} for n in range(lines)]
    said = {"id": task.id, "epoch": task.epoch, "number": 1, "tokens": 10, "events": events} if lines else None
    return {"report": said, "settlement": {"id": task.id, "epoch": task.epoch, "outcome": outcome, **more}}


def outcomes(task_id: str) -> list[str]:
    return [attempt["outcome"] for attempt in get_attempts(task_id)]


@pytest.mark.parametrize(("dies", "ends", "attempts", "lines"), [("before", "lost", 1, 0), ("after", "released", 0, 1)])
def test_a_stuck_process_is_killed_before_and_after_it_has_stored_an_end(
    dies: str, ends: str, attempts: int, lines: int
) -> None:
    submit("quick", {})
    command = [sys.executable, "-c", STUCK, dies]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            task_id, worker = json.loads(process.stdout.readline())
            me = Identity.of_this_process()
            assert find_dead_siblings(me) == []
            assert get_task(task_id).status == "running"  # released only when it is certainly gone
        finally:
            process.kill()
    assert find_dead_siblings(me) == [worker]
    for _ in range(2):
        recover([worker])
        task = get_task(task_id)
        assert (task.status, task.attempt, outcomes(task_id)) == ("queued", attempts, [ends])
        assert len([event for event in get_events(task_id) if event.kind == "token"]) == lines
    assert find_dead_siblings(me) == []
    assert list_workers() == []


def test_the_end_of_a_dead_worker_is_written_once_although_a_sibling_has_begun_to(
    take: Take, worker_connection: Connection
) -> None:
    submit("quick", {})
    [task] = take()
    entry = on_loss(task, "failed", 3, error={"type": "TimeLimitExceeded", "message": "stuck"}, retry_seconds=5)
    set_on_loss(worker_connection, "w1", {(task.id, task.epoch): entry})
    report(worker_connection, "w1", [Report(**entry["report"])])  # by a sibling that died before the end was written
    [row] = recover(["w1"])
    assert (row["id"], row["status"]) == (task.id, "scheduled")
    assert recover(["w1"]) == []
    assert len([event for event in get_events(task.id) if event.kind == "token"]) == 3
    assert (get_task(task.id).usage["tokens"], outcomes(task.id)) == (10, ["failed"])


def test_nothing_is_written_for_a_process_that_ended_its_task_itself(take: Take, worker_connection: Connection) -> None:
    submit("quick", {})
    [task] = take()
    set_on_loss(worker_connection, "w1", {(task.id, task.epoch): on_loss(task, lines=1)})
    settle(worker_connection, "w1", [Settlement(task.id, task.epoch, "completed", result=1)])
    assert recover(["w1"]) == []
    assert (get_task(task.id).status, outcomes(task.id)) == ("completed", ["completed"])


def test_an_end_is_stored_only_for_leases_of_the_worker(
    take: Take, worker_connection: Connection, connection: Observer
) -> None:
    submit_many([NewTask("quick", {}) for _ in range(2)])
    [mine, other] = [*take(worker="w1"), *take(worker="w2")]
    entries = {(task.id, epoch): on_loss(task) for task, epoch in ((mine, 1), (mine, 2), (other, 1))}
    assert set_on_loss(worker_connection, "w1", entries) == {(mine.id, 1)}
    [row] = connection.execute("SELECT task_id FROM callboard.leases WHERE on_loss IS NOT NULL").fetchall()
    assert row["task_id"] == mine.id


def test_an_end_that_cannot_be_written_does_not_stop_the_others(
    take: Take, worker_connection: Connection, connection: Observer
) -> None:
    submit_many([NewTask("quick", {}) for _ in range(3)])
    [first, second, third] = sorted(take(3), key=lambda task: task.id)
    set_on_loss(worker_connection, "w1", {(task.id, 1): on_loss(task) for task in (first, second)})
    connection.execute(
        """UPDATE callboard.leases SET on_loss = '{"report": null, "settlement": {"no": "such field"}}' """
        "WHERE task_id = %s",
        [first.id],
    )
    recover(["w1"])
    assert [outcomes(task.id) for task in (first, second, third)] == [["lost"], ["released"], ["lost"]]


def test_a_locked_task_is_left_for_the_next_time(
    take: Take, worker_connection: Connection, connection: Observer
) -> None:
    submit_many([NewTask("quick", {}) for _ in range(2)])
    [first, second] = sorted(take(2), key=lambda task: task.id)
    set_on_loss(worker_connection, "w1", {(task.id, 1): on_loss(task) for task in (first, second)})
    with connection.transaction():
        connection.execute("SELECT FROM callboard.tasks WHERE id = %s FOR UPDATE", [first.id])
        assert [row["id"] for row in recover(["w1"])] == [second.id]
    assert [row["id"] for row in recover(["w1"])] == [first.id]
    assert [outcomes(task.id) for task in (first, second)] == [["released"], ["released"]]


def test_a_request_that_came_after_the_end_was_stored_is_honored(take: Take, worker_connection: Connection) -> None:
    submit("quick", {})
    [task] = take()
    set_on_loss(worker_connection, "w1", {(task.id, 1): on_loss(task)})
    cancel(task.id)
    recover(["w1"])
    assert get_task(task.id).status == "canceled"


def test_the_end_of_a_worker_whose_lease_has_expired_is_written_as_well(
    take: Take, worker_connection: Connection, clock: Clock
) -> None:
    """Alone in its container, the worker has no sibling that could prove it dead."""
    submit("quick", {})
    [task] = take()
    set_on_loss(worker_connection, "w1", {(task.id, 1): on_loss(task)})
    assert sweep_silent(read_last_seen()) == []
    clock.advance(31)
    assert [row["id"] for row in sweep_silent(read_last_seen())] == [task.id]
    assert (outcomes(task.id), get_task(task.id).attempt) == (["released"], 0)


def test_secrets_in_stored_reports_are_masked(take: Take, worker_connection: Connection, connection: Observer) -> None:
    submit("quick", {})
    [task] = take()
    entry = on_loss(task, lines=1)
    entry["report"]["events"][0]["data"] = {"api_key": "sk-1234567890abcdef"}
    set_on_loss(worker_connection, "w1", {(task.id, 1): entry})
    [row] = connection.execute("SELECT on_loss::text AS text FROM callboard.leases").fetchall()
    assert "sk-1234567890abcdef" not in row["text"]


def test_a_lost_worker_is_a_warning_and_a_task_that_dies_of_it_an_error(
    take: Take, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logs, "_enabled_levels", ("warning", "error"))
    again, last = submit("quick", {}).task_id, submit("quick", {}, max_attempts=1).task_id
    take(2)
    recover(["w1"])
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    told = {line["task_id"]: (line["level"], line["to"], line["worker"]) for line in lines if "task_id" in line}
    assert told == {again: ("warning", "queued", "w1"), last: ("error", "dead", "w1")}
