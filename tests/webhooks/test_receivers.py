"""Receivers that fail, hang, redirect or answer too late: retried, refused, or dead."""

import json
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from actors.webhook import AT_ONCE_OF_TENANT, SCHEDULE, WebhookRequest, choose_wait, webhook
from state import cancel, get_attempts, get_task, list_dead_letters, submit
from state.gates.operations import put_gate
from state.settings import get_settings
from state.webhooks.deliveries import list_deliveries
from state.webhooks.secrets import show_secret
from tests.providers.servers.raw import RawServer, respond
from tests.support.observer import Observer
from tests.webhooks.conftest import Board
from tests.webhooks.receiver import (
    Behavior,
    Receiver,
    answer,
    answer_too_late,
    answer_without_end,
    close,
    hang,
    trickle,
)
from tests.webhooks.test_deliveries import verify


def test_a_receiver_that_fails_gets_the_same_message_again(board: Board, receiver: Receiver) -> None:
    receiver.will(answer(500), answer(404))
    task = board.complete(receiver.url)
    first = board.deliver_one()
    assert (first.status, first.error and first.error["type"]) == ("scheduled", "ServerError")
    [logged] = list_deliveries(task.task_id)
    assert (logged.status, logged.attempt, logged.response_status) == ("scheduled", 1, 500)
    assert logged.duration_ms is not None
    assert logged.next_attempt_at is not None
    second = board.retry_later()
    assert (second.status, second.error and second.error["type"]) == ("scheduled", "NotAccepted")
    assert board.retry_later().status == "completed"
    [logged] = list_deliveries(task.task_id)
    assert (logged.delivery_id, logged.status, logged.attempt) == (first.task_id, "completed", 3)
    assert (logged.response_status, logged.error, logged.type) == (204, None, "task.completed")
    assert {(each.id, each.body) for each in receiver.received} == {
        (f"{task.task_id}_{task.last_event}", receiver.received[0].body)
    }
    for received in receiver.received:
        verify(received, show_secret().secret)


def test_a_receiver_that_never_accepts_leaves_a_dead_letter_after_the_schedule_of_the_standard(
    board: Board, receiver: Receiver
) -> None:
    receiver.will(*[answer(500)] * 10)
    task = board.complete(receiver.url)
    waits = []
    delivery = board.deliver_one()
    while delivery.status == "scheduled":
        waits.append((delivery.available_at - delivery.updated_at).total_seconds())
        delivery = board.retry_later()
    assert all(wanted <= wait <= wanted * 1.1 + 0.01 for wanted, wait in zip(SCHEDULE, waits, strict=True))
    assert sum(SCHEDULE) == 75 * 3600 + 35 * 60 + 5
    assert delivery.status == "dead"
    assert [dead.task_id for dead in list_dead_letters(actor="webhook")] == [delivery.task_id]
    assert [each["error"]["details"]["status"] for each in get_attempts(delivery.task_id)] == [500] * 10
    assert len(receiver.received) == 10
    assert get_task(task.task_id).status == "completed"  # nothing of this concerns the task itself


@pytest.mark.parametrize("behavior", [hang, answer_too_late, trickle])
def test_an_answer_after_the_deadline_counts_as_none(
    board: Board, receivers: Callable[..., Receiver], allow: Callable[..., None], behavior: Behavior
) -> None:
    receiver = receivers(seconds=1)
    receiver.will(behavior)
    task = board.complete(receiver.url)
    failed = board.deliver_one()
    assert (failed.status, failed.error and failed.error["type"]) == ("scheduled", "NetworkTimeout")
    [logged] = list_deliveries(task.task_id)
    assert logged.response_status is None
    allow(receiver.host)
    assert board.retry_later().status == "completed"
    assert len({each.id for each in receiver.received}) == 1


def test_a_receiver_that_closes_the_connection_is_tried_again(board: Board, receiver: Receiver) -> None:
    receiver.will(close)
    board.complete(receiver.url)
    failed = board.deliver_one()
    assert (failed.status, failed.error and failed.error["type"]) == ("scheduled", "NetworkTimeout")
    assert board.retry_later().status == "completed"


def test_an_endless_answer_is_not_read(board: Board, receiver: Receiver) -> None:
    receiver.will(answer_without_end)
    board.complete(receiver.url)
    assert board.deliver_one().result["status"] == 200


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_never_followed(board: Board, receiver: Receiver, status: int) -> None:
    with RawServer(respond(b"secret of the inside")) as canary:
        receiver.will(answer(status, Location=f"{canary.origin}/latest/meta-data"))
        board.complete(receiver.url)
        refused = board.deliver_one()
        assert canary.connections == 0
    assert (refused.status, refused.error and refused.error["type"]) == ("scheduled", "RedirectRefused")
    assert len(receiver.received) == 1


def test_a_receiver_that_is_gone_is_dead_at_once(board: Board, receiver: Receiver) -> None:
    receiver.will(answer(410))
    board.complete(receiver.url)
    gone = board.deliver_one()
    assert (gone.status, gone.attempt, gone.error and gone.error["type"]) == ("dead", 1, "Gone")


