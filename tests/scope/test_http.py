"""What a caller of a tenant gets over HTTP: no id of another one, and no traceback unless it is an operator."""

from collections.abc import Iterator
from contextlib import contextmanager

from starlette.testclient import TestClient

from state.access.caller import Caller, Role
from taskapi import create_app
from tests.access.conftest import LOCAL
from tests.scope.conftest import Worlds

LISTS = (
    "tasks",
    "queues/dlq",
    "queues/dlq/groups",
    "workflows",
    "projects",
    "targets",
    "targets/disk",
    "agent-events",
    "agent-events/search?q=whale",
)


@contextmanager
def open_client(role: Role) -> Iterator[TestClient]:
    app = create_app(caller=Caller(role, tenant="a", name="alice"), import_actors=False)
    with TestClient(app, **LOCAL) as client:  # type: ignore[arg-type]
        yield client


def test_no_answer_has_an_id_of_another_tenant(worlds: Worlds) -> None:
    ours, theirs = worlds.ours, worlds.theirs
    pages = [
        *LISTS,
        *(f"tasks/{its_id}{part}" for its_id in ours.own for part in ("", "/attempts", "/events") if "tq_" in its_id),
        *(f"workflows/{its_id}{part}" for its_id in ours.own for part in ("", "/events") if "wf_" in its_id),
        *(f"projects/{ours.project}{part}" for part in ("", "/items", "/runs", "/events", "/queue/status")),
        f"generations/{ours.generation}",
        f"agent-events/{ours.agent_event}",
    ]
    foreign = {*theirs.own, theirs.generation, theirs.content, theirs.agent_event, theirs.failed_item, '"b"'}
    with open_client("reader") as client:
        for page in pages:
            answer = client.get(f"/api/v1/{page}")
            assert answer.status_code == 200, page
            assert not [its_id for its_id in foreign if its_id in answer.text], page
            assert "secret line" not in answer.text, page
        batch = {"project_ids": [theirs.project]}
        assert client.get(f"/api/v1/tasks/{theirs.queued}").json()["error"] == "task-not-found"
    with open_client("submitter") as client:
        [outcome] = client.post("/api/v1/projects/batch/run", json=batch).json()["items"]
        assert (outcome["error"], outcome["run_id"]) == ("project-not-found", None)


def test_the_frames_of_a_stream_hide_tracebacks(worlds: Worlds) -> None:
    for role, shown in (("submitter", False), ("operator", True)):
        with open_client(role) as client:  # type: ignore[arg-type]
            path = f"/api/v1/tasks/{worlds.ours.dead}/stream"
            whole = client.get(path).text  # snapshot, done
            rest = client.get(f"{path}?after=1").text  # events, done
            assert [text.count("event: done") for text in (whole, rest)] == [1, 1]
            assert ["secret line" in text for text in (whole, rest)] == [shown, shown]
            assert client.get(f"/api/v1/tasks/{worlds.theirs.dead}/stream").status_code == 404


def test_an_accepted_task_shows_no_traceback_even_to_operators(worlds: Worlds) -> None:
    """The answer is kept for those who repeat the request, who may be others."""
    with open_client("operator") as client:
        client.post(f"/api/v1/tasks/{worlds.ours.dead}/retry")
        again = {"actor": "quick", "payload": {}, "dedup_key": "same"}
        accepted = client.post("/api/v1/tasks", json=again, headers={"Idempotency-Key": "k"})
        assert accepted.json()["task_id"] == worlds.ours.dead
        assert accepted.json()["error"]["traceback"] is None
