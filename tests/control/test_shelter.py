"""An interrupt strikes once, and never where it would leave a lock behind."""

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


class Victim:
    """Runs rounds of code, as a worker's thread does; between them it must not be hit."""

    def __init__(self) -> None:
        self.running = Interruptible()
        self.condition = threading.Condition()
        self.rounds = self.struck = self.stray = 0
        self.in_shelter = False
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
                    self.struck += 1
                self.running.end()
            except Interrupt:  # between the code's end and ours, as in _run
                self.running.end()
                self.struck += 1
            try:
                for _ in range(20):  # something else of Dramatiq's
                    len([])
            except Interrupt:
                self.stray += 1

    def code(self) -> None:
        for _ in range(50):
            with self.running.shield():
                self.in_shelter = True
                with self.condition:  # as ctx.progress does
                    sum(range(20))
                self.in_shelter = False
            sum(range(20))


def test_strikes_at_random_moments() -> None:
    victim = Victim()
    victim.thread.start()
    dice = random.Random(4)
    sent = 0
    deadline = time.monotonic() + 20
    while sent < ROUNDS and time.monotonic() < deadline:
        time.sleep(dice.uniform(0, 0.002))
        before = victim.struck
        if victim.running.interrupt(dice.choice([CancelRequested, ShuttingDown])):
            sent += 1
            rounds = victim.rounds
            eventually(lambda b=before, r=rounds: victim.struck > b or victim.rounds > r, timeout=5, every=0)
        # Whoever writes reports takes the same lock: it must be free for him.
        assert victim.condition.acquire(timeout=5)
        victim.condition.release()
    victim.stop.set()
    victim.thread.join(5)
    assert not victim.thread.is_alive()
    assert sent == ROUNDS
    assert victim.stray == 0
    assert 0 < victim.struck <= sent
    assert victim.running._shielded == 0


def test_what_arrives_in_the_shelter_waits_for_its_end() -> None:
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
            seen.append("struck")
        running.end()

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    assert entered.wait(5)
    assert running.interrupt(CancelRequested)
    go.set()
    thread.join(5)
    assert seen == ["finished", "struck"]
    assert not running.interrupt(CancelRequested)  # it is over


def test_a_coroutine_is_canceled_and_no_thread_is_struck() -> None:
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


def test_what_came_of_an_interrupt() -> None:
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
for allocations in range(60):  # until the collector strikes, on its way to a thread-local in a knot
    gc.disable()
    knot = [threading.local()]
    knot[0].value = 1
    knot.append(knot)
    del knot
    gc.set_threshold(gc.get_count()[0] + allocations)
    gc.enable()
    print(running.where())
"""


def test_asking_where_the_code_is_never_stops_the_process() -> None:
    """CPython before 3.11.9 waits for itself when the garbage collector comes in between."""
    asked = subprocess.run([sys.executable, "-c", ASKS_WHERE], cwd=ROOT, capture_output=True, text=True, timeout=30)
    assert asked.returncode == 0, asked.stderr
    assert asked.stdout.count("in _frame_of") == 60
