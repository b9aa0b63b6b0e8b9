"""One storm from its start to its verdict."""

import signal
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg

from state.schema.migration import migrate
from tests.chaos.storm.cluster import EXPECTED, Cluster
from tests.chaos.storm.executions import Journals, load
from tests.chaos.storm.faults import Faults, write_clock
from tests.chaos.storm.history import Clocks, judge_history, read_history
from tests.chaos.storm.judge import Rules, Violation, judge
from tests.chaos.storm.schedule import LEASE, LIMITS, Step, plan
from tests.chaos.storm.structures import judge_structures, read_facts
from tests.chaos.storm.work import Work
from tests.conftest import settings_for
from tests.support.eventually import eventually
from tests.support.journal import Journal
from tests.support.postgres import TestPostgres

PATIENCE = 240.0  # seconds until all have ended; on an idle machine it takes about ten
_KINDS = (
    "begun_twice", "doubled", "over_limit", "targets_doubled", "outlived", "late_call", "late_write", "taken_for_dead",
    "out_of_order", "disagreement", "unfinished", "invariants", "storm_broken",
)  # fmt: skip


@dataclass(slots=True)
class Verdict:
    seed: int
    figures: dict[str, int]
    violations: list[Violation]

    def __str__(self) -> str:
        return f"storm seed {self.seed}: " + " ".join(f"{name} {count}" for name, count in self.figures.items())


def run_storm(seed: int, seconds: float, folder: Path, say: Callable[[str], None] = print) -> Verdict:
    """`folder` gets the journals and the logs of the workers."""
    say(f"storm seed {seed}: {seconds:g} s of faults, journals in {folder}")
    tasks, faults_path = folder / "tasks.journal", folder / "faults.journal"
    journal = Journal(faults_path)
    with _server() as server, settings_for(server.url("storm"), folder):
        url = server.url("storm")
        migrate()
        with psycopg.connect(url, autocommit=True) as connection:
            write_clock(connection, journal)
        work = Work(url, tasks, journal)
        work.declare_gates()
        cluster = Cluster(folder, journal)
        try:
            faults = Faults(cluster, server, url, work, journal)
            _blow(plan(seed, seconds), faults)
            say(f"storm seed {seed}: no more faults, waiting for {len(work.accepted)} tasks to end")
            broken = [Violation("storm_broken", error) for error in faults.errors]
            broken += _calm_down(cluster, work)
        finally:
            cluster.close()
            journal.close()
        history, facts = read_history(url), read_facts(url)
    journals = load(tasks, faults_path)
    clocks = Clocks(journals.faults)
    violations = judge(journals, Rules(LEASE), history.claimed(clocks), history.lost(clocks))
    violations += judge_history(history, journals.executions, work.accepted, work.canceled | facts.canceled)
    violations += judge_structures(facts, journals.executions, Rules(LEASE))
    figures = {"workflows": len(work.structures.workflows), "projects": len(work.structures.projects)}
    figures |= _figures(journals, len(history.tasks), violations + broken)
    return Verdict(seed, figures, violations + broken)


@contextmanager
def _server() -> Iterator[TestPostgres]:
    """Our own: it is restarted, which nobody else would like."""
    with tempfile.TemporaryDirectory(prefix="callboard-storm-", ignore_cleanup_errors=True) as folder:
        server = TestPostgres(Path(folder))
        server.start()
        try:
            server.execute("CREATE DATABASE storm")
            yield server
        finally:
            server.stop()


def _blow(steps: list[Step], faults: Faults) -> None:
    begun = time.monotonic()
    with ThreadPoolExecutor(32) as threads:
        for step in steps:
            time.sleep(max(begun + step.at - time.monotonic(), 0))
            threads.submit(faults.do, step)
        faults.over.set()


def _calm_down(cluster: Cluster, work: Work) -> list[Violation]:
    """No more faults, nothing is paused: everything ends."""
    for tree in cluster.trees:
        tree.signal(signal.SIGCONT)
    left: dict[str, int] = {}

    def all_ended() -> bool:
        nonlocal left
        try:
            left = work.unfinished()
        except EXPECTED:
            return False
        return not left

    try:
        work.open_all(LIMITS)
        eventually(all_ended, timeout=PATIENCE, every=0.5)
    except AssertionError as error:
        return [Violation("unfinished", f"after {PATIENCE:g} s: {left} ({error})")]
    return []


def _figures(journals: Journals, tasks: int, violations: list[Violation]) -> dict[str, int]:
    happened = Counter(line["what"] for line in journals.faults)
    rules = Rules(LEASE)
    kinds = Counter(violation.kind for violation in violations)
    return {
        "tasks": tasks,
        "executions": len(journals.executions),
        **{f"{what}s": happened[what] for what in ("kill", "redeploy", "stop", "stall", "restart", "step")},
        "gate_locks": happened["lock"],
        "lease_locks": happened["lock leases"],
        "task_locks": happened["lock tasks"],
        "structure_locks": happened["lock structures"],
        "maintainer_kills": happened["kill maintainer"],
        "open_inserts": happened["uncommitted gate"],
        "limit_changes": happened["limit"],
        "refused_verbs": happened["refused"],
        "stopped_executions": sum(bool(rules.long_pauses(run)) for run in journals.executions),
        **{kind: kinds[kind] for kind in _KINDS},
    }
