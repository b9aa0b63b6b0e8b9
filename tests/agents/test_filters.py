"""agent_name, task_type and workflow_id as filters of lists, redrive and dismiss."""

from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

import state
from state.settings import get_settings
from tests.cli.command import answer, succeed
from tests.support.observer import Observer
from tests.taskapi.running import RunningServer


@pytest.fixture
def client(database_url: str) -> Iterator[httpx2.Client]:
    with RunningServer() as server:
        yield server.client


@pytest.fixture
def tasks(database_url: str, connection: Observer) -> dict[str, str]:
    """The ids of three dead letters."""
    given = {
        "statistics": {"agent_name": "text", "task_type": "statistics", "input": {"text": "a"}},
        "extract": {"agent_name": "text", "task_type": "extract", "input": {"text": "a"}},
        "command": {"agent_name": "command", "task_type": "run", "input": {"command": ["true"]}},
    }
    ids = {name: state.submit("agent", payload).task_id for name, payload in given.items()}
    ids["other"] = state.submit("summarize", {"content": "extract"}).task_id
    connection.execute(
        "UPDATE callboard.tasks SET status = 'dead', finished_at = callboard.now(), error = '{\"type\": \"Boom\"}'"
    )
    return ids


def list_ids(page: dict[str, Any]) -> set[str]:
    return {task["task_id"] for task in page["items"]}


FILTERS = [
    ({"agent_name": "text"}, {"statistics", "extract"}),
    ({"agent_name": "text", "task_type": "extract"}, {"extract"}),
    ({"task_type": "run"}, {"command"}),
    ({"agent_name": "nobody"}, set()),
]


@pytest.mark.parametrize(("wanted", "names"), FILTERS)
def test_lists(tasks: dict[str, str], client: httpx2.Client, wanted: dict[str, str], names: set[str]) -> None:
    expected = {tasks[name] for name in names}
    options = [f"--{name.replace('_name', '').replace('_', '-')}={value}" for name, value in wanted.items()]
    assert {task.task_id for task in state.list_tasks(**wanted)} == expected  # type: ignore[arg-type]
    assert {task.task_id for task in state.list_dead_letters(**wanted)} == expected  # type: ignore[arg-type]
    for path, command in (("/tasks", "list"), ("/queues/dlq", "dlq")):
        assert list_ids(client.get(f"/api/v1{path}", params=wanted).json()) == expected
        assert list_ids(answer(command, *options)) == expected


@pytest.mark.parametrize("wanted", [wanted for wanted, _ in FILTERS])
@pytest.mark.parametrize(("verb", "after"), [("redrive", "queued"), ("dismiss", "canceled")])
def test_many_at_once(
    tasks: dict[str, str],
    client: httpx2.Client,
    monkeypatch: pytest.MonkeyPatch,
    verb: str,
    after: str,
    wanted: dict[str, str],
) -> None:
    monkeypatch.setenv("CALLBOARD_COMMANDS", "1")  # else a redrive without a key leaves out those of `command`
    get_settings.cache_clear()
    expected = next(names for each, names in FILTERS if each == wanted)
    path = f"/api/v1/queues/dlq/{verb}"
    assert client.post(path, json={**wanted, "dry_run": True}).json()["tasks"] == len(expected)
    assert client.post(path, json=wanted).json()["tasks"] == len(expected)
    moved = {name for name, task_id in tasks.items() if state.get_task(task_id).status == after}
    assert moved == expected
    assert {state.get_task(task_id).status for name, task_id in tasks.items() if name not in expected} == {"dead"}


def test_by_command(tasks: dict[str, str]) -> None:
    assert "1 dead letters are queued again" in succeed("redrive", "--agent", "text", "--task-type", "statistics")
    assert state.get_task(tasks["statistics"]).status == "queued"
    assert "1 dead letters are canceled" in succeed("dismiss", "--task-type", "run")
    assert state.get_task(tasks["command"]).status == "canceled"
    assert "agent text/extract" in succeed("dlq")


def test_unknown_filters_are_refused(tasks: dict[str, str]) -> None:
    for verb in (state.list_dead_letters, state.redrive, state.dismiss_many):
        with pytest.raises(TypeError, match="unknown filters: agent"):
            verb(agent="text")  # type: ignore[call-arg]


def test_the_views(tasks: dict[str, str], connection: Observer) -> None:
    wanted = (tasks["extract"],)
    for view, key in (("dead_letters", "task_id"), ("tasks", "id")):
        row = connection.fetch_one(f"SELECT agent_name, task_type FROM admin.{view} WHERE {key} = %s", wanted)
        assert row == {"agent_name": "text", "task_type": "extract"}
