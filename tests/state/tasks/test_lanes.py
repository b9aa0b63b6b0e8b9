"""A retry storm must not stand in the way of new work: the longer the retry lane, the smaller its share."""

from collections.abc import Callable

import pytest

from state import NewTask, submit_many
from state.tasks.queues import get_queue_status, get_retry_share
from state.workers import leases
from state.workers.leases import Claimed
from tests.support.observer import Observer


def test_the_shares_follow_the_depth() -> None:
    depths = {0: 0.3, 999: 0.3, 1000: 0.2, 5000: 0.2, 5001: 0.1, 100_000: 0.1}
    assert {depth: get_retry_share(depth) for depth in depths} == depths


@pytest.mark.parametrize(("depth", "share"), [(6000, 0.1), (3000, 0.2), (900, 0.3)])
def test_a_retry_storm_gets_its_share_and_no_more(
    take: Callable[..., list[Claimed]], connection: Observer, depth: int, share: float
) -> None:
    submit_many([NewTask("quick", {}) for _ in range(depth)])
    connection.execute("UPDATE callboard.tasks SET lane = 'retry'")
    submit_many([NewTask("quick", {}) for _ in range(800)])
    assert get_queue_status()["retry_ratio"] == share
    asked = get_retry_share(leases.get_retry_depth(["one", "two"], 5001))
    lanes = [task.lane for _ in range(40) for task in take(16, retry_share=asked)]
    assert abs(lanes.count("retry") / len(lanes) - share) < 0.04
