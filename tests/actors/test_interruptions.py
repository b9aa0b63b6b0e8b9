"""An interrupt ends the pause between two polls. Interrupts of a submission are in test_media_crashes.py."""

import threading

from dramatiq.middleware import Interrupt, raise_thread_exception

from actors.mediajob import pause


def test_an_interrupt_ends_a_pause() -> None:
    started = threading.Event()
    ended_by: list[type[BaseException]] = []

    def run() -> None:
        try:
            started.set()
            pause(60)
        except BaseException as stopped:
            ended_by.append(type(stopped))

    thread = threading.Thread(target=run)
    thread.start()
    assert started.wait(10)
    raise_thread_exception(thread.ident, Interrupt)
    thread.join(30)
    assert ended_by == [Interrupt]
