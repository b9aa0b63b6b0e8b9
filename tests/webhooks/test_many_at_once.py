"""Deliveries wait for their receivers without threads, and are interrupted without being repeated."""

import threading
from collections.abc import Callable

from actors.webhook import WebhookRequest, list_gates
from state import NewTask, cancel, get_task, pause, submit_many
from state.gates.declarations import declare
from state.gates.operations import put_gate
from state.webhooks.deliveries import list_deliveries
from tests.support import testactors  # noqa: F401  (declares note)
from tests.support.eventually import eventually
from tests.support.following import get_stages, wait_for_status, wait_until_finished
from tests.support.workers import WorkerTree
from tests.webhooks.receiver import Exchange, Receiver

MANY = 100


def test_a_hundred_wait_for_a_slow_receiver_and_none_is_sent_twice(
    receivers: Callable[..., Receiver], worker: Callable[..., WorkerTree]
) -> None:
    receiver = receivers(seconds=60)
    let_go = threading.Event()

    def answer_late(exchange: Exchange) -> None:
        exchange.connection.sendall(b"HTTP/1.1 204 No Content\r\n")
        while not let_go.wait(1):
            exchange.connection.sendall(b"X-Not: yet\r\n")
        exchange.connection.sendall(b"\r\n")

    receiver.will(*[answer_late] * MANY)
    gates = list_gates(WebhookRequest(task_id="tq_" + "0" * 32, n=1, gate=f"webhook:/{receiver.host}"))
    declare(gates)
    for gate in gates:
        put_gate(gate.key, max_concurrent=MANY)
    tree = worker(threads=2, coroutines=MANY)
    task_ids = submit_many(
        [NewTask("note", {}, webhook_url=receiver.url, webhook_events=["completed"]) for _ in range(MANY)]
    )
    eventually(lambda: len(receiver.received) == MANY, what=f"{MANY} messages wait for their answers")
    deliveries = [delivery.delivery_id for task_id in task_ids for delivery in list_deliveries(task_id)]

    canceled, paused = deliveries[:10], deliveries[10]
    for task_id in canceled:
        cancel(task_id)
    for task_id in canceled:
        wait_for_status(task_id, "canceled")
    pause(paused)  # the message may have been accepted: the answer is waited for
    eventually(lambda: "seen" in get_stages(paused))

    let_go.set()
    assert {wait_until_finished(task_id).status for task_id in deliveries[10:]} == {"completed"}
    assert get_task(paused).result["status"] == 204
    assert len(receiver.received) == len({received.id for received in receiver.received}) == MANY
    assert "blocks the event loop" not in tree.log.read_text()
