"""Schedules over HTTP: routes and problems."""

from collections.abc import Iterator

import httpx2
import pytest

from state.schedules.starts import start_due
from state.tasks.ids import new_schedule_id
from tests.schedules.conftest import NOON, SetClock, at
from tests.taskapi.problems import expect_problem
from tests.taskapi.running import RunningServer

API = "/api/v1/schedules"
NEW = {
    "name": "weekdays",
    "cron": "30 6 * * 1-5",
    "timezone": "Europe/Berlin",
    "actor": "note",
    "payload": {"text": "a"},
}


@pytest.fixture
def client(database_url: str, set_clock: SetClock) -> Iterator[httpx2.Client]:
    set_clock(NOON)
    with RunningServer() as server:
        yield server.client


def test_a_preview(client: httpx2.Client) -> None:
    previewed = client.get(f"{API}/preview", params={"cron": "30 6 * * 1-5", "timezone": "Europe/Berlin"})
    assert previewed.status_code == 200, previewed.text
    assert previewed.json() == {
        "cron": "30 6 * * 1-5",
        "timezone": "Europe/Berlin",
        "description": "At 06:30 on Monday through Friday",
        "next_ticks": [f"2030-05-{day}T04:30:00Z" for day in (16, 17, 20, 21, 22)],
    }
    assert client.get(f"{API}/preview", params={"cron": "@hourly"}).json()["timezone"] == "UTC"
    for field, query in {
        "cron": {"cron": "61 * * * *"},
        "timezone": {"cron": "@daily", "timezone": "Europe/Berlim"},
    }.items():
        refused = client.get(f"{API}/preview", params=query)
        assert expect_problem(refused, 422, "invalid-parameter")["field"] == field
    assert expect_problem(client.get(f"{API}/preview"), 422, "invalid-parameter")["field"] == "cron"


def test_the_whole_way(client: httpx2.Client, set_clock: SetClock) -> None:
    made = client.post(API, json=NEW)
    assert (made.status_code, made.headers["location"]) == (201, made.json()["links"]["self"])
    schedule = made.json()
    here = schedule["links"]["self"]
    assert schedule["description"] == "At 06:30 on Monday through Friday"
    assert schedule["next_at"] == "2030-05-16T04:30:00Z"
    assert schedule["next_ticks"] == [f"2030-05-{day}T04:30:00Z" for day in (16, 17, 20, 21, 22)]
    assert (schedule["catch_up"], schedule["overlap"], schedule["paused"]) == ("one", "allow", False)
    assert (schedule["last_tick"], schedule["last_task_id"], schedule["runs"]) == (None, None, 0)
    assert (schedule["last_task_status"], schedule["last_task_at"]) == (None, None)
    assert client.get(here).json() == schedule
    assert client.get(API).json() == {"items": [schedule], "next_cursor": None}

    set_clock(at("05:00", 16))
    start_due()
    asked = client.post(f"{here}/run")
    assert (asked.status_code, asked.headers["location"]) == (202, asked.json()["links"]["task"])
    task = client.get(asked.headers["location"]).json()
    assert (task["task_id"], task["status"]) == (asked.json()["task_id"], "queued")
    shown = client.get(here).json()
    assert (shown["last_task_id"], shown["last_task_status"]) == (task["task_id"], "queued")
    assert shown["last_task_at"] == task["created_at"]
    first = client.get(f"{here}/runs", params={"limit": 1}).json()
    assert [(run["n"], run["tick"], run["task_status"]) for run in first["items"]] == [(2, None, "queued")]
    second = client.get(f"{here}/runs", params={"limit": 1, "cursor": first["next_cursor"]}).json()
    assert [(run["n"], run["tick"]) for run in second["items"]] == [(1, "2030-05-16T04:30:00Z")]
    assert second["next_cursor"] is None
    [event] = client.get(f"/api/v1/tasks/{second['items'][0]['task_id']}/events").json()["items"]
    assert event["data"]["schedule_id"] == schedule["schedule_id"]

    changed = client.patch(here, json={"cron": "@hourly", "priority": "low"}).json()
    assert (changed["next_at"], changed["priority"], changed["payload"]["text"]) == ("2030-05-16T06:00:00Z", 3, "a")
    assert client.patch(here, json={"priority": None}).json()["priority"] == 2
    assert client.post(f"{here}/pause").json()["paused"] is True
    assert client.post(f"{here}/resume").json()["next_at"] == "2030-05-16T06:00:00Z"
    gone = client.delete(here)
    assert (gone.status_code, gone.content) == (204, b"")
    expect_problem(client.get(here), 404, "schedule-not-found")


def test_pages(client: httpx2.Client) -> None:
    made = [client.post(API, json={**NEW, "name": f"s{n}", "tenant": "acme"}).json()["schedule_id"] for n in range(3)]
    page = client.get(API, params={"limit": 2, "tenant": "acme"}).json()
    rest = client.get(API, params={"limit": 2, "tenant": "acme", "cursor": page["next_cursor"]}).json()
    assert [each["schedule_id"] for each in page["items"] + rest["items"]] == made[::-1]
    assert rest["next_cursor"] is None
    assert client.get(API, params={"tenant": "other"}).json()["items"] == []
    expect_problem(client.get(API, params={"cursor": "!"}), 422, "invalid-parameter")


def test_problems(client: httpx2.Client) -> None:
    here = client.post(API, json={**NEW, "overlap": "skip"}).json()["links"]["self"]
    expect_problem(client.post(API, json=NEW), 409, "schedule-exists")
    expect_problem(client.post(API, json={**NEW, "actor": "nobody"}), 404, "unknown-actor")
    wrong = {
        "cron": "61 * * * *", "timezone": "Mars/Base", "payload": [], "priority": 7, "catch_up": "most", "surprise": 1,
        "jitter_seconds": -1, "max_attempts": 0, "name": "",
    }  # fmt: skip
    for field, value in wrong.items():
        for refused in (
            client.post(API, json={**NEW, "name": "b", field: value}),
            client.patch(here, json={field: value}),
        ):
            assert expect_problem(refused, 422, "invalid-input")["field"] == field
    refused = client.post(API, json={**NEW, "name": "b", "cron": "0 6 31 2 *"})
    assert "bad day-of-month" in expect_problem(refused, 422, "invalid-input")["detail"]
    for field in ("name", "cron", "timezone", "actor", "payload", "catch_up", "overlap", "jitter_seconds", "tenant"):
        expect_problem(client.patch(here, json={field: None}), 422, "invalid-input")
    assert client.patch(here, json={}).status_code == 200
    client.post(f"{here}/run")
    busy = expect_problem(client.post(f"{here}/run"), 409, "schedule-busy")
    assert "has not ended" in busy["detail"]
    for schedule_id in (new_schedule_id(), "sc_1", "x" * 300):
        nowhere = f"{API}/{schedule_id}"
        for answer in (
            client.get(nowhere),
            client.patch(nowhere, json={}),
            client.delete(nowhere),
            client.post(f"{nowhere}/pause"),
            client.post(f"{nowhere}/resume"),
            client.post(f"{nowhere}/run"),
            client.get(f"{nowhere}/runs"),
        ):
            expect_problem(answer, 404, "schedule-not-found")
