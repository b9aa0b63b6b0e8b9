"""Random gates, limits, cancels and crashes: no limit is ever exceeded, and everything that could run does."""

from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from state import cancel, submit
from state.database import Connection
from state.errors import IllegalTransition
from state.gates import Gate
from state.gates.operations import put_gate
from state.gates.waking import sweep_lines, wake
from state.maintenance.sweep import sweep
from state.tasks import catalog
from state.tasks.catalog import STANDARD_POLICY, ActorSpec
from state.workers import leases
from state.workers.leases import Claimed, Settlement
from tests.support.claims import FreePayload
from tests.support.observer import Observer

KEYS = ("tenant:a", "tenant:b", "tenant:c")
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("submit"), st.sets(st.sampled_from(KEYS), min_size=1), st.integers(0, 3)),
        st.tuples(st.just("claim"), st.integers(1, 4), st.just(0)),
        st.tuples(st.just("finish"), st.integers(0, 5), st.just(0)),
        st.tuples(st.just("release"), st.integers(0, 5), st.just(0)),
        st.tuples(st.just("cancel"), st.integers(0, 20), st.just(0)),
        st.tuples(st.just("crash"), st.integers(0, 1), st.just(0)),
        st.tuples(st.just("limit"), st.sampled_from(KEYS), st.integers(0, 3)),
    ),
    max_size=40,
)


class Model:
    """Plays workers w0 and w1 against the database, and counts by itself which tasks are at which gate."""

    def __init__(self, worker_connection: Connection, take: Callable[..., list[Claimed]], connection: Observer) -> None:
        self.worker_connection, self.take, self.connection = worker_connection, take, connection
        self.ids: list[str] = []
        self.gates: dict[str, set[str]] = {}
        self.running: list[tuple[str, Claimed]] = []
        self.limits = dict.fromkeys(KEYS, 1)

    def submit(self, keys: set[str], priority: int) -> None:
        task_id = submit("gated", {"gates": sorted(keys)}, priority=priority).task_id
        self.ids.append(task_id)
        self.gates[task_id] = keys

    def claim(self, count: int, worker: str = "w0") -> int:
        taken = self.take(count, worker=worker)
        self.running += [(worker, task) for task in taken]
        there = Counter(key for task in taken for key in self.gates[task.id])
        at_gate = Counter(key for _, task in self.running for key in self.gates[task.id])
        for key in there:  # a limit that was lowered lets those finish that are there, but nobody in
            assert at_gate[key] <= self.limits[key], (key, at_gate)
        return len(taken)

    def settle(self, place: int, outcome: Any) -> None:
        if self.running:
            worker, task = self.running.pop(place % len(self.running))
            rows = leases.settle(self.worker_connection, worker, [Settlement(task.id, task.epoch, outcome)])
            wake(gate for row in rows for gate in row["gates"])

    def cancel(self, place: int) -> None:
        if self.ids:
            with suppress(IllegalTransition):
                cancel(self.ids[place % len(self.ids)])

    def crash(self, worker: str) -> None:
        sweep(dead_workers=[worker])
        self.running = [each for each in self.running if each[0] != worker]

    def limit(self, key: str, limit: int) -> None:
        self.limits[key] = limit
        put_gate(key, max_concurrent=limit)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS)
def test_random_lives(
    worker_connection: Connection, take: Callable[..., list[Claimed]], connection: Observer, steps: list[Any]
) -> None:
    catalog.register(
        ActorSpec(
            "gated",
            "one",
            FreePayload,
            99,
            lambda: None,
            60,
            STANDARD_POLICY,
            "",
            lambda r: [Gate(k, 1) for k in r.gates],
        )
    )
    connection.execute("TRUNCATE callboard.tasks, callboard.leases, callboard.slots, callboard.events, "
                       "callboard.attempts, callboard.gates, callboard.reservations")  # fmt: skip
    model = Model(worker_connection, take, connection)
    for number, (verb, first, second) in enumerate(steps):
        match verb:
            case "submit":
                model.submit(first, second)
            case "claim":
                model.claim(first, worker=f"w{number % 2}")
            case "finish":
                model.settle(first, "completed")
            case "release":
                model.settle(first, "released")
            case "cancel":
                model.cancel(first)
            case "crash":
                model.crash(f"w{first}")
            case "limit":
                model.limit(first, second)
    for key in KEYS:
        model.limit(key, 1)
    unfinished = "SELECT count(*) AS n FROM callboard.tasks WHERE finished_at IS NULL"
    while connection.execute(unfinished).fetchone() != {"n": 0}:
        sweep_lines()
        model.claim(10)
        assert model.running  # or nothing runs though something could: a line is stuck
        model.settle(0, "completed")
    assert connection.execute("SELECT * FROM admin.invariants").fetchall() == []
