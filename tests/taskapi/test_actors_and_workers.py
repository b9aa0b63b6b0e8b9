"""The lists of actors and workers."""

import httpx2

from state.workers.identity import Identity
from state.workers.registry import register
from tests.support.clock import Clock
from tests.support.observer import Observer


def test_actors(client: httpx2.Client) -> None:
    page = client.get("/api/v1/actors").json()
    assert page["next_cursor"] is None
    found = {actor["name"]: actor for actor in page["items"]}
    assert {"media_generation", "summarize", "agent", "strict"} <= set(found)
    strict = found["strict"]
    assert (strict["queue"], strict["max_attempts"], strict["time_limit_seconds"], strict["gates"]) == (
        "other",
        3,
        60,
        [],
    )
    assert strict["payload_schema"]["required"] == ["text"]
    assert strict["policy"]["default"] == [5, 15, 60, 300]
    assert found["summarize"]["max_age_seconds"] == 3600


def test_workers(client: httpx2.Client, clock: Clock, connection: Observer) -> None:
    assert client.get("/api/v1/workers").json() == {"items": [], "next_cursor": None}
    register(worker := Identity.of_this_process(), ["stage", "other"], 8)
    [shown] = client.get("/api/v1/workers/").json()["items"]
    assert (shown["id"], shown["pid"], shown["queues"]) == (worker.id, worker.pid, ["stage", "other"])
    assert (shown["threads"], shown["coroutines"], shown["running"], shown["alive"]) == (8, 0, 0, True)
    clock.advance(60)
    [silent] = client.get("/api/v1/workers").json()["items"]
    assert (silent["alive"], silent["silent_seconds"] > 59) == (False, True)
