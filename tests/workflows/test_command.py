"""`callboard workflow`, as a process of its own, with a real worker where it has to run something."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import actors  # noqa: F401  (declares the agents)
from state.tasks.ids import new_workflow_id
from state.workflows import get_workflow
from tests.cli.command import answer, callboard, refusal, succeed
from tests.support.eventually import eventually
from tests.support.workers import ROOT, WorkerTree

Start = Callable[..., WorkerTree]
EXAMPLE = str(ROOT / "examples" / "workflow.json")
ASK: dict[str, Any] = {"name": "ask", "steps": [{"key": "ask", "kind": "approval"}]}


def create(definition: dict[str, Any]) -> str:
    """Returns the id of the new workflow."""
    return succeed("workflow", "create", "-", stdin=json.dumps(definition)).strip()


@pytest.mark.usefixtures("database_url")
def test_create_list_and_show() -> None:
    its_id = succeed("workflow", "create", EXAMPLE).strip()
    created = answer("workflow", "create", "-", stdin=json.dumps(ASK))
    assert (created["status"], created["steps"][0]["status"]) == ("running", "waiting")
    listed = answer("workflow", "list")
    assert [item["workflow_id"] for item in listed["items"]] == [created["workflow_id"], its_id]
    page = answer("workflow", "list", "--limit", "1")
    rest = answer("workflow", "list", "--before", page["next_cursor"])
    assert [item["workflow_id"] for item in rest["items"]] == [its_id]
    assert answer("workflow", "list", "--status", "failed") == {"items": [], "next_cursor": None}
    assert "release notes" in succeed("workflow", "list")
    assert answer("workflow", "show", its_id)["steps"][0]["key"] == "fetch"
    shown = succeed("workflow", "show", its_id)
    assert "Escalation: editors" in shown
    assert "command/run" in shown


@pytest.mark.usefixtures("database_url")
def test_decisions() -> None:
    its_id = create(ASK)
    assert "waits for a decision" in succeed("workflow", "show", its_id)
    assert succeed("workflow", "approve", its_id, "ask", "--by", "anna", "--note", "fine").endswith("completed.\n")
    step = get_workflow(its_id).get_step("ask")
    assert (step.decided_by, step.note) == ("anna", "fine")
    assert "is not possible" in refusal(4, "workflow", "reject", its_id, "ask")
    assert "approved by anna: fine" in succeed("workflow", "show", its_id)
    other = create(ASK)
    assert answer("workflow", "reject", other, "ask")["status"] == "failed"
    assert get_workflow(other).get_step("ask").decided_by
    assert "ask" in refusal(4, "workflow", "resume", other)
    assert succeed("workflow", "cancel", other).endswith("canceled.\n")
    assert "canceled" in refusal(4, "workflow", "cancel", other)


@pytest.mark.usefixtures("database_url")
def test_what_is_refused(tmp_path: Path) -> None:
    unknown = new_workflow_id()
    for words in (("show", unknown), ("watch", unknown), ("cancel", unknown), ("resume", unknown), ("show", "wf_1")):
        assert "There is no workflow" in refusal(3, "workflow", *words)
    assert "no step" in refusal(3, "workflow", "approve", create(ASK), "nothing")
    cycle = {"name": "x", "steps": [{"key": "a", "kind": "approval", "after": ["a"]}]}
    assert "step a: " in refusal(2, "workflow", "create", "-", stdin=json.dumps(cycle))
    assert "steps: " in refusal(2, "workflow", "create", "-", stdin='{"name": "x", "steps": []}')
    assert "Cannot read" in refusal(2, "workflow", "create", str(tmp_path / "nothing"))


def test_watch_follows_a_workflow_to_its_end(worker: Start) -> None:
    worker()
    steps = [
        {"key": "fetch", "agent_name": "command", "task_type": "run", "input": {"command": ["printf", "two words"]}},
        {
            "key": "count", "after": ["fetch"], "agent_name": "text", "task_type": "statistics",
            "input": {"text": {"$result": "fetch", "path": "output"}},
        },
    ]  # fmt: skip
    definition = json.dumps({"name": "words", "steps": steps})
    done = callboard("workflow", "create", "-", "--watch", "--json", stdin=definition)
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert (lines[0]["kind"], lines[-1]["kind"]) == ("snapshot", "done")
    assert [line["n"] for line in lines[1:-1]] == list(range(lines[0]["n"] + 1, lines[-1]["n"] + 1))
    assert lines[-1]["data"]["steps"][1]["result"]["words"] == 2
    again = callboard("workflow", "watch", lines[-1]["data"]["workflow_id"])
    assert (again.returncode, "completed" in again.stdout) == (0, True)


def test_watch_tells_how_it_ended(worker: Start) -> None:
    worker()
    its_id = succeed("workflow", "create", EXAMPLE).strip()
    assert callboard("workflow", "watch", its_id).returncode == 1
    eventually(lambda: get_workflow(its_id).status == "escalated", what="the step of the example fails")
    succeed("workflow", "cancel", its_id)
    assert callboard("workflow", "watch", its_id).returncode == 6


def test_the_example_is_that_of_the_document() -> None:
    text = (ROOT / "docs" / "workflows.md").read_text()
    assert (ROOT / "examples" / "workflow.json").read_text() in text
