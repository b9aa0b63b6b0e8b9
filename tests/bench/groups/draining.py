"""A backlog worked off: from the first start to the last commit, seen from outside."""

import time

from tests.bench.harness.errors import BenchError
from tests.bench.peers.side import Side


def drain_rate(side: Side, kind: str, count: int) -> float:
    side.fill(kind, count)
    with side.store.tally(side.url) as tally:
        side.start_workers()
        side.wait_stamps(count)
        # The last task has started; now its outcome must be committed. Only here is the store asked.
        side.wait(lambda: not tally.unfinished(), f"{count} tasks to be finished", 0.003)
        end = time.time()
        done = tally.finished()
    side.stamps.poll()
    notes = side.stamps.all()
    started = {note.task for note in notes}
    if done not in (None, count) or started != set(range(count)):
        raise BenchError(f"{done} of {count} finished, {len(started)} distinct started")
    if twice := len(notes) - count:
        print(f"  {side.name}: {twice} of {count} tasks ran more than once", flush=True)
    return (count - 1) / (end - min(note.now for note in notes))
