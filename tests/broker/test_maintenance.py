"""The turns of the maintainer, and the recovery of dead processes of the same host."""

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import count

import pytest

import actors  # noqa: F401
import tests.support.testactors  # noqa: F401
from broker.worker import maintenance
from broker.worker.maintenance import Maintenance
from state import NewTask, submit_many
from state.maintenance import housekeeping, losses, sweep
from state.maintenance.housekeeping import Housekeeping, TurnFailed
from state.maintenance.maintainer import Due, become_maintainer
from state.workers.identity import Identity, Sibling, is_dead
from state.workers.registry import list_workers, register
from tests.support.clock import Clock
from tests.support.eventually import eventually
from tests.support.observer import Observer
from tests.support.turns import learn_due

Make = Callable[[], tuple[str, Maintenance]]

SHORT_LEASE = 0.3
EVERYTHING = Due(True, True, True, True, True, {})


@pytest.fixture
def make(database_url: str) -> Iterator[Make]:
    """Starts the maintenance of a worker; this process may have several."""
    started: list[Maintenance] = []
    numbers = count(1)

    def start() -> tuple[str, Maintenance]:
        identity = replace(Identity.of_this_process(), id=f"w{next(numbers)}")
        made = Maintenance(identity)
        made.start()
        started.append(made)
        return identity.id, made

    yield start
    for each in started:
        each.stop()


@pytest.fixture
def holder(connection: Observer) -> Callable[[], str | None]:
    def holder() -> str | None:
        [row] = connection.execute("SELECT worker_id FROM callboard.maintainer").fetchall()
        worker_id: str | None = row["worker_id"]
        return worker_id

    return holder


class Failing(Housekeeping):
    def do_turn(self, due: Due) -> bool:
        raise TurnFailed


class Broken(Housekeeping):
    def do_turn(self, due: Due) -> bool:
        raise ZeroDivisionError


class Slow(Housekeeping):
    def do_turn(self, due: Due) -> bool:
        began = time.monotonic()
        eventually(lambda: time.monotonic() - began > SHORT_LEASE)
        return False


