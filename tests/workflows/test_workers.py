"""Workflows on real worker processes, which are killed at random; the agents write down what they do."""

import random
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import actors  # noqa: F401  (declares the actors)
import tests.workflows.journalagents  # noqa: F401  (declares the agent)
from deploy.prove import journal
from state import get_attempts, retry
from state.errors import StepsStillFailed
from state.workflows import StoredWorkflow, Workflow, create_workflow, get_workflow, resume_workflow
from tests.support.eventually import eventually
from tests.support.observer import Observer
from tests.support.workers import WorkerTree

Start = Callable[..., WorkerTree]
ACTORS = "actors,tests.workflows.journalagents"
LAYERS, WIDTH = 4, 7


def make_step(file: Path, key: str, after: list[str], **more: Any) -> dict[str, Any]:
    before = [{"$result": each, "path": "name"} for each in after]
    step = {"key": key, "agent_name": "journal", "task_type": "note", "after": after, "max_attempts": 50}
    return {**step, "input": {"journal": str(file), "name": key, "before": before, **more}}


def make_diamond(file: Path, fails: dict[str, Path]) -> Workflow:
    """30 steps: one, four layers of seven, each after three of the layer before, and one after the last layer."""
    steps = [make_step(file, "first", [])]
    for layer in range(LAYERS):
        for place in range(WIDTH):
            key = f"l{layer}p{place}"
            after = sorted({f"l{layer - 1}p{(place + n) % WIDTH}" for n in range(3)}) if layer else ["first"]
            fails_while = {"fails_while": str(fails[key])} if key in fails else {}
            steps.append(make_step(file, key, after, seconds=0.2, **fails_while))
    steps.append(make_step(file, "last", [f"l{LAYERS - 1}p{place}" for place in range(WIDTH)]))
    assert len(steps) == 30
    return Workflow.model_validate(
        {"name": "diamond", "steps": steps, "failure_threshold": len(fails), "escalation": {"to": "ops"}}
    )


def count(file: Path, what: str) -> int:
    return sum(entry["what"] == what for entry in journal.read(file))


def check_journal(file: Path, workflow: StoredWorkflow) -> None:
    """Each step began after the ends of those before it, got their results, and ended once: an end that was written
    twice belongs to a worker that was killed before it could report it."""
    entries = journal.read(file)
    begins = Counter((entry["task"], entry["epoch"]) for entry in entries if entry["what"] == "begin")
    assert set(begins.values()) == {1}, "no execution began twice"
    for step in workflow.steps:
        mine = [entry for entry in entries if entry["name"] == step.key]
        assert {entry["task"] for entry in mine} == {step.task_id}, "one task for each step"
        ends = [entry for entry in mine if entry["what"] == "end"]
        outcomes = {attempt["epoch"]: attempt["outcome"] for attempt in get_attempts(step.task_id or "")}
        assert [outcomes[entry["epoch"]] for entry in ends if outcomes[entry["epoch"]] != "lost"] == ["completed"]
        for begin in (entry for entry in mine if entry["what"] == "begin"):
            assert begin["before"] == step.after
            for before in step.after:
                first = next(entry["at"] for entry in entries if (entry["what"], entry["name"]) == ("end", before))
                assert first < begin["at"], f"{step.key} began before {before} had ended"


def read_deadlocks(connection: Observer) -> int:
    query = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
    connection.execute("SELECT pg_stat_clear_snapshot()")
    return int(connection.fetch_one(query)["deadlocks"])


def test_a_diamond_with_failures_and_killed_workers(worker: Start, tmp_path: Path, connection: Observer) -> None:
    file = tmp_path / "journal"
    fails = {key: tmp_path / f"fails-{key}" for key in ("l1p3", "l2p6")}
    for flag in fails.values():
        flag.touch()
    chance = random.Random(14)
    trees = [worker(processes=2, threads=4, actors=ACTORS) for _ in range(2)]

    def kill_one_after(begins: int) -> None:
        """Kills a tree as soon as so many executions have begun."""
        seen = count(file, "begin")
        eventually(lambda: count(file, "begin") >= seen + begins or not is_running(), timeout=60, what="work goes on")
        place = chance.randrange(len(trees))
        trees[place].kill()
        trees[place] = worker(processes=2, threads=4, actors=ACTORS)

    its_id = create_workflow(make_diamond(file, fails)).workflow_id

    def is_running() -> bool:
        return get_workflow(its_id).status == "running"

    for _ in range(3):
        kill_one_after(chance.randint(2, 5))
    eventually(lambda: not is_running(), timeout=120, what="the threshold is reached")
    eventually(lambda: get_workflow(its_id).finished, timeout=60, what="what ran has ended")
    escalated = get_workflow(its_id)
    assert escalated.status == "escalated", escalated.reason
    dead = [step for step in escalated.steps if step.status == "dead"]
    assert {step.key for step in dead} == set(fails)
    assert all(step.status in ("completed", "dead", "pending") for step in escalated.steps)
    assert escalated.get_step("last").status == "pending"

    with pytest.raises(StepsStillFailed) as refused:
        resume_workflow(its_id)
    assert set(refused.value.steps) == set(fails)
    for flag in fails.values():
        flag.unlink()
    for step in dead:
        retry(step.task_id or "")
    resume_workflow(its_id)
    for _ in range(2):
        kill_one_after(chance.randint(1, 4))
    eventually(lambda: get_workflow(its_id).status == "completed", timeout=120, what="resume finishes it")
    completed = get_workflow(its_id)
    assert {step.status for step in completed.steps} == {"completed"}
    assert completed.get_step("last").result == {"name": "last"}
    check_journal(file, completed)
    assert connection.execute("SELECT * FROM admin.invariants").fetchall() == []
    assert read_deadlocks(connection) == 0


