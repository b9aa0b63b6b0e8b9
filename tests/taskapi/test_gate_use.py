"""The use of a gate over HTTP: samples, holders, waiters and changes, page by page."""

from collections.abc import Callable
from typing import Any

import httpx2
import pytest

from state.gates import Gate
from state.gates.declarations import declare
from state.gates.sampling import sample_gates
from tests.taskapi.fake_worker import FakeWorker
from tests.taskapi.problems import expect_problem

Submit = Callable[..., dict[str, Any]]
KEY = "tenant:a/b"


def read(client: httpx2.Client, name: str, **query: Any) -> dict[str, Any]:
    answer = client.get(f"/api/v1/gate-{name}", params={"gate": KEY, **query})
    assert answer.status_code == 200, answer.text
    body: dict[str, Any] = answer.json()
    return body


def read_all(client: httpx2.Client, name: str) -> list[dict[str, Any]]:
    """Reads a list in pages of one."""
    items, cursor = [], None
    while True:
        page = read(client, name, limit=1, **({"cursor": cursor} if cursor else {}))
        items += page["items"]
        if (cursor := page["next_cursor"]) is None:
            return items


def test_who_holds_and_who_waits(client: httpx2.Client, submit: Submit, fake_worker: FakeWorker) -> None:
    client.put(f"/api/v1/gates/{KEY}", json={"max_concurrent": 1})
    tasks = [submit(tenant="a/b")["task_id"] for _ in range(4)]
    running = fake_worker.start()
    [holder] = read_all(client, "holders")
    assert (holder["task_id"], holder["worker_id"], holder["tenant"]) == (running.id, "fake worker", "a/b")
    assert holder["since"].endswith("Z")
    line = read_all(client, "waiters")
    assert [each["task_id"] for each in line] == [each for each in tasks if each != running.id]
    assert [each["position"] for each in line] == [1, 2, 3]
    sample_gates()
    [sample] = read(client, "samples")["items"]
    assert (sample["running"], sample["waiting"], sample["max_concurrent"]) == (1, 3, 1)
    assert read(client, "samples", since=sample["at"]) == {"items": []}
    gate = client.get(f"/api/v1/gates/{KEY}").json()
    assert (gate["state"], gate["running"], gate["waiting"]) == ("full", 1, 3)
    busy = client.get("/api/v1/gates?busy=true&trend=true").json()["items"]
    assert [(each["key"], len(each["trend"])) for each in busy] == [(KEY, 60)]


def test_changes_and_reset(client: httpx2.Client) -> None:
    declare([Gate("provider:x", 2)])
    for limit in (1, 5):
        client.put(f"/api/v1/gates/{KEY}", json={"max_concurrent": limit})
    client.put("/api/v1/gates/provider:x", json={"max_concurrent": 7})
    assert [each["changes"] for each in read_all(client, "changes")] == [
        {"max_concurrent": [1, 5]},
        {"max_concurrent": [None, 1]},
    ]
    everywhere = client.get("/api/v1/gate-changes").json()["items"]
    assert [each["gate"] for each in everywhere] == ["provider:x", KEY, KEY]
    assert client.post("/api/v1/gates/provider:x/reset").json()["max_concurrent"] == 2
    expect_problem(client.post("/api/v1/gates/provider:nobody/reset"), 404, "unknown-gate")


def test_a_gate_that_nobody_knows_has_nothing(client: httpx2.Client) -> None:
    for name in ("samples", "holders", "waiters", "changes"):
        assert read(client, name)["items"] == []


@pytest.mark.parametrize("name", ["samples", "holders", "waiters", "changes"])
def test_bad_parameters(client: httpx2.Client, name: str) -> None:
    path = f"/api/v1/gate-{name}"
    expect_problem(client.get(f"{path}?gate="), 422, "invalid-parameter", field="gate")
    expect_problem(client.get(f"{path}?gate=a%00"), 422, "invalid-parameter", field="gate")
    if name != "changes":
        expect_problem(client.get(path), 422, "invalid-parameter", field="gate")
    if name == "samples":
        expect_problem(client.get(f"{path}?gate=a&since=now"), 422, "invalid-parameter", field="since")
    else:
        for cursor in ("x", "MS8yLzM", "LTE"):
            expect_problem(client.get(f"{path}?gate=a&cursor={cursor}"), 422, "invalid-parameter", field="cursor")


def test_keys_that_look_like_paths(client: httpx2.Client) -> None:
    """A gate may be called like a route."""
    for key in ("target:a/holders", "target:a/reset", "tenant:..", "tenant:a/../b"):
        client.put("/api/v1/gates/" + key.replace("/", "%2F").replace("..", "%2E%2E"), json={"max_concurrent": 3})
    keys = {each["key"] for each in client.get("/api/v1/gates").json()["items"]}
    assert {"target:a/holders", "target:a/reset"} <= keys
    assert client.get("/api/v1/gates/target:a/holders").json()["key"] == "target:a/holders"
    assert client.post("/api/v1/gates/target:a/reset/reset").json()["key"] == "target:a/reset"
