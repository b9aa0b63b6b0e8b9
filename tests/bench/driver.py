"""Runs in a contender's own Python: the submitting half of each measurement, the same loops for everybody.

`python -m tests.bench.driver APP VERB [ARGUMENT...]` prints its answer as one line of JSON. APP is a module:
- setup() -> None: create the schema
- opened() -> context manager: the connections of a submitting process
- send(index: int, sent: float) -> None: submit one `note` task, committed on return
- send_batch(rows: list[tuple[int, float]]) -> None: many `note` tasks in one commit; or None
- fill(kind: str, count: int) -> None: queue `count` tasks `note` or `nap` the quickest way, not measured
and two tasks: note(index, sent) calls stamps.record(index, sent), nap(index) does so and sleeps NAP seconds.
"""

import importlib
import json
import random
import statistics
import sys
import time
from collections.abc import Callable
from types import ModuleType
from typing import Any

from tests.bench.contender import BATCH

NAP = 0.05  # with 16 threads some 300 tasks a second: the workers work, and the backlog stays
GAP = 0.05
STRETCH = 50


def singles(app: ModuleType, count: int) -> float:
    """Seconds for `count`, by the median of short stretches: a hiccup of the machine is nobody's fault."""
    stretches = []
    with app.opened():
        for index in range(max(50, count // 10)):
            app.send(-index, 0.0)
        for first in range(0, count, STRETCH):
            began = time.perf_counter()
            for index in range(first, first + STRETCH):
                app.send(index, 0.0)
            stretches.append(time.perf_counter() - began)
    return statistics.median(stretches) * count / STRETCH


def batches(app: ModuleType, count: int) -> float | None:
    if app.send_batch is None:
        return None
    rows = [(index, 0.0) for index in range(count)]
    with app.opened():
        app.send_batch(rows[:BATCH])
        began = time.perf_counter()
        for first in range(0, count, BATCH):
            app.send_batch(rows[first : first + BATCH])
        return time.perf_counter() - began


def fill(app: ModuleType, kind: str, count: int) -> None:
    with app.opened():
        app.fill(kind, count)


def burst(app: ModuleType, count: int) -> None:
    """Wake the workers up: threads, connections and plans exist before anything is measured."""
    with app.opened():
        for index in range(count):
            app.send(-1 - index, time.time())


def spaced(app: ModuleType, count: int) -> None:
    # A steady rhythm could fall in step with somebody's polling; everybody gets the same uneven one.
    uneven = random.Random(7)
    with app.opened():
        for index in range(5):
            app.send(-1 - index, time.time())
        time.sleep(0.5)
        for index in range(count):
            app.send(index, time.time())
            time.sleep(GAP * uneven.uniform(0.8, 1.2))


def answer(app: ModuleType, verb: str, arguments: list[Any]) -> object:
    verbs: dict[str, Callable[..., object]] = {
        "singles": singles,
        "batches": batches,
        "fill": fill,
        "burst": burst,
        "spaced": spaced,
    }
    if verb in verbs:
        return verbs[verb](app, *arguments)
    return getattr(app, verb)(*arguments)  # setup, and whatever only one contender has


def main() -> None:
    module, verb, *arguments = sys.argv[1:]
    result = answer(importlib.import_module(module), verb, [json.loads(argument) for argument in arguments])
    print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
