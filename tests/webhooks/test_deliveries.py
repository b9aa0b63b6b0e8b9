"""From the move of a task to the receiver: what is sent, and how it is signed."""

import base64
import hashlib
import hmac
import json
from collections.abc import Callable
from typing import Any

import pytest
from standardwebhooks import Webhook, WebhookVerificationError

from state import cancel, get_events, get_task, pause, resume, retry, submit, submit_many
from state.errors import InvalidPayload
from state.tasks.new_task import NewTask
from state.webhooks.deliveries import get_webhook, list_deliveries
from state.webhooks.secrets import show_secret
from tests.support import testactors
from tests.support.observer import Observer
from tests.webhooks.conftest import Board
from tests.webhooks.receiver import Received, Receiver


def verify(received: Received, secret: str) -> Any:
    """Verifies a message with the standard's own package, and once more by the text of the standard: the signature is
    the HMAC-SHA256 of id, timestamp and body with full stops between them."""
    message = Webhook(secret).verify(received.body, received.headers)
    key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    assert 24 <= len(key) <= 64
    signed = b".".join([
        received.headers["webhook-id"].encode(), received.headers["webhook-timestamp"].encode(), received.body
    ])  # fmt: skip
    expected = "v1," + base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode()
    assert expected in received.headers["webhook-signature"].split(" ")
    assert received.headers["webhook-timestamp"].isdecimal()
    return message


def test_the_end_of_a_task_is_reported_with_a_signature_of_the_standard(board: Board, receiver: Receiver) -> None:
    task = board.complete(receiver.url, {"answer": 42}, tenant="acme", target="site")
    delivery = board.deliver_one()
    assert (delivery.status, delivery.actor, delivery.queue, delivery.tenant) == (
        "completed", "webhook", "webhooks", "acme"
    )  # fmt: skip
    assert delivery.payload == {"task_id": task.task_id, "n": task.last_event, "gate": f"webhook:acme/{receiver.host}"}
    [received] = receiver.received
    assert received.path == "/hooks?source=callboard"
    assert received.headers["content-type"] == "application/json"
    assert received.id == f"{task.task_id}_{task.last_event}"
    message = verify(received, show_secret("acme").secret)
    assert (message["type"], message["data"]["n"]) == ("task.completed", task.last_event)
    event = get_events(task.task_id)[-1]
    assert message["timestamp"] == event.at.isoformat().replace("+00:00", "Z")
    expected = {
        "task_id": task.task_id, "status": "completed", "from": "running", "result": {"answer": 42}, "error": None,
        "actor": "quick", "tenant": "acme", "target": "site", "attempt": 1, "result_omitted": False,
    }  # fmt: skip
    assert expected.items() <= message["data"].items()
    for other in (show_secret(None).secret, show_secret("other").secret):
        with pytest.raises(WebhookVerificationError):
            Webhook(other).verify(received.body, received.headers)


def test_every_end_is_reported_whichever_statement_brings_it(
    board: Board, receiver: Receiver, connection: Observer
) -> None:
    dead = board.run(submit("quick", {}, webhook_url=receiver.url, max_attempts=1), "failed")
    canceled = submit("quick", {}, webhook_url=receiver.url)
    cancel(canceled.task_id)
    [many] = submit_many([NewTask("quick", {}, webhook_url=receiver.url)])
    completed = board.run(get_task(many))
    expired = submit("quick", {}, webhook_url=receiver.url, max_age_seconds=60)
    board.clock.advance(61)
    board.sweep()
    connection.execute("UPDATE callboard.events SET data = jsonb_set(data, '{error,traceback}', '\"line 1\"')")
    assert {each.status for each in board.deliver()} == {"completed"}
    messages = {each["data"]["task_id"]: each for each in map(read, receiver.received)}
    assert {task_id: each["type"] for task_id, each in messages.items()} == {
        dead.task_id: "task.dead",
        canceled.task_id: "task.canceled",
        completed.task_id: "task.completed",
        expired.task_id: "task.dead",
    }
    error = messages[dead.task_id]["data"]["error"]
    assert error["type"] == "Boom"
    assert all("traceback" not in (each["data"]["error"] or {}) for each in messages.values())


def read(received: Received) -> Any:
    return json.loads(received.body)


def test_only_the_chosen_statuses_are_reported_and_each_carries_its_number(board: Board, receiver: Receiver) -> None:
    chosen = ["running", "paused", "dead", "scheduled"]
    task = submit("quick", {}, webhook_url=receiver.url, webhook_events=chosen)
    pause(task.task_id)
    resume(task.task_id)
    for _ in range(2):
        board.run(task, "failed", retry_seconds=10)
        board.clock.advance(20)
        board.sweep()
    retry(task.task_id)
    board.run(task)
    board.deliver()
    reported = sorted((each["data"]["n"], each["type"]) for each in map(read, receiver.received))
    assert [kind.removeprefix("task.") for _, kind in reported] == [
        "paused", "running", "scheduled", "running", "dead", "running",
    ]  # fmt: skip
    moves = [event for event in get_events(task.task_id) if event.kind == "status" and event.data["to"] in chosen]
    assert [n for n, _ in reported] == [event.n for event in moves]
    assert [each.n for each in list_deliveries(task.task_id)] == [n for n, _ in reported]


