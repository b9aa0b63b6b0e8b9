"""1,000 ticks over a clock that is moved forward and back, with two servers and workers that are killed: each tick has
started one task, seen from outside. And the report that is declared as a schedule comes every day."""

import random
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

from state.schedules.changes import create_schedule
from tests.schedules.conftest import NOON, SetClock
from tests.support.eventually import eventually
from tests.support.observer import Observer
from tests.support.workers import WorkerTree
from tests.taskapi.running import RunningServer

SCHEDULES = 10
TICKS = 100
MINUTE = timedelta(minutes=1)
ALL = "SELECT count(*) AS n FROM callboard.schedule_runs WHERE tick = %s AND schedule_id = ANY (%s)"


def test_each_of_1000_ticks_starts_once(
    worker: Callable[..., WorkerTree], set_clock: SetClock, connection: Observer, tmp_path: Path
) -> None:
    journal = tmp_path / "journal"
    set_clock(NOON)
    ids = [
        create_schedule(
            f"every minute {n}", "* * * * *", "note", {"file": str(journal), "text": str(n)}, catch_up="all",
            timezone=("UTC", "Europe/Berlin", "Australia/Lord_Howe")[n % 3],
        ).schedule_id
        for n in range(SCHEDULES)
    ]  # fmt: skip
    moves = random.Random(15)
    start = partial(worker, pulse_seconds=0.5)
    trees = [start(), start()]
    minute, kills = 0, 0
    with RunningServer() as one, RunningServer() as other, ThreadPoolExecutor(3) as pool:
        while minute < TICKS:
            asked = [pool.submit(_run_now, server, moves.choice(ids)) for server in (one, other)]
            minute = min(minute + moves.randint(1, 15), TICKS)
            set_clock(NOON + minute * MINUTE)
            if kills < minute // 30:  # the one that is starting these ticks, or is about to
                kills += 1
                trees.remove(killed := _find_maintainer(trees, connection))
                killed.kill()
                trees.append(start())
            set_clock(NOON + (minute - moves.randint(1, 30)) * MINUTE)
            set_clock(NOON + minute * MINUTE)
            newest = NOON.replace(second=0) + minute * MINUTE
            eventually(partial(_are_all_recorded, connection, ids, newest), timeout=60, what=f"the ticks of {newest}")
            for each in asked:
                each.result(30)
        unfinished = "SELECT count(*) AS n FROM callboard.tasks WHERE status <> 'completed' AND actor = 'note'"
        eventually(lambda: connection.fetch_one(unfinished)["n"] == 0, timeout=60, what="all tasks are completed")
    assert kills == 3
    by_hand = len(connection.execute("SELECT FROM callboard.schedule_runs WHERE tick IS NULL").fetchall())
    assert by_hand >= 10

    # The ticks in the table, those in the histories of the tasks, and the lines that the tasks have written.
    expected = {(each, NOON.replace(second=0) + n * MINUTE) for each in ids for n in range(1, TICKS + 1)}
    recorded = connection.execute(
        "SELECT schedule_id, tick, task_id FROM callboard.schedule_runs WHERE tick IS NOT NULL"
    )
    by_tick = {(row["schedule_id"], row["tick"].astimezone(UTC)): row["task_id"] for row in recorded}
    assert by_tick.keys() == expected
    told = connection.execute(
        "SELECT task_id, data ->> 'schedule_id' AS schedule_id, data ->> 'tick' AS tick FROM callboard.events "
        "WHERE n = 1 AND data ? 'tick'"
    ).fetchall()
    starts = Counter((row["schedule_id"], datetime.fromisoformat(row["tick"])) for row in told)
    assert starts == Counter(expected)
    written = {line.split()[0] for line in journal.read_text().splitlines()}
    assert set(by_tick.values()) <= written
    assert len(written) == SCHEDULES * TICKS + by_hand


def _are_all_recorded(connection: Observer, ids: list[str], tick: datetime) -> bool:
    return bool(connection.fetch_one(ALL, [tick, ids])["n"] == SCHEDULES)


def _run_now(server: RunningServer, schedule_id: str) -> None:
    assert server.client.post(f"/api/v1/schedules/{schedule_id}/run").status_code == 202


def _find_maintainer(trees: list[WorkerTree], connection: Observer) -> WorkerTree:
    """Returns the tree of the maintainer; any if there is none at the moment."""
    row = connection.execute("SELECT worker_id FROM callboard.maintainer WHERE worker_id IS NOT NULL").fetchone()
    pid = int(row["worker_id"].split(":")[1]) if row else None
    return next((tree for tree in trees if pid in {child.pid for child in tree.children()}), trees[0])


def test_the_daily_report_runs_by_its_schedule(
    worker: Callable[..., WorkerTree], set_clock: SetClock, connection: Observer
) -> None:
    set_clock(NOON)
    worker(actors="actors")
    declared = "SELECT id, next_at FROM admin.schedules WHERE name = 'daily report' AND declared_in_code"
    first = eventually(lambda: connection.execute(declared).fetchone(), what="the schedule is declared")
    assert first["next_at"] == datetime(2030, 5, 16, 0, 15, tzinfo=UTC)
    for day in (16, 17):
        set_clock(datetime(2030, 5, day, 0, 15, 1, tzinfo=UTC))
        eventually(partial(_is_reported, connection, f"2030-05-{day - 1}"), what="a report")
    assert connection.fetch_one("SELECT count(*) AS n FROM admin.schedule_runs")["n"] == 2


def _is_reported(connection: Observer, day: str) -> bool:
    report = "SELECT FROM callboard.tasks WHERE result ->> 'date' = %s AND status = 'completed'"
    return bool(connection.execute(report, [day]).fetchall())