@pytest.mark.parametrize("turn", [Failing, Broken, Slow])
def test_a_maintainer_whose_turn_fails_or_takes_too_long_steps_down(
    turn: type[Housekeeping], make: Make, holder: Callable[[], str | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    if turn is Slow:
        monkeypatch.setattr(maintenance, "LEASE_SECONDS", SHORT_LEASE)
    turns = []

    def begin_turns() -> Housekeeping:
        turns.append(turn)
        return turn()

    monkeypatch.setattr(maintenance, "Housekeeping", begin_turns)
    _, first = make()
    first.update([], True)
    eventually(lambda: len(turns) == 1 and holder() is None, what="it has resigned")
    first.update([], True)
    monkeypatch.setattr(maintenance, "Housekeeping", Housekeeping)
    monkeypatch.setattr(maintenance, "LEASE_SECONDS", 3.0)
    name, second = make()
    second.update([], True)
    eventually(lambda: holder() == name)
    asked: list[tuple[str, bool]] = []

    def ask(worker: str) -> Due | None:
        due = become_maintainer(worker)
        asked.append((worker, due is not None))
        return due

    monkeypatch.setattr(maintenance, "become_maintainer", ask)
    first._not_before = 0.0  # as if its pause were over
    first.update([], True)  # told by an old pulse
    eventually(lambda: ("w1", False) in asked and asked.count((name, True)) >= 2, what="both have asked")
    assert holder() == name


def test_a_failed_part_of_a_turn_does_not_stop_the_other_parts(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []

    def fail() -> list[object]:
        raise ZeroDivisionError

    monkeypatch.setattr(housekeeping, "sweep_due", fail)

    def sweep_lines(after: str) -> tuple[list[object], str]:
        done.append("lines")
        return [], after

    monkeypatch.setattr(housekeeping, "sweep_lines", sweep_lines)
    with pytest.raises(TurnFailed):
        Housekeeping().do_turn(EVERYTHING)
    assert done == ["lines"]


def test_observations_of_a_maintainer_survive_a_failed_part_of_a_turn(
    make: Make, holder: Callable[[], str | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise no lease would ever end if one part of the turn always failed."""
    turns: list[Housekeeping] = []

    def fail(self: Housekeeping, _: Due) -> bool:
        turns.append(self)
        raise TurnFailed

    monkeypatch.setattr(Housekeeping, "do_turn", fail)
    monkeypatch.setattr(maintenance, "_ELECTION_PAUSE", 0.1)
    _, only = make()
    for number in (1, 2):
        eventually(lambda: only.update([], True) or len(turns) >= number, every=0.2)  # type: ignore[func-returns-value]  # noqa: B023
    assert turns[0] is turns[1]


def test_two_maintainers_at_once_do_no_harm(
    database_url: str, clock: Clock, connection: Observer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (housekeeping, losses, sweep):
        monkeypatch.setattr(module, "BATCH", 7)
    ids = submit_many([NewTask("noop", {}, delay_seconds=10) for _ in range(100)])
    clock.advance(11)
    turns = [threading.Thread(target=Housekeeping().do_turn, args=[learn_due()]) for _ in range(2)]
    for turn in turns:
        turn.start()
    for turn in turns:
        turn.join()
    events = connection.execute(
        "SELECT task_id FROM callboard.events WHERE data ->> 'reason' = 'due' ORDER BY task_id"
    ).fetchall()
    assert [event["task_id"] for event in events] == sorted(ids)


def test_a_maintainer_resigns_when_its_worker_stops(make: Make, holder: Callable[[], str | None]) -> None:
    name, only = make()
    only.update([], True)
    eventually(lambda: holder() == name)
    only.stop()
    assert holder() is None


def test_a_maintainer_suspended_for_longer_than_its_lease_does_no_turn(
    make: Make, holder: Callable[[], str | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    turns: list[float] = []
    monkeypatch.setattr(Housekeeping, "do_turn", lambda _self, _due: turns.append(time.monotonic()))
    name, first = make()
    first.update([], True)
    eventually(lambda: turns)
    assert holder() == name
    first._renewed -= 10  # as if much time had passed since its last turn
    eventually(lambda: holder() is None)
    assert len(turns) == 1


def test_a_dead_process_of_the_same_host_is_recovered_and_replaced_as_maintainer(
    make: Make, holder: Callable[[], str | None], connection: Observer, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[str] = []

    def look(sibling: Sibling) -> bool:
        looked.append(sibling.id)
        return is_dead(sibling)

    monkeypatch.setattr(maintenance, "is_dead", look)
    me = Identity.of_this_process()
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        other = replace(me, id="other", pid=process.pid, start_ticks=None)
        register(other, ["one"], 1)
        connection.execute(
            "UPDATE callboard.maintainer SET worker_id = 'other', expires_at = callboard.now() + interval '3 s'"
        )
        name, mine = make()
        mine.update([Sibling("other", process.pid, None)], False)
        eventually(lambda: len(looked) >= 2, what="what follows from the first look is done")
        assert (holder(), len(list_workers())) == ("other", 1)
        process.kill()

    def is_taken_over() -> bool:
        """The lease of the dead maintainer does not run out: only the proof of its death ends it."""
        connection.execute(
            "UPDATE callboard.maintainer SET expires_at = callboard.now() + interval '3 s' WHERE worker_id = 'other'"
        )
        return holder() == name

    eventually(is_taken_over)
    assert list_workers() == []


def test_no_statement_is_sent_while_all_processes_live_and_another_is_the_maintainer(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_arguments: object) -> None:
        raise AssertionError

    for name in ("recover", "become_maintainer", "resign", "Housekeeping"):
        monkeypatch.setattr(maintenance, name, refuse)
    looked: list[str] = []

    def look(sibling: Sibling) -> bool:
        looked.append(sibling.id)
        return False

    monkeypatch.setattr(maintenance, "is_dead", look)
    _, mine = make()
    mine.update([Sibling("other", 1, None)], False)
    eventually(lambda: len(looked) >= 3, what="each second")
    mine.stop()