def test_tasks_of_a_step_pass_the_gates_of_their_input(worker: Start, tmp_path: Path, connection: Observer) -> None:
    """When the workflow is created nobody knows the inputs, nor their gates: the worker asks before the code starts."""
    worker(processes=2, threads=4, actors=ACTORS)
    file = tmp_path / "journal"
    name = {"$item": True, "path": "0"}
    alone = {
        "key": "alone",
        "agent_name": "journal",
        "task_type": "note_alone",
        "for_each": [["a"], ["b"], ["c"], ["d"]],
    }
    definition = {
        "name": "gated",
        "steps": [{**alone, "input": {"journal": str(file), "name": name, "seconds": 0.3}}],
    }
    its_id = create_workflow(Workflow.model_validate(definition)).workflow_id
    eventually(lambda: get_workflow(its_id).status == "completed", timeout=60, what="all four have run")
    entries = journal.read(file)
    assert [entry["what"] for entry in entries] == ["begin", "end"] * 4, "one after the other"
    assert {entry["name"] for entry in entries} == {"a", "b", "c", "d"}
    gates = connection.execute("SELECT DISTINCT gates FROM callboard.tasks WHERE workflow_id = %s", [its_id]).fetchall()
    assert gates == [{"gates": ["provider:one-at-a-time"]}]
    assert connection.execute("SELECT * FROM admin.invariants").fetchall() == []


def test_an_agent_that_completes_its_task_in_its_own_transaction(
    worker: Start, tmp_path: Path, connection: Observer
) -> None:
    """The row of the agent, the end of its task and the start of the next step are one transaction."""
    connection.execute("CREATE TABLE own_rows (name text, before text[])")
    worker(actors=ACTORS)
    steps = [
        {**make_step(tmp_path / "journal", key, after), "task_type": "own_row"}
        for key, after in (("a", []), ("b", ["a"]), ("c", ["b"]))
    ]
    its_id = create_workflow(Workflow.model_validate({"name": "rows", "steps": steps})).workflow_id
    eventually(lambda: get_workflow(its_id).status == "completed", timeout=60, what="all three have run")
    rows = connection.execute("SELECT name, before FROM own_rows ORDER BY name").fetchall()
    assert [(row["name"], row["before"]) for row in rows] == [("a", []), ("b", ["a"]), ("c", ["b"])]
    same = (
        "SELECT count(*) AS n FROM own_rows o JOIN callboard.tasks t ON t.step = o.name AND t.xmin = o.xmin "
        "WHERE t.workflow_id = %s"
    )
    assert connection.fetch_one(same, [its_id])["n"] == 3


def test_two_hundred_workflows_at_once(worker: Start, tmp_path: Path, connection: Observer) -> None:
    for _ in range(2):
        worker(processes=2, threads=8, actors=ACTORS)

    def create(number: int) -> str:
        file = tmp_path / f"journal-{number}"
        steps = [
            make_step(file, "a", []),
            make_step(file, "b", ["a"]),
            make_step(file, "c", ["a"]),
            make_step(file, "d", ["b", "c"]),
        ]
        return create_workflow(Workflow.model_validate({"name": f"number {number}", "steps": steps})).workflow_id

    with ThreadPoolExecutor(8) as pool:
        ids = list(pool.map(create, range(200)))
    left = "SELECT count(*) AS n FROM callboard.workflows WHERE status = 'running'"
    eventually(lambda: connection.fetch_one(left)["n"] == 0, timeout=240, every=0.5, what="all have ended")
    ended = [get_workflow(each) for each in ids]
    assert Counter(workflow.status for workflow in ended) == {"completed": 200}
    for number, workflow in enumerate(ended):
        check_journal(tmp_path / f"journal-{number}", workflow)
    assert connection.execute("SELECT * FROM admin.invariants").fetchall() == []
    assert read_deadlocks(connection) == 0
