"""An interrupt is raised once, and never inside a shield."""

import asyncio
import random
import subprocess
import sys
import threading
import time

import pytest

from broker.execution.interruptible import Interruptible
from broker.execution.interrupts import CancelRequested, Interrupt, ShuttingDown, Stopped, caused_by
from tests.support.eventually import eventually
from tests.support.workers import ROOT

ROUNDS = 300


class Target:
    """Runs rounds of code, as a worker's thread does. No interrupt may be raised between two rounds."""

    def __init__(self) -> None:
        self.running = Interruptible()
        self.condition = threading.Condition()
        self.rounds = self.interrupted = self.stray = 0
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self.work, daemon=True)

    def work(self) -> None:
        while not self.stop.is_set():
            try:
                self.rounds += 1
                try:
                    self.running.begin()
                    self.code()
                except Stopped:
                    self.interrupted += 1
                self.running.end()
            except Interrupt:  # after the end of the code, as in runner._run
                self.running.end()
                self.interrupted += 1
            try:
                for _ in range(20):  # other code of Dramatiq
                    len([])
            except Interrupt:
                self.stray += 1

    def code(self) -> None:
        for _ in range(50):
            with self.running.shield(), self.condition:  # as ctx.progress does
                sum(range(20))
            sum(range(20))


def test_interrupts_at_random_moments_leave_no_lock_behind() -> None:
    target = Target()
    target.thread.start()
    dice = random.Random(4)
    sent = 0
    deadline = time.monotonic() + 20
    while sent < ROUNDS and time.monotonic() < deadline:
        time.sleep(dice.uniform(0, 0.002))
        before = target.interrupted
        if target.running.interrupt(dice.choice([CancelRequested, ShuttingDown])):
            sent += 1
            rounds = target.rounds
            eventually(lambda: target.interrupted > before or target.rounds > rounds, timeout=5, every=0)  # noqa: B023
        # The reporter takes the same lock, so it must be free.
        assert target.condition.acquire(timeout=5)
        target.condition.release()
    target.stop.set()
    target.thread.join(5)
    assert not target.thread.is_alive()
    assert sent == ROUNDS
    assert target.stray == 0
    assert 0 < target.interrupted <= sent
    assert target.running._shielded == 0


def test_an_interrupt_that_arrives_in_a_shield_is_raised_at_its_end() -> None:
    running, entered, go = Interruptible(), threading.Event(), threading.Event()
    seen: list[str] = []

    def work() -> None:
        running.begin()
        try:
            with running.shield():
                entered.set()
                go.wait(5)
                seen.append("finished")
            seen.append("never")
        except CancelRequested:
            seen.append("interrupted")
        running.end()

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    assert entered.wait(5)
    assert running.interrupt(CancelRequested)
    go.set()
    thread.join(5)
    assert seen == ["finished", "interrupted"]
    assert not running.interrupt(CancelRequested)  # it is over


def test_a_coroutine_is_canceled_and_no_thread_is_interrupted() -> None:
    running = Interruptible()

    async def main() -> str:
        current = asyncio.current_task()
        assert current is not None
        running.attach(current)
        threading.Timer(0.05, running.interrupt, [CancelRequested]).start()
        try:
            await asyncio.sleep(5)
        except asyncio.CancelledError:
            return "canceled"
        return "not"

    assert asyncio.run(main()) == "canceled"


def test_an_error_while_an_interrupt_is_handled_counts_as_caused_by_it() -> None:
    def clumsy() -> None:
        try:
            raise CancelRequested
        finally:
            raise RuntimeError("while cleaning up")

    with pytest.raises(RuntimeError) as raised:
        clumsy()
    assert caused_by(raised.value, Stopped)
    assert not caused_by(RuntimeError("on its own"), Stopped)


ASKS_WHERE = """
import gc, threading
from broker.execution.interruptible import Interruptible

running = Interruptible()
running.begin()
for _ in range(20):
    threading.Thread(target=threading.Event().wait, daemon=True).start()
for allocations in range(60):  # until a collection meets a thread-local in a cycle
    gc.disable()
    cycle = [threading.local()]
    cycle[0].value = 1
    cycle.append(cycle)
    del cycle
    gc.set_threshold(gc.get_count()[0] + allocations)
    gc.enable()
    print(running.where())
"""


def test_asking_where_the_code_is_never_stops_the_process() -> None:
    """CPython before 3.11.9 can wait for itself if the garbage collector runs at that moment."""
    asked = subprocess.run([sys.executable, "-c", ASKS_WHERE], cwd=ROOT, capture_output=True, text=True, timeout=30)
    assert asked.returncode == 0, asked.stderr
    assert asked.stdout.count("in frame_of") == 60
