"""A retry storm must not stand in the way of new work: the longer the retry lane, the smaller its share."""

from collections.abc import Callable

import psycopg
import pytest

from state import NewTask, submit_many
from state.tasks.queues import queue_status, retry_share
from state.workers import leases
from state.workers.leases import Claimed


def test_the_shares_follow_the_depth() -> None:
    depths = {0: 0.3, 999: 0.3, 1000: 0.2, 5000: 0.2, 5001: 0.1, 100_000: 0.1}
    assert {depth: retry_share(depth) for depth in depths} == depths


@pytest.mark.parametrize(("depth", "share"), [(6000, 0.1), (3000, 0.2), (900, 0.3)])
def test_a_retry_storm_gets_its_share_and_no_more(
    take: Callable[..., list[Claimed]], connection: psycopg.Connection, depth: int, share: float
) -> None:
    submit_many([NewTask("quick", {}) for _ in range(depth)])
    connection.execute("UPDATE callboard.tasks SET lane = 'retry'")
    submit_many([NewTask("quick", {}) for _ in range(800)])
    assert queue_status()["retry_ratio"] == share
    asked = retry_share(leases.retry_depth(["one", "two"], 5001))
    lanes = [task.lane for _ in range(40) for task in take(16, retry_share=asked)]
    assert abs(lanes.count("retry") / len(lanes) - share) < 0.04
