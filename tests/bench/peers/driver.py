"""Runs in a contender's own Python: the submitting half of each measurement, the same loops for everybody.

`python -m tests.bench.peers.driver APP VERB [ARGUMENT...]` prints its answer as one line of JSON. APP is a module:
- setup(): create the schema
- opened(): context manager, the connections of a submitting process
- send(index, sent): submit one `note` task, committed on return
- send_batch(rows of (index, sent)): many `note` tasks in one commit; or None
- fill(kind, count): queue `count` tasks of a kind the quickest way, not measured
All but `opened` may be coroutine functions: then `run` is a function that runs a coroutine to its end.

The kinds: note(index, sent) calls stamps.record(index, sent) and ends; the others record their index, then nap sleeps
NAP seconds, hold HOLD seconds. Those that have async tasks: anote is an async note, wait awaits WAIT_VARIABLE seconds.
"""

import importlib
import inspect
import json
import random
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

from tests.bench.peers.sizes import BATCH

GAP = 0.05
STRETCH = 50


def call(app: ModuleType, name: str, *arguments: object) -> Any:
    function = getattr(app, name)
    if inspect.iscoroutinefunction(function):
        return app.run(function(*arguments))
    return function(*arguments)


def send_all(app: ModuleType, indexes: Sequence[int]) -> None:
    """One by one, each committed before the next. An async contender enters its event loop once for all of them."""

    async def stretch() -> None:
        for index in indexes:
            await app.send(index, 0.0)

    if inspect.iscoroutinefunction(app.send):
        app.run(stretch())
    else:
        for index in indexes:
            app.send(index, 0.0)


def singles(app: ModuleType, count: int) -> float:
    """Seconds for `count`, by the median of short stretches: a hiccup of the machine is nobody's fault."""
    stretches = []
    with app.opened():
        send_all(app, range(-max(50, count // 10), 0))
        for first in range(0, count, STRETCH):
            began = time.perf_counter()
            send_all(app, range(first, first + STRETCH))
            stretches.append(time.perf_counter() - began)
    return statistics.median(stretches) * count / STRETCH


def batches(app: ModuleType, count: int) -> float | None:
    if app.send_batch is None:
        return None
    rows = [(index, 0.0) for index in range(count)]
    with app.opened():
        call(app, "send_batch", rows[:BATCH])
        began = time.perf_counter()
        for first in range(0, count, BATCH):
            call(app, "send_batch", rows[first : first + BATCH])
        return time.perf_counter() - began


def fill(app: ModuleType, kind: str, count: int) -> None:
    with app.opened():
        call(app, "fill", kind, count)


def burst(app: ModuleType, count: int) -> None:
    """Wake the workers up: threads, connections and plans exist before anything is measured."""
    with app.opened():
        for index in range(count):
            call(app, "send", -1 - index, time.time())


def spaced(app: ModuleType, count: int) -> None:
    # A steady rhythm could fall in step with somebody's polling; everybody gets the same uneven one.
    uneven = random.Random(7)
    with app.opened():
        for index in range(5):
            call(app, "send", -1 - index, time.time())
        time.sleep(0.5)
        for index in range(count):
            call(app, "send", index, time.time())
            time.sleep(GAP * uneven.uniform(0.8, 1.2))


VERBS: dict[str, Callable[..., object]] = {
    function.__name__: function for function in (singles, batches, fill, burst, spaced)
}


def main() -> None:
    module, verb, *texts = sys.argv[1:]
    app = importlib.import_module(module)
    arguments = [json.loads(text) for text in texts]
    # Setting up, and whatever only one contender has, are functions of the app itself.
    result = VERBS[verb](app, *arguments) if verb in VERBS else call(app, verb, *arguments)
    print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
