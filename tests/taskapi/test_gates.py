"""Gates over HTTP: reading and changing them at run time."""

from collections.abc import Callable
from typing import Any

import httpx2
import pytest

from state.gates import Gate
from state.gates.declarations import declare
from tests.support.eventually import eventually
from tests.taskapi.fake_worker import FakeWorker
from tests.taskapi.problems import expect_problem

Submit = Callable[..., dict[str, Any]]
GATES = "/api/v1/gates"
LEONARDO = f"{GATES}/provider:leonardo"


@pytest.fixture(autouse=True)
def gates(actors: None) -> None:
    declare([Gate("provider:leonardo", 3, breaker=True), Gate("provider:slow/er", 1)])


def change(client: httpx2.Client, path: str, **body: Any) -> dict[str, Any]:
    answer = client.put(path, json=body)
    assert answer.status_code == 200, answer.text
    assert client.get(path).json() == answer.json()
    changed: dict[str, Any] = answer.json()
    return changed


def test_the_list_and_one_gate(client: httpx2.Client) -> None:
    page = client.get(GATES).json()
    assert [gate["key"] for gate in page["items"]] == ["provider:leonardo", "provider:slow/er"]
    assert page["next_cursor"] is None
    gate = client.get(f"{LEONARDO}/").json()
    assert gate == page["items"][0]
    assert (gate["max_concurrent"], gate["declared_concurrent"], gate["paused"]) == (3, 3, False)
    assert (gate["breaker_threshold"], gate["breaker_state"], gate["closed_until"]) == (0.5, "closed", None)
    assert (gate["running"], gate["waiting"]) == (0, 0)
    for path in ("provider:slow/er", "provider%3Aslow%2Fer"):
        assert client.get(f"{GATES}/{path}").json()["key"] == "provider:slow/er"


def test_pages(client: httpx2.Client) -> None:
    declare([Gate("tenant:ä"), Gate("tenant:z %")])
    seen, cursor = [], ""
    for _ in range(4):
        page = client.get(f"{GATES}?limit=1{cursor}").json()
        seen += [gate["key"] for gate in page["items"]]
        cursor = f"&cursor={page['next_cursor']}"
    assert seen == ["provider:leonardo", "provider:slow/er", "tenant:z %", "tenant:ä"]
    assert page["next_cursor"] is None
    expect_problem(client.get(f"{GATES}?cursor=x"), 422, "invalid-parameter", field="cursor")


def test_fields_that_are_left_out_stay(client: httpx2.Client) -> None:
    changed = change(client, LEONARDO, max_concurrent=5, rate_count=10, rate_seconds=60)
    assert (changed["max_concurrent"], changed["declared_concurrent"]) == (5, 3)
    changed = change(client, LEONARDO, paused=True, closed_until="2030-01-31T10:00:00+02:00")
    assert (changed["max_concurrent"], changed["rate_count"], changed["rate_seconds"]) == (5, 10, 60)
    assert (changed["paused"], changed["closed_until"]) == (True, "2030-01-31T08:00:00Z")
    changed = change(client, LEONARDO, breaker_threshold=0.9, breaker_volume=3, breaker_window=5, breaker_seconds=0.5)
    assert (changed["breaker_threshold"], changed["breaker_volume"]) == (0.9, 3)
    assert (changed["breaker_window"], changed["breaker_seconds"]) == (5, 0.5)
    nothing = {"max_concurrent": None, "rate_count": None, "rate_seconds": None, "closed_until": None}
    changed = change(client, LEONARDO, **nothing, breaker_threshold=None)
    assert {name: changed[name] for name in nothing} == nothing
    assert (changed["paused"], changed["breaker_threshold"]) == (True, None)
    assert change(client, LEONARDO) == changed


def test_a_deploy_keeps_the_changes(client: httpx2.Client) -> None:
    change(client, LEONARDO, max_concurrent=1)
    declare([Gate("provider:leonardo", 3, breaker=True)])
    assert client.get(LEONARDO).json()["max_concurrent"] == 1


