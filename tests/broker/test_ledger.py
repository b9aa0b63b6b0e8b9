"""What a task says stands in its history once, whenever a connection is lost."""

from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from broker.execution import Execution
from broker.ledger import Ledger
from broker.settlements import completed
from state import get_events, get_task, submit
from state.claims import Claimed
from state.connection import Connection
from tests.state.conftest import actors, desk, take

__all__ = ["actors", "desk", "take"]


@pytest.fixture
def execution(take: Callable[..., list[Claimed]]) -> Execution:
    submit("quick", {})
    return Execution(take()[0])


@pytest.fixture
def ledger(execution: Execution) -> Ledger:
    def lose(execution: Execution) -> None:
        raise AssertionError("it is ours")

    return Ledger("w1", {execution.claimed.id: execution}, lose)


def said(execution: Execution) -> list[Any]:
    return [event.data["text"] for event in get_events(execution.claimed.id) if event.kind == "token"]


@pytest.mark.parametrize("committed", [True, False], ids=["after the commit", "before it"])
def test_a_connection_lost_in_a_report_neither_loses_nor_doubles_it(
    execution: Execution, ledger: Ledger, desk: Connection, monkeypatch: pytest.MonkeyPatch, committed: bool
) -> None:
    real = Connection.fetch

    def lost(*arguments: Any) -> Any:
        if committed:
            real(*arguments)
        raise psycopg.OperationalError("the connection is lost")

    execution.add_event("token", {"text": "one"})
    execution.add_usage(10, 0.5)
    with monkeypatch.context() as broken:
        broken.setattr(Connection, "fetch", lost)
        for _ in range(2):
            with pytest.raises(psycopg.OperationalError):
                ledger.write_reports(desk, ending=set())
    assert not execution.wait_written(timeout=0)
    execution.add_event("token", {"text": "two"})
    execution.add_usage(1, 0.25)
    ledger.write_reports(desk, ending={execution.claimed.id})
    assert execution.wait_written(timeout=0)
    ledger.write_ends(desk, [completed(execution.claimed, None)])
    assert said(execution) == ["one", "two"]
    task = get_task(execution.claimed.id)
    assert (task.status, task.usage) == ("completed", {"tokens": 11, "cost": 0.75})


def test_a_connection_lost_in_the_end_of_a_task_ends_it_once(
    execution: Execution,
    ledger: Ledger,
    desk: Connection,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    settlement = completed(execution.claimed, {"answer": 42})
    real = Connection.fetch

    def lost(*arguments: Any) -> Any:
        real(*arguments)
        raise psycopg.OperationalError("the connection is lost")

    with monkeypatch.context() as broken:
        broken.setattr(Connection, "fetch", lost)
        with pytest.raises(psycopg.OperationalError):
            ledger.write_ends(desk, [settlement])
    ledger.doubt()
    ledger.write_ends(desk, [settlement])
    task = get_task(execution.claimed.id)
    assert (task.status, task.result, task.epoch) == ("completed", {"answer": 42}, 1)
    assert [event.data["to"] for event in get_events(task.task_id) if event.kind == "status"][-1] == "completed"
    assert task.last_event == 3
    assert "lease lost" not in "".join(capfd.readouterr())
