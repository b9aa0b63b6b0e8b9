"""Interrupts strike between two steps of a thread: waiting lets them in, and what must not be torn apart ends first."""

import threading
import time

import pytest
from dramatiq.middleware import Interrupt, raise_thread_exception

from actors.interruptions import pause, uninterrupted


def struck(act, after):
    """How the act ends in a thread that is interrupted after so many seconds, and how long it took."""
    ended = []

    def run():
        begun = time.monotonic()
        try:
            act()
            ended.append((None, time.monotonic() - begun))
        except BaseException as stopped:
            ended.append((type(stopped), time.monotonic() - begun))

    thread = threading.Thread(target=run)
    thread.start()
    time.sleep(after)
    raise_thread_exception(thread.ident, Interrupt)
    thread.join(10)
    return ended[0]


def test_a_pause_lets_interrupts_in():
    kind, seconds = struck(lambda: pause(30), after=0.1)
    assert kind is Interrupt
    assert seconds < 2


@pytest.mark.parametrize("after", [0.001, 0.05, 0.1, 0.15])
def test_what_must_not_be_torn_apart_ends_first(after):
    done = []

    def work():
        time.sleep(0.4)
        done.append("saved")

    kind, seconds = struck(lambda: uninterrupted(work), after)
    assert (kind, done) == (Interrupt, ["saved"])
    assert seconds >= 0.4


def test_its_value_and_its_error_come_through():
    assert uninterrupted(lambda: 7) == 7
    with pytest.raises(ZeroDivisionError):
        uninterrupted(lambda: 1 / 0)
