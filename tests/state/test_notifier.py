"""Hints go out few at a time, and none is forgotten."""

import threading
import time

import psycopg

from state import submit
from state.database import notifier


def _heard(connection: psycopg.Connection, payload: str) -> bool:
    return any(payload in notification.payload for notification in connection.notifies(timeout=10, stop_after=1))


def test_a_storm_of_submits_sends_few_hints_and_the_last_one_too(connection: psycopg.Connection) -> None:
    connection.execute("LISTEN callboard_work")
    begun = time.monotonic()
    for _ in range(50):
        submit("quick", {})
    submit("slow", {})  # the only one for its queue
    notifier.flush_notifications()
    connection.execute("NOTIFY callboard_work, 'that was all'")
    heard = []
    for notification in connection.notifies(timeout=10):
        if notification.payload == "that was all":
            break
        heard.append(notification.payload)
    assert any("two" in payload.split(",") for payload in heard)
    assert len(heard) <= (time.monotonic() - begun) / notifier._GAP + 1


def test_submits_do_not_keep_others_from_being_heard(connection: psycopg.Connection) -> None:
    """Whoever submits takes the hints for workers along, again and again. Those for the readers of a stream wait for
    the notifier's own thread, and must get their turn."""
    connection.execute("LISTEN callboard_tasks")
    stop = threading.Event()

    def storm() -> None:
        while not stop.is_set():
            submit("quick", {})

    stormy = threading.Thread(target=storm)
    stormy.start()
    try:
        for number in range(5):
            notifier.notify_tasks([f"tq_{number}"])
            assert _heard(connection, f"tq_{number}")
    finally:
        stop.set()
        stormy.join()


def test_a_hint_survives_the_loss_of_all_connections(connection: psycopg.Connection) -> None:
    connection.execute("LISTEN callboard_tasks")
    notifier.notify_tasks(["tq_1"])
    assert _heard(connection, "tq_1")
    connection.execute(
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
        "WHERE application_name = 'callboard' AND datname = current_database()"
    )
    notifier.notify_tasks(["tq_2"])
    assert _heard(connection, "tq_2")
