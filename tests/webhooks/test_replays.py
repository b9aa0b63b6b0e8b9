"""Replays: from the task's own event numbers, with the same id for the same event."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from state import cancel, delete, get_events, submit
from state.access.caller import Caller
from state.errors import InvalidPayload, NoWebhook, TaskNotFound
from state.webhooks.deliveries import get_webhook, list_deliveries, replay
from tests.support.eventually import eventually
from tests.support.observer import Observer
from tests.webhooks.conftest import Board
from tests.webhooks.receiver import Receiver, answer


def test_a_delivered_event_is_sent_again_with_the_same_id_and_body(board: Board, receiver: Receiver) -> None:
    task = board.complete(receiver.url)
    board.deliver()
    [replayed] = replay(task.task_id)
    assert (replayed.n, replayed.type, replayed.is_new) == (task.last_event, "task.completed", True)
    assert board.deliver_one().task_id == replayed.delivery_id
    first, second = receiver.received
    assert (first.id, first.body) == (second.id, second.body)
    log = list_deliveries(task.task_id)
    assert [(each.n, each.status) for each in log] == [(task.last_event, "completed")] * 2
    assert log[1].delivery_id == replayed.delivery_id


def test_a_dead_delivery_is_revived_and_no_dead_letter_remains(board: Board, receiver: Receiver) -> None:
    receiver.will(answer(410))
    task = board.complete(receiver.url)
    dead = board.deliver_one()
    [replayed] = replay(task.task_id, caller=Caller("operator", name="anna"))
    assert (replayed.delivery_id, replayed.status, replayed.is_new) == (dead.task_id, "queued", False)
    move = get_events(dead.task_id)[-1].data
    assert (move["from"], move["reason"], move["by"]) == ("dead", "replayed", "anna")
    assert board.deliver_one().status == "completed"
    assert len(list_deliveries(task.task_id)) == 1
    assert len({each.id for each in receiver.received}) == 1


def test_a_delivery_that_waits_for_its_next_attempt_is_sent_now(board: Board, receiver: Receiver) -> None:
    receiver.will(answer(500))
    task = board.complete(receiver.url)
    waiting = board.deliver_one()
    [replayed] = replay(task.task_id)
    assert (replayed.delivery_id, replayed.status) == (waiting.task_id, "queued")
    assert board.deliver_one().status == "completed"


def test_a_delivery_under_way_is_left_as_it_is(board: Board, receiver: Receiver) -> None:
    task = board.complete(receiver.url)
    [queued] = replay(task.task_id)
    [claimed] = board.claim("webhooks")
    [running] = replay(task.task_id)
    assert (queued.delivery_id, queued.status, queued.is_new) == (claimed.id, "queued", False)
    assert (running.delivery_id, running.status) == (claimed.id, "running")
    assert len(list_deliveries(task.task_id)) == 1


def test_a_delivery_that_was_canceled_or_deleted_is_replaced(board: Board, receiver: Receiver) -> None:
    task = board.complete(receiver.url)
    [first] = list_deliveries(task.task_id)
    cancel(first.delivery_id)
    [second] = replay(task.task_id)
    assert second.is_new
    board.deliver()
    delete(second.delivery_id)
    [third] = replay(task.task_id)
    assert third.is_new


def test_events_are_chosen_by_their_numbers(board: Board, receiver: Receiver) -> None:
    task = submit("quick", {}, webhook_url=receiver.url)
    board.run(task, "failed", retry_seconds=10)
    board.clock.advance(20)
    board.sweep()
    board.run(task)
    board.deliver()
    assert len(receiver.received) == 1
    moves = {event.n: event.data["to"] for event in get_events(task.task_id) if event.kind == "status"}
    [retried] = [n for n, status in moves.items() if status == "scheduled"]
    [replayed] = replay(task.task_id, events=[retried])  # a move that the webhook did not choose
    assert replayed.type == "task.scheduled"
    last = max(moves)
    assert [each.n for each in replay(task.task_id, after=last - 1)] == [last]
    assert replay(task.task_id, after=last) == []


@pytest.mark.parametrize("wrong", [1, 2, 999])
def test_a_number_that_is_no_move_to_report_sends_nothing(board: Board, receiver: Receiver, wrong: int) -> None:
    task = submit("quick", {}, webhook_url=receiver.url, delay_seconds=10)  # 1: scheduled at submit, which is no move
    board.clock.advance(20)
    board.sweep()  # 2: queued
    board.run(task)
    board.deliver()
    with pytest.raises(InvalidPayload, match=f"no moves that can be reported: {wrong}$"):
        replay(task.task_id, events=[4, wrong])
    assert board.deliver() == []


def test_two_replays_at_once_send_once(board: Board, receiver: Receiver, connection: Observer) -> None:
    task = board.complete(receiver.url)
    board.deliver()
    first = "SELECT id FROM callboard.replay_webhooks(%s, 0, NULL, ARRAY['completed'], NULL)"
    waits = "SELECT count(*) AS n FROM pg_locks WHERE NOT granted"
    with ThreadPoolExecutor(1) as pool:
        with connection.transaction():  # the second begins before the first has committed
            delivery_id = connection.fetch_one(first, [task.task_id])["id"]
            later = pool.submit(replay, task.task_id)
            eventually(lambda: later.done() or connection.fetch_one(waits)["n"], what="the second waits")
        [second] = later.result()
    assert (second.delivery_id, second.is_new) == (delivery_id, False)
    board.deliver()
    assert len(receiver.received) == 2
    assert connection.execute("SELECT * FROM admin.invariants").fetchall() == []


def test_an_event_whose_delivery_is_missing_is_sent_by_a_replay(
    board: Board, receiver: Receiver, connection: Observer
) -> None:
    task = board.complete(receiver.url)
    connection.execute("TRUNCATE callboard.webhook_deliveries")
    connection.execute("UPDATE callboard.tasks SET status = 'canceled' WHERE actor = 'webhook'")
    [replayed] = replay(task.task_id)
    assert replayed.is_new
    board.deliver()
    assert len(receiver.received) == 1


def test_a_task_without_a_webhook_and_one_of_another_tenant(board: Board, receiver: Receiver) -> None:
    plain = board.complete(None, tenant="acme").task_id
    task = board.complete(receiver.url, tenant="acme").task_id
    own, other = Caller("operator", "acme"), Caller("operator", "other")
    for verb in (get_webhook, list_deliveries, replay):
        with pytest.raises(NoWebhook):
            verb(plain, caller=own)
        for caller in (other, Caller("operator", "acme2")):
            with pytest.raises(TaskNotFound):
                verb(task, caller=caller)
        verb(task, caller=own)
    delete(task)
    with pytest.raises(TaskNotFound):
        replay(task)
