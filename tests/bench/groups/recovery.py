"""kill -9 of the worker that runs a task: how long until another one runs it."""

import time

import psutil

from tests.bench.groups.group import Group, Measurement
from tests.bench.groups.sizes import Sizes
from tests.bench.harness.bench import Bench
from tests.bench.harness.errors import BenchError
from tests.bench.peers.roster import MAKERS
from tests.bench.peers.side import Side
from tests.bench.results.metric import Metric


def group(sizes: Sizes) -> Group:
    recovery = Metric("recovery", "kill -9 of a worker until its task runs again", "s")

    def measure(side: Side) -> dict[str, float]:
        return {recovery.name: recovery_seconds(side, sizes.recovery_seconds)}

    def run(bench: Bench) -> None:
        bench.compete(list(MAKERS), [recovery], measure)

    return Group("recovery", "Recovery", (Measurement((recovery,), run, once=True),))


def recovery_seconds(side: Side, patience: float) -> float:
    side.start_workers(apart=True)
    side.drive("burst", 40)
    side.wait_stamps(40)
    side.drive("fill", "hold", 1)
    side.wait_stamps(41)
    (victim,) = [pid for pid, notes in side.stamps.by_process.items() if any(note.task == 0 for note in notes)]
    psutil.Process(victim).kill()
    killed = time.time()
    while time.time() - killed < patience:
        side.stamps.poll()
        again = [note for note in side.stamps.all() if note.task == 0 and note.now > killed]
        if again:
            return again[0].now - killed
        time.sleep(0.02)
    raise BenchError(f"not within {patience:.0f} s")
