"""Claims, ends, sweeps, limits, declarations and cancels all at once: nothing fails, is left behind, or sticks."""

import random
import threading
import time
from collections.abc import Callable
from contextlib import suppress

import pytest

from state import NewTask, cancel, submit_many
from state.database import Connection, connect
from state.errors import IllegalTransition
from state.gates import Breaker, Gate
from state.gates.declarations import declare
from state.gates.operations import put_gate
from state.gates.waking import sweep_lines
from state.workers.leases import Claimed
from tests.state.gated import finish
from tests.support.observer import Observer

Take = Callable[..., list[Claimed]]
pytestmark = pytest.mark.usefixtures("gated")
SECONDS = 6
LIMITS = {"a": 3, "b": 2, "c": 1}


def new_tasks(dice: random.Random, count: int) -> list[NewTask]:
    return [
        NewTask(
            "gated",
            {"gates": {key: LIMITS[key] for key in dice.sample(sorted(LIMITS), dice.choice([0, 1, 1, 2, 3]))}},
            tenant=dice.choice([None, "x", "y"]),
            target=dice.choice([None, None, "s", "t"]),
            priority=dice.randint(0, 3),
        )
        for _ in range(count)
    ]


class Hammer:
    """Actions that run at the same time, each in a thread of its own."""

    def __init__(self, take: Take) -> None:
        self.take = take
        self.ids = submit_many(new_tasks(random.Random(1), 300))
        self.errors: list[BaseException] = []
        self.stop = threading.Event()

    def work(self, worker: str, dice: random.Random) -> None:
        with connect("test") as own:
            own.execute("SET lock_timeout = '2s'")
            while not self.stop.is_set():
                for task in self.take(dice.randint(1, 6), worker=worker, connection=own):
                    finish(own, task, worker=worker)

    def operate(self, _: str, dice: random.Random) -> None:
        while not self.stop.is_set():
            put_gate(f"tenant:{dice.choice('xy')}", max_concurrent=dice.choice([None, 1, 2]))
            declare([Gate(key, limit, breaker=Breaker(volume=dice.randint(50, 60))) for key, limit in LIMITS.items()])
            with suppress(IllegalTransition):
                cancel(dice.choice(self.ids))
            self.ids.extend(submit_many(new_tasks(dice, 3)))

    def sweep(self, _name: str, dice: random.Random) -> None:
        after = ""
        while not self.stop.is_set():
            _, after = sweep_lines(after, dice.randint(1, 5))

    def run(self, verb: Callable[[str, random.Random], None], name: str, seed: int) -> None:
        try:
            verb(name, random.Random(seed))
        except BaseException as error:
            self.errors.append(error)
            self.stop.set()


def look(connection: Observer) -> list[object]:
    """All that should not be."""
    crowd = "SELECT gate, count(*) AS n FROM callboard.slots WHERE gate = ANY (%s) GROUP BY gate"
    crowded = [row for row in connection.execute(crowd, [list(LIMITS)]) if row["n"] > LIMITS[row["gate"]]]
    return [*connection.execute("SELECT * FROM admin.invariants").fetchall(), *crowded]


def test_everything_at_once(take: Take, worker_connection: Connection, connection: Observer) -> None:
    hammer = Hammer(take)
    jobs = [*((hammer.work, f"w{n}") for n in range(1, 4)), (hammer.operate, "operator"), (hammer.sweep, "sweeper")]
    threads = [threading.Thread(target=hammer.run, args=(*job, seed)) for seed, job in enumerate(jobs)]
    for thread in threads:
        thread.start()
    broken: list[object] = []
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline and not hammer.stop.is_set():
        broken += look(connection)
    hammer.stop.set()
    for thread in threads:
        thread.join(30)
    assert (hammer.errors, broken) == ([], [])

    for tenant in "xy":
        put_gate(f"tenant:{tenant}", max_concurrent=None)
    unfinished = "SELECT id, status, waiting_gate, waiting_reason FROM callboard.tasks WHERE finished_at IS NULL"
    for _ in range(2000):
        if not connection.execute(unfinished).fetchall():
            break
        sweep_lines()
        finish(worker_connection, *take(20))
    assert connection.execute(unfinished).fetchall() == []
    assert connection.execute("SELECT * FROM callboard.slots").fetchall() == []