@pytest.mark.parametrize("key", ["provider:nobody", "nonsense", "tenant:", "a/b/c", "%00", "tenant:%0A", "%F0"])
def test_an_unknown_gate(client: httpx2.Client, key: str) -> None:
    expect_problem(client.get(f"{GATES}/{key}"), 404, "unknown-gate")
    expect_problem(client.put(f"{GATES}/{key}", json={"paused": True}), 404, "unknown-gate")


def test_a_tenant_can_be_limited_before_its_first_task(client: httpx2.Client) -> None:
    expect_problem(client.get(f"{GATES}/tenant:acme"), 404, "unknown-gate")
    assert change(client, f"{GATES}/tenant:acme", max_concurrent=0)["max_concurrent"] == 0


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "negative limit": ({"max_concurrent": -1}, "max_concurrent"),
    "limit as text": ({"max_concurrent": "3"}, "max_concurrent"),
    "limit as a fraction": ({"max_concurrent": 1.5}, "max_concurrent"),
    "limit as a boolean": ({"max_concurrent": True}, "max_concurrent"),
    "limit beyond reason": ({"max_concurrent": 10**30}, "max_concurrent"),
    "rate of 0 seconds": ({"rate_count": 1, "rate_seconds": 0}, "rate_seconds"),
    "rate of 0 starts": ({"rate_count": 0, "rate_seconds": 1}, "rate_count"),
    "rate without seconds": ({"rate_count": 1}, "rate_seconds"),
    "rate without a count": ({"rate_seconds": 1}, "rate_count"),
    "seconds beyond floats": ({"rate_count": 1, "rate_seconds": 10**400}, "rate_seconds"),
    "time without a zone": ({"closed_until": "2030-01-01T00:00:00"}, "closed_until"),
    "time as a number": ({"closed_until": 1}, "closed_until"),
    "time that is none": ({"closed_until": "tomorrow"}, "closed_until"),
    "paused as null": ({"paused": None}, "paused"),
    "paused as a number": ({"paused": 1}, "paused"),
    "threshold above 1": ({"breaker_threshold": 1.1}, "breaker_threshold"),
    "volume 0": ({"breaker_volume": 0}, "breaker_volume"),
    "volume as null": ({"breaker_volume": None}, "breaker_volume"),
    "window below 0": ({"breaker_window": -1}, "breaker_window"),
    "seconds as null": ({"breaker_seconds": None}, "breaker_seconds"),
    "unknown field": ({"limit": 3}, "limit"),
    "not for clients": ({"breaker_state": "closed"}, "breaker_state"),
}


def test_bad_values(client: httpx2.Client) -> None:
    before = client.get(LEONARDO).json()
    for name, (body, field) in BAD.items():
        document = expect_problem(client.put(LEONARDO, json=body), 422, "invalid-input")
        assert document["field"] == field, name
    expect_problem(client.put(LEONARDO, content=b""), 400, "empty-body")
    expect_problem(client.put(LEONARDO, content=b"{"), 400, "invalid-json")
    expect_problem(client.put(LEONARDO, json=[]), 422, "invalid-input")
    assert client.get(LEONARDO).json() == before
    answer = client.post(LEONARDO, json={})
    expect_problem(answer, 405, "method-not-allowed")
    assert set(answer.headers["allow"].split(", ")) == {"GET", "HEAD", "PUT"}


def test_a_change_takes_effect(client: httpx2.Client, submit: Submit, fake_worker: FakeWorker) -> None:
    """The tenant's tasks may not start, and then they may."""
    gate = f"{GATES}/tenant:acme"
    change(client, gate, max_concurrent=0)
    task = submit(tenant="acme")
    with pytest.raises(ValueError, match="not enough values"):
        fake_worker.start()
    waits = client.get(f"/api/v1/tasks/{task['task_id']}").json()
    assert (waits["status"], waits["waiting"]["gate"]) == ("waiting", "tenant:acme")
    assert client.get(gate).json()["waiting"] == 1
    change(client, gate, max_concurrent=1)
    eventually(lambda: client.get(f"/api/v1/tasks/{task['task_id']}").json()["status"] == "queued", 2, what="woken")
    assert fake_worker.start().id == task["task_id"]
    assert client.get(gate).json()["running"] == 1
