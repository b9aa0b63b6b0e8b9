"""Workflows and projects during a storm: what people start, and the verdict on them."""

import threading
from collections import defaultdict
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
from psycopg.rows import dict_row

from deploy.prove.executions import Execution
from deploy.prove.judge import CLOCKS_DIFFER, Rules, Violation
from state import retry
from state.errors import QueueAlreadyRunning, StateError
from state.projects.items import NewItem, add_items, create_project
from state.projects.queue import force_stop, start_run, stop
from state.workflows import Step, Workflow, create_workflow, resume_workflow

ATTEMPTS = 50


class Structures:
    def __init__(self, url: str, journal: Path) -> None:
        self.workflows: list[str] = []
        self.projects: list[str] = []
        self._url = url
        self._journal = str(journal)
        self._lock = threading.Lock()

    def _input(self, seconds: float, target: str | None = None, fails: int = 0) -> dict[str, Any]:
        return {"journal": self._journal, "seconds": seconds, "gates": {}, "target": target, "fails": fails}

    def start_workflow(self, width: int, seconds: float, fails: int) -> None:
        """A diamond: one step, some beside each other, a list of tasks, one that joins them. `fails`: how often each of
        those beside each other dies before it can be done."""
        sides = [f"side-{number}" for number in range(width)]

        def step(key: str, *after: str, **more: Any) -> Step:
            work = self._input(seconds, fails=fails if key in sides else 0)
            return Step(key=key, agent_name="journal", task_type="work", input=work, after=list(after),
                        max_attempts=ATTEMPTS, **more)  # fmt: skip

        steps = [step("first"), *(step(key, "first") for key in sides)]
        steps += [
            step("list", "first", for_each=list(range(width))),
            step("join", *sides, "list"),
            step("last", "join"),
        ]
        created = create_workflow(Workflow(name="storm", steps=steps, failure_threshold=2)).workflow_id
        with self._lock:
            self.workflows.append(created)

    def start_project(self, items: int, seconds: float) -> None:
        project_id = create_project("storm").project_id
        work = self._input(seconds, target=f"project {project_id}")
        add_items(project_id, [NewItem(str(number), "journal", "work", work) for number in range(items)])
        start_run(project_id, "loop")
        with self._lock:
            self.projects.append(project_id)

    def restart_project(self, pick: float) -> None:
        """Somebody stops the queue, and somebody starts it at once, several times."""
        with self._lock:
            projects = list(self.projects)
        if projects:
            project_id = projects[int(pick * len(projects))]
            stop(project_id)
            with suppress(QueueAlreadyRunning):
                start_run(project_id, "loop")

    def force_stop_project(self, pick: float) -> bool:
        with self._lock:
            projects = list(self.projects)
        if projects:
            force_stop(projects[int(pick * len(projects))], seconds=1)
        return bool(projects)

    def repair_workflow(self, pick: float) -> bool:
        """Somebody revives what has died, and lets the workflow go on."""
        with psycopg.connect(self._url, autocommit=True) as connection:
            rows = connection.execute(
                "SELECT DISTINCT workflow_id FROM callboard.tasks WHERE status = 'dead' AND workflow_id IS NOT NULL "
                "ORDER BY 1"
            ).fetchall()
            if not rows:
                return False
            workflow_id = rows[int(pick * len(rows))][0]
            dead = connection.execute(
                "SELECT id FROM callboard.tasks WHERE workflow_id = %s AND status = 'dead'", [workflow_id]
            ).fetchall()
        for (task_id,) in dead:
            with suppress(StateError):
                retry(task_id)
        with suppress(StateError):
            resume_workflow(workflow_id)
        return True

    def go_on(self) -> dict[str, int]:
        """Resumes what has failed, and starts the queues that have pending items. Returns what is not done, by kind."""
        with psycopg.connect(self._url, autocommit=True) as connection:
            failed = connection.execute(
                "SELECT id FROM callboard.workflows WHERE status IN ('failed', 'escalated')"
            ).fetchall()
            running = connection.execute("SELECT id FROM callboard.workflows WHERE status = 'running'").fetchall()
            pending = connection.execute(
                "SELECT DISTINCT project_id FROM callboard.project_items WHERE status IN ('pending', 'in_progress')"
            ).fetchall()
        for (workflow_id,) in failed:
            with suppress(StateError):
                resume_workflow(workflow_id)
        for (project_id,) in pending:
            with suppress(QueueAlreadyRunning):
                start_run(project_id, "loop")
        left = {"workflows": len(failed) + len(running), "projects": len(pending)}
        return {kind: count for kind, count in left.items() if count}


