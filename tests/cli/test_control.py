"""`callboard pause`, `resume`, `retry`, `dlq`, `redrive` and `dismiss`."""

from getpass import getuser
from typing import Protocol

import pytest
from pydantic import BaseModel

import state
from state import get_events, get_task
from state.tasks import catalog
from state.tasks.catalog import STANDARD_POLICY, ActorSpec
from tests.cli.command import answer, callboard, submit, succeed
from tests.support.observer import Observer

pytestmark = pytest.mark.usefixtures("database_url")


class Kill(Protocol):
    def __call__(self, task_id: str, error_type: str = "Boom", seconds: float = 0) -> str: ...


@pytest.fixture
def kill(connection: Observer) -> Kill:
    """Makes a task dead, `seconds` ago, and returns its id."""

    def kill(task_id: str, error_type: str = "Boom", seconds: float = 0) -> str:
        connection.execute(
            "UPDATE callboard.tasks SET status = 'dead', attempt = 1, "
            "finished_at = callboard.now() - make_interval(secs => %s), "
            "error = jsonb_build_object('type', %s::text, 'message', 'no luck') WHERE id = %s",
            [seconds, error_type, task_id],
        )
        return task_id

    return kill


def test_pause_and_resume() -> None:
    task_id = submit("noop")
    assert succeed("pause", task_id) == f"{task_id} is paused.\n"
    assert answer("resume", task_id)["status"] == "queued"
    assert callboard("resume", task_id).returncode == 4
    _, *moves = get_events(task_id)
    assert [(event.data["to"], event.data["by"]) for event in moves] == [("paused", getuser()), ("queued", getuser())]


def test_retry_with_another_field(kill: Kill) -> None:
    task_id = kill(submit("note", '{"text": "old", "seconds": 1}'))
    assert callboard("retry", task_id, "--set", "seconds=soon").returncode == 2
    task = answer("retry", task_id, "--set", "text=new")
    assert (task["status"], task["lane"], task["payload"]["text"], task["payload"]["seconds"]) == (
        "queued", "retry", "new", 1,
    )  # fmt: skip
    assert "payload" in [event.kind for event in get_events(task_id)]
    assert callboard("retry", task_id).returncode == 4


def test_dead_letters(kill: Kill) -> None:
    assert succeed("dlq") == "No dead letters.\n"
    old, other, new = kill(submit("noop"), seconds=7200), kill(submit("note"), "Bang"), kill(submit("noop"))
    assert [task["task_id"] for task in answer("dlq", "--limit", "2")["items"]] == [new, other]
    assert [task["task_id"] for task in answer("dlq", "--error-type", "Bang")["items"]] == [other]
    assert [task["task_id"] for task in answer("dlq", "--older-than", "1h")["items"]] == [old]
    said = succeed("dlq", "--actor", "note")
    assert "Bang: no luck" in said
    assert callboard("dlq", "--older-than", "soon").returncode == 2


def test_groups_of_dead_letters(kill: Kill) -> None:
    assert succeed("dlq", "--groups") == "No dead letters.\n"
    one, other, bang = kill(submit("noop")), kill(submit("note")), kill(submit("noop"), "Bang")
    assert "Boom: no luck" in succeed("dlq", "--groups")
    banged, boomed = answer("dlq", "--groups")["items"]
    assert (banged["task_id"], boomed["task_id"], boomed["tasks"]) == (bang, other, 2)
    group = ("--fingerprint", boomed["fingerprint"])
    assert [task["task_id"] for task in answer("dlq", *group)["items"]] == [other, one]
    assert answer("redrive", *group, "--actor", "noop")["tasks"] == 1
    assert answer("dismiss", *group)["tasks"] == 1
    assert callboard("dismiss", bang, *group).returncode == 2
    assert [state.get_task(each).status for each in (one, other, bang)] == ["queued", "canceled", "dead"]


def test_redrive(kill: Kill) -> None:
    old, new = kill(submit("noop"), seconds=7200), kill(submit("noop"))
    refused = callboard("redrive")
    assert refused.returncode == 2
    assert "--all" in refused.stderr
    assert answer("redrive", "--older-than", "1h", "--dry-run")["tasks"] == 1
    assert get_task(old).status == "dead"
    assert "1 dead letters are queued again." in succeed("redrive", "--older-than", "1h")
    assert (get_task(old).status, get_task(new).status) == ("queued", "dead")
    assert answer("redrive", "--all") == {
        "tasks": 1, "skipped": 0, "groups": [{"actor": "noop", "error_type": "Boom", "tasks": 1}], "dry_run": False,
    }  # fmt: skip


class NoFields(BaseModel):
    pass


def test_a_dead_letter_whose_dedup_key_is_held_is_skipped(kill: Kill, monkeypatch: pytest.MonkeyPatch) -> None:
    noop = ActorSpec("noop", "test", NoFields, 3, lambda: None, 60, STANDARD_POLICY, "")
    monkeypatch.setattr(catalog, "_actors", {"noop": noop})
    task_id = kill(state.submit("noop", {}, dedup_key="k").task_id)
    holder = state.submit("noop", {}, dedup_key="k").task_id
    refused = callboard("retry", task_id)
    assert refused.returncode == 4
    assert holder in refused.stderr
    assert answer("redrive", "--all")["skipped"] == 1
    assert "1 were skipped: another task holds their dedup key." in succeed("redrive", "--all")
    assert "1 would be skipped" in succeed("redrive", "--all", "--dry-run")


def test_dismiss(kill: Kill) -> None:
    one, two, three = (kill(submit("noop")) for _ in range(3))
    assert succeed("dismiss", one) == f"{one} is canceled.\n"
    assert callboard("dismiss", one).returncode == 4
    assert callboard("dismiss", two, "--all").returncode == 2
    assert callboard("dismiss").returncode == 2
    assert answer("dismiss", "--actor", "noop")["tasks"] == 2
    assert {state.get_task(each).status for each in (one, two, three)} == {"canceled"}
