"""Every command gives the same with the database and with a server."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import actors  # noqa: F401  (declares our actors)
from deploy.cli.commands import COMMANDS, GROUPS
from state.gates import Gate
from state.gates.declarations import declare
from tests.cli.command import answer, callboard, refusal, succeed
from tests.support import testactors  # noqa: F401  (declares noop)
from tests.support.observer import Observer
from tests.taskapi.running import RunningServer

Kill = Callable[[str], str]
LOCAL_ONLY = {"up", "migrate", "doctor", "prove", "profile"}
IN_OTHER_TESTS = {"batch", "export", "targets", "keys", "schedules", "webhooks"}


@pytest.fixture
def kill(connection: Observer) -> Kill:
    def kill(task_id: str) -> str:
        connection.execute(
            "UPDATE callboard.tasks SET status = 'dead', attempt = 1, finished_at = callboard.now(), "
            """error = '{"type": "Boom", "message": "no luck"}' WHERE id = %s""",
            [task_id],
        )
        return task_id

    return kill


@pytest.fixture
def server(database_url: str) -> Iterator[RunningServer]:
    with RunningServer() as running:
        yield running


@pytest.fixture(params=["database", "server"])
def where(request: pytest.FixtureRequest) -> dict[str, Any]:
    """The environment of the commands. With a server, they cannot reach a database."""
    request.getfixturevalue("database_url")
    if request.param == "database":
        return {}
    return {"CALLBOARD_URL": request.getfixturevalue("server").url, "CALLBOARD_DATABASE_URL": "postgresql://nowhere:1/"}


def test_all_commands(where: dict[str, Any], kill: Kill, tmp_path: Path) -> None:
    used = set()

    def run(*arguments: str, **options: Any) -> Any:
        used.add(arguments[0])
        return answer(*arguments, **options, **where)

    def text(*arguments: str) -> str:
        used.add(arguments[0])
        return succeed(*arguments, **where)

    declare([Gate("provider:leonardo", 3, breaker=True)])
    one = run("submit", "note", "--set", "text=a", "--priority", "high")["task_id"]
    assert one in text("list", "--text", "NOTE")
    assert run("list", "--text", "shark")["items"] == []
    assert run("show", one)["attempts"] == []
    assert "submitted, queued" in text("show", one)
    assert run("pause", one)["status"] == "paused"
    assert run("resume", one)["status"] == "queued"
    kill(one)
    assert [task["task_id"] for task in run("dlq")["items"]] == [one]
    assert run("retry", one, "--set", "text=b")["payload"]["text"] == "b"
    kill(one)
    assert run("redrive", "--all")["tasks"] == 1
    kill(one)
    assert run("dismiss", one)["status"] == "canceled"
    watched = callboard("watch", one, "--json", **where)
    assert watched.returncode == 6
    assert [json.loads(line)["kind"] for line in watched.stdout.splitlines()] == ["snapshot", "done"]
    used.add("watch")
    assert run("delete", one) == {"task_id": one, "deleted": True}
    assert one in refusal(3, "show", one, **where)
    two = run("submit", "noop")["task_id"]
    assert run("cancel", two)["status"] == "canceled"
    assert "canceled" in refusal(4, "cancel", two, **where)
    three, four = (run("submit", "noop")["task_id"] for _ in range(2))
    assert run("bulk", "pause", "--actor", "noop", "--dry-run")["tasks"] == 2
    refused = callboard("bulk", "pause", "--actor", "noop", **where)
    assert "2 tasks would be moved" in refused.stdout
    assert (refused.returncode, "Add --yes" in refused.stderr) == (2, True)
    assert run("bulk", "pause", "--actor", "noop", "--yes")["tasks"] == 2
    done = text("bulk", "cancel", three, four, two, "--yes")
    assert "2 tasks were moved." in done
    assert "1  skipped: illegal-transition, canceled" in done
    assert "--all" in refusal(2, "bulk", "cancel", **where)
    assert "not both" in refusal(2, "bulk", "cancel", three, "--all", **where)
    assert run("requeue-orphaned")["lost"]["count"] == 0
    assert "Dead workers: 0." in text("requeue-orphaned")
    assert run("queues")["queues"]["primary"] == 0
    assert "is paused" in text("queues", "pause", "test")
    assert "is open" in text("queues", "resume", "test")
    changed = run("gates", "set", "provider:leonardo", "--breaker-threshold", "0.3", "--breaker-seconds", "120")
    assert (changed["breaker_threshold"], changed["breaker_seconds"]) == (0.3, 120)
    assert run("gates", "set", "provider:leonardo", "--breaker-threshold", "none")["breaker_threshold"] is None
    assert "provider:leonardo" in text("gates")
    assert "No workers" in text("workers")
    assert run("overview")["troubles"][0]["kind"] == "no-worker"
    assert "There has never been a worker." in text("overview")
    assert run("metrics", "--by", "minute")["next_cursor"] is None
    assert "note" in text("actors")
    assert "payload_schema" in run("actors")["items"][0]
    assert run("agents")["items"]
    assert run("agent-events", "--from", "2030-01-01")["items"] == []
    assert run("recall", "anything")["items"] == []
    assert run("whoami")["role"] == "operator"
    assert ": operator, all tenants, " in text("whoami")
    assert "txt2img" in text("providers")
    preview = run("providers", "preview", "local", "txt2img", "--set", "width=64", "--set", "height=64")
    assert preview["width"] == 64
    assert "width" in text("providers", "preview", "local", "txt2img")
    assert "leonardo" in refusal(3, "providers", "preview", "nobody", "txt2img", **where)
    assert run("prompts", "put", "a b", "hello")["text"] == "hello"
    assert text("prompts", "get", "a b") == "hello\n"
    assert "nothing" in refusal(3, "prompts", "get", "nothing", **where)
    _use_projects(run, text, where)
    _use_workflows(run, text, tmp_path)
    assert used == (COMMANDS.keys() | GROUPS.keys()) - LOCAL_ONLY - IN_OTHER_TESTS


def _use_projects(run: Callable[..., Any], text: Callable[..., str], where: dict[str, Any]) -> None:
    project_id = run("project", "create", "Spring")["project_id"]
    added = ("--title", "Count", "--agent", "text", "--task-type", "statistics", "--input", '{"text": "a b"}')
    assert run("project", "add", project_id, *added)["items"][0]["title"] == "Count"
    assert "Count" in text("project", "items", project_id)
    assert "Spring" in text("project", "list")
    assert run("project", "show", project_id)["items"]["pending"] == 1
    assert run("project", "run", project_id)["run_id"].startswith("tq_")
    assert "already" in refusal(4, "project", "run", project_id, **where)
    assert run("project", "stop", project_id)["is_running"] is False  # its run had not started
    assert run("project", "force-stop", project_id)["success"] is True
    assert run("project", "status", project_id)["is_running"] is False
    watched = callboard("watch", project_id, **where)
    assert watched.returncode == 6, watched
    assert "stopped" in watched.stdout
    assert "single" in text("project", "runs", project_id)


def _use_workflows(run: Callable[..., Any], text: Callable[..., str], folder: Path) -> None:
    file = folder / "workflow.json"
    file.write_text('{"name": "Release", "steps": [{"key": "go", "kind": "approval"}]}')
    workflow_id = run("workflow", "create", str(file))["workflow_id"]
    assert "Release" in text("workflow", "list")
    assert "at go" in text("workflow", "list")
    assert "waits for a decision" in text("workflow", "show", workflow_id)
    assert "No tasks." in text("workflow", "step", workflow_id, "go")
    approved = run("workflow", "approve", workflow_id, "go", "--by", "anna")
    assert approved["status"] == "completed"
    assert "approved by anna" in text("watch", workflow_id)


def test_targets(where: dict[str, Any], kill: Kill) -> None:
    body = '{"actor": "noop", "payload": {}, "target": "printer/1"}\n'
    first, second = succeed("batch", "-", stdin=body * 2, **where).split()
    assert [task["task_id"] for task in answer("targets", "show", "printer/1", **where)["items"]] == [first, second]
    kill(first)
    [blocked] = answer("targets", "list", "--blocked", **where)["items"]
    assert (blocked["target"], blocked["task_id"], blocked["waiting"]) == ("printer/1", first, 1)
    assert "blocked" in succeed("targets", "list", **where)
    assert answer("targets", "resume", "printer/1", first, **where)["status"] == "queued"
    assert succeed("targets", "clear", "printer/1", first, **where) == f"{first} is canceled.\n"
    assert answer("targets", "list", "--blocked", **where)["items"] == []


def test_batch(where: dict[str, Any], tmp_path: Path) -> None:
    file = tmp_path / "tasks.jsonl"
    lines = [json.dumps({"text": str(n)}) for n in range(120)]
    file.write_text("\n".join([*lines, "", '{"seconds": "many"}', '{"text": "last"}']))
    done = callboard("batch", str(file), "--actor", "note", **where)
    assert done.returncode == 1
    assert len(set(done.stdout.split())) == 121
    assert "line 122: payload.seconds" in done.stderr
    assert "1 of 122 tasks were refused" in done.stderr
    outcomes = callboard("batch", "-", "--actor", "note", "--json", stdin='{"text": "a"}\n{"seconds": "b"}', **where)
    assert [json.loads(line)["status"] for line in outcomes.stdout.splitlines()] == [202, 422]
    assert "line 1" in refusal(2, "batch", "-", stdin="{", **where)
    assert len(answer("list", "--limit", "1000", **where)["items"]) == 122