@dataclass(slots=True)
class Facts:
    """What the database says of workflows and projects when the storm is over."""

    unfinished: list[str] = field(default_factory=list)
    after: dict[str, list[str]] = field(default_factory=dict)  # by task: those that must be done before it begins
    places: list[tuple[str, int, list[str]]] = field(default_factory=list)  # project, position and runs of an item
    canceled: set[str] = field(default_factory=set)  # runs that had not begun when their queue was stopped


def read_facts(url: str) -> Facts:
    facts = Facts()
    with psycopg.connect(url, autocommit=True, row_factory=dict_row) as connection:

        def read(query: str) -> list[dict[str, Any]]:
            return connection.execute(query).fetchall()

        for row in read("SELECT id, status FROM callboard.workflows WHERE status NOT IN ('completed', 'canceled')"):
            facts.unfinished.append(f"workflow {row['id']} is {row['status']}")
        for row in read("SELECT id, project_id FROM callboard.runs WHERE ended_at IS NULL"):
            facts.unfinished.append(f"run {row['id']} of {row['project_id']} is live")
        for row in read("SELECT id, status FROM callboard.project_items WHERE status IN ('pending', 'in_progress')"):
            facts.unfinished.append(f"item {row['id']} is {row['status']}")
        for row in read(
            "SELECT t.id, array_agg(d.id) AS before FROM callboard.tasks t "
            "JOIN callboard.workflow_steps s ON s.workflow_id = t.workflow_id AND s.key = t.step "
            "JOIN callboard.tasks d ON d.workflow_id = t.workflow_id AND d.step = ANY (s.after) GROUP BY t.id"
        ):
            facts.after[row["id"]] = row["before"]
        for row in read(
            "SELECT i.project_id, i.position, array_agg(r.id) AS runs FROM callboard.project_items i "
            "JOIN callboard.runs r ON r.item_id = i.id GROUP BY 1, 2 ORDER BY 1, 2"
        ):
            facts.places.append((row["project_id"], row["position"], row["runs"]))
        facts.canceled = {
            row["id"] for row in read("SELECT id FROM callboard.runs WHERE reason IN ('stop requested', 'force-stop')")
        }
    return facts


def judge_structures(facts: Facts, runs: Iterable[Execution], rules: Rules) -> list[Violation]:
    of_task: dict[str, list[Execution]] = defaultdict(list)
    for run in runs:
        if rules.may_begin(run):
            of_task[run.task].append(run)
    violations = [Violation("unfinished", text) for text in facts.unfinished]
    violations += _judge_steps(facts, of_task)
    violations += _judge_items(facts, lambda task: of_task[task])
    return violations


def _judge_steps(facts: Facts, of_task: dict[str, list[Execution]]) -> list[Violation]:
    """A step begins when the code of all steps before it is done."""
    violations = []
    for task, before in facts.after.items():
        done = [min((run.end for run in of_task[each] if run.how == "done"), default=None) for each in before]
        violations += [
            Violation("out_of_order", f"{run} before {before} were done")
            for run in of_task[task]
            if any(end is None or end > run.begin + CLOCKS_DIFFER for end in done)
        ]
    return violations


def _judge_items(facts: Facts, executions: Callable[[str], list[Execution]]) -> list[Violation]:
    """The items of a project begin in their order: none is put back in a storm."""
    violations = []
    last: dict[str, float] = {}
    for project, position, runs in facts.places:
        begins = [run.begin for task in runs for run in executions(task)]
        if begins and min(begins) < last.get(project, 0):
            violations.append(Violation("out_of_order", f"item {position} of {project} began before an earlier one"))
        last[project] = max([last.get(project, 0), *begins[:1]])
    return violations