@pytest.mark.parametrize("host", ["localhost", "localhost.", "ip6-localhost"])
def test_a_name_that_leads_to_this_machine_is_refused(board: Board, host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("socket.getaddrinfo", lambda *_, **__: [(2, 1, 6, "", ("127.0.0.1", 0))])
    with RawServer() as canary:
        board.complete(f"https://{host}:{canary.port}/hooks")
        refused = board.deliver_one()
        assert canary.connections == 0
    assert (refused.status, refused.attempt) == ("dead", 1)
    assert refused.error is not None
    assert refused.error["type"] == "PermissionDenied"
    assert "127.0.0.1" not in json.dumps(refused.error)  # where the name leads concerns the operator only


def test_a_host_that_the_operator_allows_no_more_is_refused(
    board: Board, receiver: Receiver, allow: Callable[..., None]
) -> None:
    task = submit("quick", {}, webhook_url=receiver.url)
    allow("127.0.0.1:1")
    board.run(task)
    assert board.deliver_one().status == "dead"
    assert receiver.received == []


def test_trusted_hosts_of_downloads_do_not_count(
    board: Board, receiver: Receiver, allow: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    task = submit("quick", {}, webhook_url=receiver.url)
    allow()
    monkeypatch.setenv("CALLBOARD_DOWNLOAD_TRUSTED_HOSTS", receiver.host)
    get_settings.cache_clear()
    board.run(task)
    assert board.deliver_one().status == "dead"
    assert receiver.received == []


def test_a_name_that_nobody_knows_is_tried_again(board: Board) -> None:
    board.complete("https://no-such-host.invalid/")
    failed = board.deliver_one()
    assert (failed.status, failed.error and failed.error["type"]) == ("scheduled", "HostNotFound")


@pytest.mark.parametrize(("asked", "waited"), [("3000", 3000), ("1", 5)])
def test_a_receiver_may_ask_for_a_longer_wait_only(board: Board, receiver: Receiver, asked: str, waited: float) -> None:
    receiver.will(answer(429, Retry_After=asked))
    board.complete(receiver.url)
    failed = board.deliver_one()
    assert (failed.error and failed.error["type"]) == "RateLimited"
    assert (failed.available_at - failed.updated_at).total_seconds() == pytest.approx(waited, abs=0.01)


@pytest.mark.parametrize(("attempt", "most", "waited"), [(1, 10, 5), (3, 10, 1800), (10, 10, 86400), (11, 20, 5)])
def test_a_revived_delivery_begins_the_schedule_again(attempt: int, most: int, waited: float) -> None:
    assert choose_wait(1, attempt, most) == waited


def test_what_a_private_receiver_answers_is_not_shown(board: Board, receiver: Receiver) -> None:
    receiver.will(answer(500, b"password of the inside"))
    board.complete(receiver.url)
    assert "inside" not in json.dumps(board.deliver_one().error)


def test_a_slow_receiver_holds_up_nobody(board: Board, receivers: Callable[..., Receiver]) -> None:
    slow, quick = receivers(), receivers()
    for _ in range(5):
        board.complete(slow.url)
    board.complete(slow.url, tenant="acme")
    board.complete(quick.url)
    started = [claimed.payload["gate"] for claimed in board.claim("webhooks", 10)]
    assert sorted(started) == sorted([
        f"webhook:/{slow.host}", f"webhook:/{slow.host}", f"webhook:acme/{slow.host}", f"webhook:/{quick.host}"
    ])  # fmt: skip


def test_who_names_many_receivers_holds_few_places(board: Board) -> None:
    for port in range(1, 21):
        board.complete(f"https://example.com:{port}/", tenant="greedy")
    board.complete("https://example.com/", tenant="acme")
    started = board.claim("webhooks", 30)
    assert Counter(claimed.tenant for claimed in started) == {"greedy": AT_ONCE_OF_TENANT, "acme": 1}
    put_gate("webhooks:greedy", max_concurrent=AT_ONCE_OF_TENANT + 3)
    assert len(board.claim("webhooks", 30)) == 3


def test_a_receiver_that_is_down_costs_no_attempts_beyond_its_breaker(
    board: Board, receivers: Callable[..., Receiver], connection: Observer
) -> None:
    down, up = receivers(), receivers()
    down.will(*[answer(503)] * 30)
    for _ in range(20):
        board.complete(down.url)
    board.complete(down.url, tenant="acme")
    board.complete(up.url)
    delivered = board.deliver()
    assert len(up.received) == 1
    assert sum(task.attempt for task in delivered if task.tenant is None) < 15
    waiting = connection.fetch_one("SELECT count(*) AS n FROM callboard.tasks WHERE status = 'waiting' AND attempt = 0")
    assert waiting["n"] >= 5
    expires: dict[str, Any] = connection.fetch_one(
        "SELECT min(expires_at - created_at) AS age FROM callboard.tasks WHERE actor = 'webhook'"
    )
    assert expires["age"].days == 4  # even if it stays down, each delivery ends


def test_a_canceled_delivery_is_not_sent(board: Board, receiver: Receiver) -> None:
    receiver.will(answer(500))
    board.complete(receiver.url)
    cancel(board.deliver_one().task_id)
    board.clock.advance(1000)
    board.sweep()
    assert board.deliver() == []
    assert len(receiver.received) == 1


def test_the_gate_and_limits_of_a_delivery_are_those_that_the_actor_declares(board: Board, receiver: Receiver) -> None:
    board.complete(receiver.url, tenant="50%/acme")
    columns = "payload, queue, max_attempts, gates, gate_limits, max_age"
    [row] = board.read(f"SELECT {columns} FROM callboard.tasks WHERE actor = 'webhook'")
    gates = webhook.spec.ask_gates(WebhookRequest.model_validate(row["payload"]))
    assert {gate.key for gate in gates} == {f"webhook:50%25%2Facme/{receiver.host}", "webhooks:50%25%2Facme"}
    assert dict(zip(row["gates"], row["gate_limits"], strict=True)) == {
        "tenant:50%/acme": None, **{gate.key: gate.limit for gate in gates}
    }  # fmt: skip
    assert (row["queue"], row["max_attempts"]) == (webhook.spec.queue, webhook.spec.max_attempts)
    assert row["max_age"] == webhook.spec.max_age()