def test_a_task_without_a_webhook_has_no_delivery(board: Board, connection: Observer) -> None:
    board.complete(None)
    count = connection.fetch_one("SELECT count(*) AS n FROM callboard.tasks WHERE actor = 'webhook'")
    assert count["n"] == 0


def test_a_large_result_is_left_out(board: Board, receiver: Receiver) -> None:
    board.complete(receiver.url, {"text": "x" * 300_000})
    board.deliver()
    data = read(receiver.received[0])["data"]
    assert (data["result"], data["result_omitted"]) == (None, True)


def test_a_move_and_its_delivery_commit_together_or_not_at_all(
    board: Board, receiver: Receiver, connection: Observer
) -> None:
    task = submit("quick", {}, webhook_url=receiver.url)
    count = "SELECT count(*) AS n FROM callboard.webhook_deliveries"
    end = "UPDATE callboard.tasks SET status = 'canceled', last_event = 2 WHERE id = %s"
    with connection.transaction(force_rollback=True):
        connection.execute(end, [task.task_id])
        assert connection.fetch_one(count)["n"] == 1
    assert connection.fetch_one(count)["n"] == 0
    cancel(task.task_id)
    assert connection.fetch_one(count)["n"] == 1


def test_an_error_in_a_delivery_does_not_undo_the_end_and_is_shown(
    board: Board, receiver: Receiver, connection: Observer
) -> None:
    connection.execute("ALTER TABLE callboard.webhook_deliveries ADD CHECK (n < 0) NOT VALID")
    task = board.complete(receiver.url, "paid for")
    assert (task.status, task.result) == ("completed", "paid for")
    rows = connection.execute("SELECT invariant, task_id FROM admin.invariants").fetchall()
    assert rows == [{"invariant": "webhook event without its delivery", "task_id": task.task_id}]


@pytest.mark.parametrize(
    "url",
    [
        "http://example.com/", "ftp://example.com/", "https://user:secret@example.com/", "https://user@example.com/",
        "https://example.com/#part", "https://", "x", "", "https://127.0.0.1/", "https://0x7f.1/", "https://[::1]/",
        "https://169.254.169.254/latest", "https://10.0.0.1:8443/", f"https://example.com/{'x' * 2000}",
    ],
)  # fmt: skip
def test_urls_that_are_refused_at_submit(url: str) -> None:
    with pytest.raises(InvalidPayload) as refused:
        submit("quick", {}, webhook_url=url)
    assert refused.value.field == "webhook_url"
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("events", [[], ["queued"], ["waiting"], ["done"], "completed"])
def test_events_that_are_refused_at_submit(events: Any) -> None:
    with pytest.raises(InvalidPayload) as refused:
        submit("quick", {}, webhook_url="https://example.com/", webhook_events=events)
    assert refused.value.field == "webhook_events"


def test_an_actor_can_send_with_a_webhook(receiver: Receiver) -> None:
    sent = testactors.note.send_with_options(
        args=({"text": "x"},), webhook_url=receiver.url, webhook_events=["running", "dead", "dead"]
    )
    webhook = get_webhook(sent.message_id)
    assert (webhook.url, webhook.events) == (receiver.url, ["running", "dead"])


def test_events_without_a_url_are_refused() -> None:
    with pytest.raises(InvalidPayload, match="needs a webhook_url"):
        submit("quick", {}, webhook_events=["dead"])


def test_private_hosts_need_the_operator_and_a_port(allow: Callable[..., None]) -> None:
    allow("hooks.internal:8080", "[fd00::1]:9000")
    submit("quick", {}, webhook_url="http://hooks.internal:8080/x")
    submit("quick", {}, webhook_url="http://[fd00::1]:9000/x")
    for url in ("http://hooks.internal/x", "http://hooks.internal:8081/x", "http://hooks.internal.evil:8080/"):
        with pytest.raises(InvalidPayload):
            submit("quick", {}, webhook_url=url)
    allow("hooks.internal")
    with pytest.raises(SystemExit, match="must be a host and a port"):
        submit("quick", {}, webhook_url="https://example.com")


def test_nobody_can_submit_a_delivery_directly() -> None:
    with pytest.raises(InvalidPayload, match="are created by the moves of tasks"):
        submit("webhook", {"task_id": "tq_" + "0" * 32, "n": 1, "gate": "webhook:/example.com"})
