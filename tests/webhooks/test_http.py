"""Webhooks over HTTP: submit, the log, replays, secrets."""

from typing import Any

import httpx2

from state import get_task
from state.webhooks.deliveries import get_webhook
from tests.webhooks.conftest import Board
from tests.webhooks.receiver import Receiver, answer
from tests.webhooks.test_deliveries import verify


def submit_task(client: httpx2.Client, **options: Any) -> httpx2.Response:
    return client.post("/api/v1/tasks", json={"actor": "quick", "payload": {}, **options})


def test_a_webhook_from_its_submit_to_its_replay(client: httpx2.Client, board: Board, receiver: Receiver) -> None:
    accepted = submit_task(client, webhook_url=receiver.url, tenant="acme")
    assert accepted.status_code == 202, accepted.text
    task = get_task(accepted.json()["task_id"])
    path = f"/api/v1/tasks/{task.task_id}/webhooks"
    assert client.get(path).json() == {
        "items": [], "next_cursor": None, "url": receiver.url, "events": ["completed", "canceled", "dead"]
    }  # fmt: skip
    receiver.will(answer(500))
    board.run(task)
    board.deliver()
    [shown] = client.get(path).json()["items"]
    assert (shown["type"], shown["status"], shown["response_status"]) == ("task.completed", "scheduled", 500)
    assert shown["error"]["type"] == "ServerError"
    assert "traceback" not in shown["error"]
    assert client.get(shown["links"]["self"]).json()["actor"] == "webhook"
    assert len(client.get(shown["links"]["attempts"]).json()["items"]) == 1

    replayed = client.post(f"{path}/replay")
    assert replayed.status_code == 202
    [again] = replayed.json()["items"]
    assert (again["delivery_id"], again["is_new"]) == (shown["delivery_id"], False)
    board.deliver()
    for n in range(2):
        replayed = client.post(f"{path}/replay", json={"events": [shown["n"]]})
        assert replayed.json()["items"][0]["is_new"], n
        board.deliver()
    assert len(receiver.received) == 4
    assert len({each.id for each in receiver.received}) == 1
    page = client.get(path, params={"limit": 2}).json()
    rest = client.get(path, params={"limit": 2, "cursor": page["next_cursor"]}).json()
    assert [len(page["items"]), len(rest["items"]), rest["next_cursor"]] == [2, 1, None]

    secret = client.post("/api/v1/webhook-secrets/show", json={"tenant": "acme"}).json()["secret"]
    for received in receiver.received:
        verify(received, secret)


def test_what_is_refused(client: httpx2.Client, board: Board, receiver: Receiver) -> None:
    for url in ("http://example.com/", "https://10.0.0.1/", "https://a:b@example.com/", "x", ""):
        refused = submit_task(client, webhook_url=url)
        assert (refused.status_code, refused.json()["field"]) == (422, "webhook_url")
    for events in ([], ["queued"], "completed", [1]):
        refused = submit_task(client, webhook_url=receiver.url, webhook_events=events)
        assert refused.status_code == 422
        assert refused.json()["field"].startswith("webhook_events")
    text = {"content": "One. Two.", "webhook_url": "http://example.com/"}
    refused = client.post("/api/v1/tasks/summarize", json=text)
    assert (refused.status_code, refused.json()["field"]) == (422, "webhook_url")

    plain = submit_task(client).json()["task_id"]
    path = f"/api/v1/tasks/{plain}/webhooks"
    for response in (client.get(path), client.post(f"{path}/replay")):
        assert (response.status_code, response.json()["error"]) == (409, "no-webhook")
    missing = f"/api/v1/tasks/tq_{'0' * 32}/webhooks"
    for response in (client.get(missing), client.post(f"{missing}/replay", json={})):
        assert (response.status_code, response.json()["error"]) == (404, "task-not-found")
    task = submit_task(client, webhook_url=receiver.url).json()["task_id"]
    wrong: list[dict[str, Any]] = [{"events": each} for each in ([], [0], [2**31], [77])]
    for body in (*wrong, {"after": -1}, {"after": "1"}):
        response = client.post(f"/api/v1/tasks/{task}/webhooks/replay", json=body)
        assert (response.status_code, response.json()["error"]) == (422, "invalid-input"), body
    nobody = client.post("/api/v1/tasks", json={"actor": "webhook", "payload": {}})
    assert (nobody.status_code, nobody.json()["field"]) == (422, "actor")


def test_all_ways_to_submit_take_a_webhook(client: httpx2.Client, receiver: Receiver) -> None:
    hook = {"webhook_url": receiver.url, "webhook_events": ["dead", "running"]}
    text = client.post("/api/v1/tasks/summarize", json={"content": "One. Two.", **hook}).json()
    batch = client.post("/api/v1/tasks/batch", json={"tasks": [{"actor": "quick", "payload": {}, **hook}]}).json()
    [outcome] = batch["items"]
    for task_id in (text["task_id"], outcome["task"]["task_id"]):
        webhook = get_webhook(task_id)
        assert (webhook.url, webhook.events) == (receiver.url, ["dead", "running"])


def test_secrets_are_shown_only_where_they_are_asked_for(client: httpx2.Client) -> None:
    shown = client.post("/api/v1/webhook-secrets/show")
    assert shown.headers["cache-control"] == "no-store"
    first = shown.json()
    assert first["secret"].startswith("whsec_")
    assert (first["tenant"], first["expires_at"]) == (None, None)
    assert client.post("/api/v1/webhook-secrets/show", json={}).json() == first
    rotated = client.post("/api/v1/webhook-secrets/rotate", json={"overlap_seconds": 60}).json()
    assert rotated["secret"] != first["secret"]
    listed = client.get("/api/v1/webhook-secrets")
    assert [each["expires_at"] is None for each in listed.json()["items"]] == [True, False]
    assert "whsec_" not in listed.text
    assert client.post("/api/v1/webhook-secrets/rotate", json={"overlap_seconds": -1}).status_code == 422
