"""`callboard project`: the command as a process of its own."""

import json
from functools import partial
from pathlib import Path

from state.projects.queue import start_run
from state.projects.reads import get_project, list_items
from tests.cli import command
from tests.cli.command import callboard
from tests.projects.byhand import WorkerByHand
from tests.projects.conftest import MakeProject, Start

ACTORS = "actors,tests.projects.agents"
succeed = partial(command.succeed, CALLBOARD_ACTORS=ACTORS)
answer = partial(command.answer, CALLBOARD_ACTORS=ACTORS)
refusal = partial(command.refusal, CALLBOARD_ACTORS=ACTORS)


def test_a_project_from_beginning_to_end(start: Start, database_url: str, tmp_path: Path) -> None:
    start()
    project_id = succeed("project", "create", "Spring catalog").strip()
    one = ["--title", "Count", "--agent", "text", "--task-type", "statistics", "--input", '{"text": "a b"}']
    item_id = succeed("project", "add", project_id, *one, "--priority", "high").strip()
    file = tmp_path / "items.json"
    file.write_text(json.dumps({"items": [{"title": "Fail", "agent_name": "diary", "task_type": "write",
                                           "input": {"fails": True}, "priority": 3}]}))  # fmt: skip
    succeed("project", "add", project_id, str(file))
    first = answer("project", "items", project_id)["items"][0]
    assert (first["item_id"], first["priority"]) == (item_id, 1)
    assert answer("project", "status", project_id)["is_running"] is False
    assert "never started" in succeed("project", "status", project_id)
    done = callboard("project", "run", project_id, "--mode", "loop", "--watch", CALLBOARD_ACTORS=ACTORS)
    assert done.returncode == 1, done  # the last run has died
    assert "item Count: in_progress -> completed" in done.stdout
    assert "queue running -> stopped (run died)" in done.stdout
    runs = answer("project", "runs", project_id)["items"]
    assert [run["reason"] for run in runs] == ["run died", None]
    assert answer("project", "statistics", project_id)["runs_since_start"] == 2
    assert "2: 1 completed, 1 failed, 0 canceled" in succeed("project", "statistics", project_id)
    failed = list_items(project_id, status="failed")[0].item_id
    assert "pending" in succeed("project", "retry", project_id, failed)
    assert project_id in succeed("project", "list")
    assert "1 pending" in succeed("project", "show", project_id)
    assert answer("project", "show", project_id)["items"]["pending"] == 1


def test_stop_and_force_stop(make_project: MakeProject, by_hand: WorkerByHand) -> None:
    project_id = make_project("a", "b")
    start_run(project_id, "loop")
    claimed, _ = by_hand.take()
    assert "stops after this item" in succeed("project", "stop", project_id)
    assert "already running" in refusal(4, "project", "run", project_id)
    by_hand.complete(claimed)
    assert "Nothing is running." in succeed("project", "force-stop", project_id, "--yes")
    start_run(project_id, "single")
    by_hand.take()
    done = callboard("project", "force-stop", project_id, "--json", CALLBOARD_ACTORS=ACTORS)
    assert done.returncode == 1  # the worker of this test does not stop
    told = json.loads(done.stdout)
    assert (told["success"], told["still_running"][0]["sandbox_id"]) == (False, None)
    assert callboard("project", "force-stop", project_id, stdin="n\n", CALLBOARD_ACTORS=ACTORS).returncode == 1
    assert get_project(project_id).queue_state.should_stop


def test_refusals(make_project: MakeProject) -> None:
    project_id, nobody = make_project("a"), "pj_" + "0" * 32
    assert "no project" in refusal(3, "project", "show", "nonsense")
    assert "no project" in refusal(3, "project", "run", nobody)
    assert "no item" in refusal(3, "project", "retry", project_id, "it_x")
    assert "is pending" in refusal(4, "project", "retry", project_id, list_items(project_id)[0].item_id)
    assert "priority" in refusal(2, "project", "run", project_id, "--priority", "urgent")
    assert "--title" in refusal(2, "project", "add", project_id)
    assert "no agent" in refusal(2, "project", "add", project_id, "--title", "x", "--agent", "no", "--task-type", "y")
    assert "items" in refusal(2, "project", "add", project_id, "-", stdin="{}")
