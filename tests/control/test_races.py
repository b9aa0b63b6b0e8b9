"""Races between verbs: a task ends once."""

import contextlib
import random
import threading
from collections.abc import Callable
from typing import Any

import pytest

import state
from state import IllegalTransition, NewTask, submit_many
from state.database import Connection, connect
from state.maintenance import losses
from state.maintenance.sweep import read_last_seen, sweep
from state.workers import leases
from state.workers.leases import Claimed, Settlement
from tests.support.clock import Clock
from tests.support.observer import Observer

Take = Callable[..., list[Claimed]]
pytestmark = pytest.mark.usefixtures("simple_actors")
COUNT = 1000


def together(*works: Callable[[Connection], None]) -> None:
    """Runs functions in threads at the same time, each with its own connection."""
    start = threading.Barrier(len(works))
    errors: list[BaseException] = []

    def run(work: Callable[[Connection], None]) -> None:
        try:
            with connect("test") as own:
                start.wait(10)
                work(own)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not errors
    assert not any(thread.is_alive() for thread in threads)


def ends(connection: Observer) -> dict[str, int]:
    """Returns the number of tasks by status. Each must have ended once, and kept its end."""
    doubles = connection.execute(
        "SELECT task_id FROM callboard.events WHERE kind = 'status' "
        "AND data ->> 'to' IN ('completed', 'canceled', 'dead') GROUP BY task_id HAVING count(*) <> 1"
    ).fetchall()
    assert doubles == []
    gaps = connection.execute(
        "SELECT t.id FROM callboard.tasks t WHERE t.last_event <> "
        "(SELECT count(*) FROM callboard.events e WHERE e.task_id = t.id)"
    ).fetchall()
    assert gaps == []
    moved_on = "SELECT task_id FROM callboard.events WHERE data ->> 'from' IN ('completed', 'canceled')"
    assert connection.execute(moved_on).fetchall() == []
    assert connection.execute("SELECT count(*) AS n FROM callboard.leases").fetchone() == {"n": 0}
    rows = connection.execute("SELECT status, count(*) AS n FROM callboard.tasks GROUP BY 1").fetchall()
    return {row["status"]: row["n"] for row in rows}


def test_cancel_races_completion_a_thousand_times(take: Take, connection: Observer) -> None:
    ids = submit_many([NewTask("quick", {}) for _ in range(COUNT)])
    refused: list[str] = []

    def work(own: Connection) -> None:
        while claimed := take(4, worker=threading.current_thread().name, connection=own):
            for task in claimed:
                # Stopped by the request in every other case: then the request decides where it goes.
                outcome: Any = random.choice(["completed", "released"])
                if (
                    outcome == "released"
                    and not own.execute(
                        "SELECT FROM callboard.tasks WHERE id = %s AND cancel_requested IS NOT NULL", [task.id]
                    ).fetchone()
                ):
                    outcome = "completed"
                leases.settle(own, threading.current_thread().name, [Settlement(task.id, task.epoch, outcome)])

    def cancel(part: list[str]) -> Callable[[Connection], None]:
        def work(_own: Connection) -> None:
            for task_id in part:
                try:
                    state.cancel(task_id)
                except IllegalTransition:
                    refused.append(task_id)

        return work

    together(work, work, cancel(ids[::2]), cancel(ids[1::2]))
    counts = ends(connection)
    assert sum(counts.values()) == COUNT
    assert set(counts) == {"completed", "canceled"}
    assert len(refused) <= counts["completed"]


def test_the_sweeper_races_completion_a_thousand_times(
    take: Take, connection: Observer, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    submit_many([NewTask("quick", {}, max_attempts=1) for _ in range(COUNT)])
    claimed = take(COUNT)
    assert len(claimed) == COUNT
    clock.advance(31)
    monkeypatch.setattr(losses, "BATCH", 7)
    won: list[str] = []

    def settle(part: list[Claimed]) -> Callable[[Connection], None]:
        def work(own: Connection) -> None:
            for task in part:
                rows = leases.settle(own, "w1", [Settlement(task.id, task.epoch, "completed")])
                won.extend(row["id"] for row in rows)

        return work

    def sweep_all(_own: Connection) -> None:
        while sweep(silent=read_last_seen()).lost:
            pass

    backwards = sorted(claimed, key=lambda task: task.id, reverse=True)
    together(settle(backwards[::2]), settle(backwards[1::2]), sweep_all)
    sweep_all(None)  # type: ignore[arg-type]
    counts = ends(connection)
    assert counts["completed"] == len(won) > 0
    assert counts["dead"] == COUNT - len(won) > 0


def test_pause_and_resume_race_claims_and_ends(take: Take, connection: Observer) -> None:
    ids = submit_many([NewTask("quick", {}) for _ in range(300)])
    done = threading.Event()

    def work(own: Connection) -> None:
        idle = 0
        while idle < 3 or not done.is_set():
            claimed = take(4, worker=threading.current_thread().name, connection=own)
            idle = 0 if claimed else idle + 1
            for task in claimed:
                asked = "SELECT FROM callboard.tasks WHERE id = %s AND cancel_requested IS NOT NULL"
                stop = own.execute(asked, [task.id]).fetchone()
                leases.settle(
                    own,
                    threading.current_thread().name,
                    [Settlement(task.id, task.epoch, "released" if stop else "completed")],
                )

    def disturb(_own: Connection) -> None:
        try:
            for verb in (state.pause, state.resume, state.pause, state.resume):
                for task_id in ids:
                    with contextlib.suppress(IllegalTransition):
                        verb(task_id)
        finally:
            done.set()

    together(work, work, disturb)
    for task_id in ids:
        with contextlib.suppress(IllegalTransition):
            state.resume(task_id)
    together(work)
    assert ends(connection) == {"completed": 300}
