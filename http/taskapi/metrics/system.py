"""The state of the whole system as Prometheus reads it."""

from collections.abc import Iterator

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from state.metrics.snapshot import Snapshot

_BREAKER_STATES = ("closed", "half_open", "open")


class SystemCollector(Collector):
    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot

    def collect(self) -> Iterator[GaugeMetricFamily]:
        yield from self._collect_tasks()
        yield from self._collect_gates()
        yield GaugeMetricFamily("callboard_workers", "Worker processes that are alive.", self._snapshot.workers)
        yield GaugeMetricFamily(
            "callboard_maintained",
            "1 if a worker does the housekeeping of the cluster.",
            int(self._snapshot.maintained),
        )
        yield GaugeMetricFamily(
            "callboard_schedule_lag_seconds", "How late the next start of a schedule is.",
            self._snapshot.schedule_lag_seconds,
        )  # fmt: skip

    def _collect_tasks(self) -> Iterator[GaugeMetricFamily]:
        tasks = GaugeMetricFamily("callboard_tasks", "Tasks, without deleted ones.", labels=["status"])
        for status, count in self._snapshot.tasks.items():
            tasks.add_metric([status], count)
        depths = GaugeMetricFamily("callboard_queue_depth", "Tasks that may start now.", labels=["queue", "lane"])
        running = GaugeMetricFamily("callboard_queue_running", "Tasks that run.", labels=["queue"])
        paused = GaugeMetricFamily("callboard_queue_paused", "1 if the queue is paused.", labels=["queue"])
        for row in self._snapshot.queues:
            for lane in ("primary", "retry"):
                depths.add_metric([row["queue"], lane], row[lane])
            running.add_metric([row["queue"]], row["running"])
            paused.add_metric([row["queue"]], int(row["paused"]))
        oldest = GaugeMetricFamily(
            "callboard_oldest_queued_seconds", "How long the oldest queued task waits.", labels=["queue"]
        )
        ages = {row["queue"]: row["seconds"] for row in self._snapshot.oldest}
        for queue in sorted(ages.keys() | {row["queue"] for row in self._snapshot.queues}):
            oldest.add_metric([queue], ages.get(queue, 0))
        dead = GaugeMetricFamily("callboard_dead_letters", "Dead letters.", labels=["actor", "error_type"])
        for row in self._snapshot.dead:
            dead.add_metric([row["actor"], row["error_type"]], row["tasks"])
        yield from (tasks, depths, running, paused, oldest, dead)

    def _collect_gates(self) -> Iterator[GaugeMetricFamily]:
        running = GaugeMetricFamily("callboard_gate_running", "Tasks that run behind a gate.", labels=["gate"])
        limit = GaugeMetricFamily("callboard_gate_limit", "How many may run at once.", labels=["gate"])
        waiting = GaugeMetricFamily("callboard_gate_waiting", "Tasks that wait at a gate.", labels=["gate"])
        closed = GaugeMetricFamily("callboard_gate_closed", "1 if a gate is paused or closed.", labels=["gate"])
        breaker = GaugeMetricFamily(
            "callboard_breaker_state", "1 for the state of a circuit breaker.", labels=["gate", "state"]
        )
        for row in self._snapshot.gates:
            gate = row["key"]
            running.add_metric([gate], row["running"])
            waiting.add_metric([gate], row["waiting"])
            closed.add_metric([gate], int(row["closed"]))
            if row["max_concurrent"] is not None:
                limit.add_metric([gate], row["max_concurrent"])
            if row["has_breaker"]:
                for state in _BREAKER_STATES:
                    breaker.add_metric([gate, state], int(row["breaker_state"] == state))
        yield from (running, limit, waiting, closed, breaker)
