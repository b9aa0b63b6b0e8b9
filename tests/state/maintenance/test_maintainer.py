"""One maintainer at a time, elected by a row with a lease."""

import pytest

from state.maintenance.losses import recover
from state.maintenance.maintainer import become_maintainer, resign
from state.workers.registry import mark_stopped
from tests.support.clock import Clock
from tests.support.observer import Observer


def holder(connection: Observer) -> str | None:
    [row] = connection.execute("SELECT worker_id FROM callboard.maintainer").fetchall()
    worker_id: str | None = row["worker_id"]
    return worker_id


def test_the_first_one_has_it_until_its_lease_ends(connection: Observer, clock: Clock) -> None:
    assert become_maintainer("a")
    assert not become_maintainer("b")
    clock.advance(2)
    assert become_maintainer("a")
    clock.advance(2)
    assert not become_maintainer("b")
    clock.advance(2)
    assert become_maintainer("b")
    assert not become_maintainer("a")
    assert holder(connection) == "b"


def test_it_resigns_only_for_itself(connection: Observer) -> None:
    assert become_maintainer("a")
    resign("b")
    assert holder(connection) == "a"
    resign("a")
    assert become_maintainer("b")


def test_a_clock_that_is_stepped_back_does_not_extend_the_lease_by_an_hour(clock: Clock) -> None:
    assert become_maintainer("a")
    clock.advance(-3600)
    assert become_maintainer("b")


@pytest.mark.parametrize("end", [recover, mark_stopped])
def test_a_maintainer_that_is_dead_or_stops_is_replaced_at_once(end: object) -> None:
    assert become_maintainer("a")
    end(["a"])  # type: ignore[operator]
    assert become_maintainer("b")


def test_a_locked_row_is_not_waited_for(connection: Observer) -> None:
    with connection.transaction():
        connection.execute("SELECT FROM callboard.maintainer FOR UPDATE")
        assert not become_maintainer("a")
    assert become_maintainer("a")
