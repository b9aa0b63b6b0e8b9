"""Two actors without their code, a clock that stands still, and workers that are only rows."""

from collections.abc import Callable, Iterator

import pytest

from state.database import Connection, connect
from state.workers.identity import Identity
from state.workers.pulse import send_pulse
from state.workers.registry import register
from tests.metrics.clock import START, StandingClock
from tests.support.builders import TaskBuilder
from tests.support.claims import FreePayload, enter_simple_actors
from tests.support.observer import Observer

Enroll = Callable[..., Callable[[], None]]


@pytest.fixture(autouse=True)
def actors(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """`quick` in the queue one, `slow` in the queue two."""
    enter_simple_actors(monkeypatch, FreePayload)


@pytest.fixture
def clock(connection: Observer) -> StandingClock:
    """Metrics begin at its first moment."""
    standing = StandingClock(connection)
    progress = "UPDATE callboard.metrics_progress SET measured_until = %(at)s, final_until = %(at)s"
    connection.execute(progress, {"at": START})
    return standing


@pytest.fixture
def worker_connection(database_url: str) -> Iterator[Connection]:
    with connect("test") as opened:
        yield opened


@pytest.fixture
def make_task(clock: StandingClock, worker_connection: Connection, connection: Observer) -> TaskBuilder:
    return TaskBuilder(worker_connection, connection)


@pytest.fixture
def enroll(clock: StandingClock, worker_connection: Connection, connection: Observer) -> Enroll:
    """Registers a worker that also does the housekeeping. Returns its pulse."""

    def enroll(name: str = "w1", *queues: str, stopping: bool = False) -> Callable[[], None]:
        identity = Identity.of_this_process()
        object.__setattr__(identity, "id", name)
        register(identity, queues or ("one", "two"), 8, ["quick", "slow"], coroutines=100)

        def beat() -> None:
            send_pulse(worker_connection, name, ["one", "two"], 10, stopping=stopping)
            keep = "UPDATE callboard.maintainer SET worker_id = %s, expires_at = callboard.now() + interval '3 s'"
            connection.execute(keep, [name])

        beat()
        return beat

    return enroll
