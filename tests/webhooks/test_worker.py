"""Deliveries by real worker processes: at least once, whatever dies."""

import signal
import threading
from collections.abc import Callable

from state import cancel, get_events, get_task, submit
from state.webhooks.deliveries import list_deliveries
from state.webhooks.secrets import show_secret
from tests.support import testactors  # noqa: F401  (declares note)
from tests.support.eventually import eventually
from tests.support.observer import Observer
from tests.support.workers import WorkerTree
from tests.webhooks.receiver import Exchange, Receiver, answer, hang
from tests.webhooks.test_deliveries import verify


def test_a_worker_that_dies_between_the_answer_and_its_report_sends_the_same_message_again(
    receivers: Callable[..., Receiver], worker: Callable[..., WorkerTree], connection: Observer
) -> None:
    """Nobody can know whether the receiver has got it: the id tells it that it is the same."""
    receiver = receivers()
    killed = threading.Event()

    def accept_and_kill(exchange: Exchange) -> None:
        tree.signal_all(signal.SIGKILL)
        killed.set()
        answer(200)(exchange)

    receiver.will(accept_and_kill)
    tree = worker()
    url = receiver.url.replace("/hooks", "/services/T0/B0/xyzzy")
    task = submit("note", {"value": "done"}, webhook_url=url, webhook_events=["completed"])
    assert killed.wait(30)
    second = worker(webhook_seconds=5)

    def is_delivered() -> bool:
        return [each.status for each in list_deliveries(task.task_id)] == ["completed"]

    eventually(is_delivered, what="delivered by the second worker")
    first, again = receiver.received
    assert (first.id, first.body) == (again.id, again.body)
    assert verify(again, show_secret().secret)["data"]["result"] == "done"
    [delivery] = list_deliveries(task.task_id)
    assert (delivery.attempt, delivery.response_status) == (2, 204)

    receiver.will(hang)
    canceled = submit("note", {}, webhook_url=url, webhook_events=["completed"])
    eventually(lambda: len(receiver.received) == 3, what="the receiver hangs")
    [running] = list_deliveries(canceled.task_id)
    cancel(running.delivery_id)
    eventually(lambda: get_task(running.delivery_id).status == "canceled", what="the delivery is canceled")
    assert get_events(running.delivery_id)[-1].data["to"] == "canceled"
    assert len(receiver.received) == 3

    assert connection.execute("SELECT * FROM admin.invariants").fetchall() == []
    for text in (tree.log.read_text(), second.log.read_text()):
        assert "xyzzy" not in text
        assert show_secret().secret not in text
