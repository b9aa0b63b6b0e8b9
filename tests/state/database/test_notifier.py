"""Few hints are sent, with many names each, and no name is lost."""

import threading
import time

from state import submit
from state.database import notifier, rhythm
from tests.support.observer import Observer


def _heard(connection: Observer, payload: str) -> bool:
    return any(payload in notification.payload for notification in connection.notifies(timeout=10, stop_after=1))


def test_many_submits_send_few_hints_and_the_last_name_as_well(connection: Observer) -> None:
    connection.execute("LISTEN callboard_work")
    begun = time.monotonic()
    for _ in range(50):
        submit("quick", {})
    submit("slow", {})  # the only one for its queue
    notifier.flush_hints()
    connection.execute("NOTIFY callboard_work, 'that was all'")
    heard = []
    for notification in connection.notifies(timeout=10):
        if notification.payload == "that was all":
            break
        heard.append(notification.payload)
    assert any("two" in payload.split(",") for payload in heard)
    assert len(heard) <= (time.monotonic() - begun) / notifier._GAP + rhythm.AT_ONCE


def test_submits_do_not_delay_other_hints(connection: Observer) -> None:
    """A submit sends the hint for workers itself. Those for the readers of a stream wait for the notifier's own
    thread, which must get its turn."""
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


def test_a_hint_is_sent_although_all_connections_were_lost(connection: Observer) -> None:
    connection.execute("LISTEN callboard_tasks")
    notifier.notify_tasks(["tq_1"])
    assert _heard(connection, "tq_1")
    connection.execute(
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
        "WHERE application_name = 'callboard' AND datname = current_database()"
    )
    notifier.notify_tasks(["tq_2"])
    assert _heard(connection, "tq_2")
