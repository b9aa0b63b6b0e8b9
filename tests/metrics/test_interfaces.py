"""Metrics over HTTP and on the command line."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import httpx2
import pytest

from taskapi.streams.feed import Pace
from tests.cli.command import answer, refusal, succeed
from tests.metrics.clock import START, StandingClock
from tests.support.builders import TaskBuilder
from tests.taskapi.problems import expect_problem
from tests.taskapi.running import RunningServer

PATH = "/api/v1/metrics/tasks"


@pytest.fixture
def client(make_task: TaskBuilder, clock: StandingClock, measure: Callable[[], int]) -> Iterator[httpx2.Client]:
    """A server; `quick` at 12:00, 12:01 and 12:02, an agent at 12:02."""
    for _ in range(3):
        make_task("completed")
        clock.advance(minutes=1)
    clock.set(clock.now - timedelta(seconds=1))
    make_task("dead", actor="agent", payload={"agent_name": "writer", "task_type": "draft"})
    clock.set(START + timedelta(minutes=3))
    measure()
    with RunningServer(Pace()) as server:
        yield server.client


def get(client: httpx2.Client, **parameters: Any) -> Any:
    response = client.get(PATH, params=parameters)
    assert response.status_code == 200, response.text
    return response.json()


def test_an_item(client: httpx2.Client) -> None:
    item = get(client, agent_name="writer")["items"][0]
    assert item == {
        "period": "2031-05-06T12:02:00Z",
        "actor": "agent",
        "agent_name": "writer",
        "task_type": "draft",
        "tasks_created": 1,
        "tasks_completed": 0,
        "tasks_failed": 1,
        "attempts": 1,
        "attempts_failed": 1,
        "error_rate": 1.0,
        "average_latency": None,
        "greatest_latency": None,
        "worker_heartbeat_delay": None,
        "average_heartbeat_delay": None,
    }


def test_pages(client: httpx2.Client) -> None:
    whole = get(client)
    assert [(item["period"][11:16], item["actor"]) for item in whole["items"]] == [
        ("12:02", "agent"), ("12:02", "quick"), ("12:01", "quick"), ("12:00", "quick")
    ]  # fmt: skip
    assert whole["next_cursor"] is None
    items: list[Any] = []
    page: Any = {"next_cursor": None}
    while True:
        page = get(client, limit=1, **({"cursor": page["next_cursor"]} if items else {}))
        items += page["items"]
        if page["next_cursor"] is None:
            break
    assert items == whole["items"]


def test_parameters(client: httpx2.Client) -> None:
    at = "2031-05-06T12:01:00Z"
    assert len(get(client, **{"from": at})["items"]) == 3
    assert len(get(client, to=at)["items"]) == 1
    assert len(get(client, **{"from": at, "to": "2031-05-06T14:02:00+02:00"})["items"]) == 1
    assert [item["tasks_created"] for item in get(client, resolution="hour", actor="quick")["items"]] == [3]
    assert [item["period"] for item in get(client, resolution="day", actor="quick")["items"]] == [
        "2031-05-06T00:00:00Z"
    ]
    assert get(client, actor="nobody") == {"items": [], "next_cursor": None}


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("from=yesterday", "from"),
        ("to=12", "to"),
        ("from=2031-05-06T12:00:00", "from"),
        ("from=2031-05-06T12:00:00Z&to=2031-05-06T12:00:00Z", "to"),
        ("resolution=second", "resolution"),
        ("limit=0", "limit"),
        ("cursor=abc", "cursor"),
        ("cursor=MjAyNi0xMS0xOFQwMjowMFovJTAwLy8", "cursor"),  # 2026-11-18T02:00Z/%00//
        ("since=2031-05-06T12:00:00Z", "since"),
    ],
)
def test_wrong_parameters_are_refused(client: httpx2.Client, query: str, field: str) -> None:
    problem = expect_problem(client.get(f"{PATH}?{query}"), 422, "invalid-parameter")
    assert problem["field"] == field


@pytest.mark.usefixtures("client")
def test_the_command() -> None:
    table = succeed("metrics", "--by", "minute")
    assert "2031-05-06 12:02" in table
    assert "writer draft" in table
    assert "100.0%" in table
    [hour] = answer("metrics", "--actor", "quick")["items"]
    assert (hour["tasks_completed"], hour["error_rate"]) == (3, 0.0)
    page = answer("metrics", "--by", "minute", "--limit", "3")
    rest = answer("metrics", "--by", "minute", "--before", page["next_cursor"])
    assert (len(page["items"]), len(rest["items"]), rest["next_cursor"]) == (3, 1, None)
    assert f"--before {page['next_cursor']}" in succeed("metrics", "--by", "minute", "--limit", "3")
    assert "Nothing happened" in succeed("metrics", "--agent", "nobody")
    assert len(answer("metrics", "--by", "day", "--from", "2031-05-06", "--to", "2031-05-07")["items"]) == 2
    assert answer("metrics", "--by", "day", "--to", "2031-05-06")["items"] == []


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--from", "yesterday"], "ISO 8601"),
        (["--from", "2031-05-07", "--to", "2031-05-06"], "later"),
        (["--before", "nothing"], "--before"),
        (["--before", "2026-11-18T02:00Z/%00//"], "--before"),
        (["--agent", "\udcff"], "not UTF-8"),  # the byte FF
        (["--by", "second"], "second"),
    ],
)
@pytest.mark.usefixtures("database_url")
def test_the_command_refuses(arguments: list[str], complaint: str) -> None:
    assert complaint in refusal(2, "metrics", *arguments)
