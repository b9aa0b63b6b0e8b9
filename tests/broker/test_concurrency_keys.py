"""Tasks that were queued before a deploy changed the gates that their actor names."""

import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from pydantic import BaseModel, model_validator

import actors  # noqa: F401  (sets the broker)
from broker.adapter.middleware.concurrency_keys import GateCheck
from broker.execution.held import HeldTasks, set_held_tasks
from broker.execution.runner import run_task
from broker.worker.reporter import Reporter
from state import cancel, get_attempts, get_events, get_task, submit
from state.database import Connection, fetch_one
from state.errors import LeaseLost
from state.gates import Gate
from state.tasks import catalog
from state.tasks.catalog import STANDARD_POLICY, ActorSpec
from state.workers import leases
from state.workers.leases import MOST_REGATES
from tests.broker import deployedactors  # noqa: F401  (declares the actors that the tests submit to)
from tests.support.claims import Claimer
from tests.support.following import read_lines, wait_until_finished
from tests.support.observer import Observer
from tests.support.workers import TEST_ACTORS, WorkerTree

ACTORS = f"{TEST_ACTORS},tests.broker.deployedactors"


def test_no_two_tasks_from_before_the_deploy_run_at_once(
    worker: Callable[..., WorkerTree],
    connection: Observer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    out = tmp_path / "out.txt"
    ids = [submit("exclusive", {"file": str(out)}).task_id for _ in range(8)]
    assert all(get_task(task_id).gates == [] for task_id in ids)
    monkeypatch.setenv("TEST_DEPLOYED_GATE", "deployed:one")
    worker(processes=2, threads=4, actors=ACTORS)
    tasks = [wait_until_finished(task_id) for task_id in ids]
    assert {(task.status, task.attempt, tuple(task.gates)) for task in tasks} == {("completed", 1, ("deployed:one",))}
    lines = [line.split() for line in read_lines(out)]
    assert len(lines) == 2 * len(ids)
    for (begin, begun), (end, ended) in zip(lines[::2], lines[1::2], strict=True):
        assert (begin, end, begun) == ("begin", "end", ended)  # none began before the one before it had ended
    for task_id in ids:
        assert [attempt["outcome"] for attempt in get_attempts(task_id)] == ["released", "completed"]
        [move] = [event.data for event in get_events(task_id) if event.data.get("reason") == "gates changed"]
        assert (move["from"], move["to"], move["gates"]) == ("running", "queued", ["deployed:one"])
    assert connection.execute("SELECT * FROM admin.invariants").fetchall() == []


def test_an_actor_that_names_other_gates_each_time_runs_in_the_end(
    worker: Callable[..., WorkerTree], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task_id = submit("capricious", {"file": str(tmp_path / "out.txt")}).task_id
    monkeypatch.setenv("TEST_DEPLOYED_GATE", "yes")
    tree = worker(actors=ACTORS)
    task = wait_until_finished(task_id)
    assert (task.status, task.attempt, task.epoch) == ("completed", 1, MOST_REGATES + 1)
    assert "names other gates each time" in tree.log.read_text()


@pytest.fixture
def regate(simple_actors: None, take: Claimer) -> Callable[..., tuple[str, bool]]:
    """Claims a task and puts it back with other gates. Returns its id, and whether it was put back."""

    def regate(*gates: Gate, **options: Any) -> tuple[str, bool]:
        waiting = take()
        if not waiting:
            submit("quick", {}, **options)
            waiting = take()
        [claimed] = waiting
        return claimed.id, leases.regate("w1", claimed.id, claimed.epoch, gates)["moved"]

    return regate


def test_the_gates_of_tenant_and_target_stay(regate: Callable[..., tuple[str, bool]]) -> None:
    task_id, moved = regate(Gate("z:provider", 2), Gate("a:provider"), tenant="acme", target="site")
    assert moved
    task = get_task(task_id)
    assert task.gates == ["a:provider", "target:acme/site", "tenant:acme", "z:provider"]
    assert (task.status, task.attempt, task.worker_id) == ("queued", 0, None)


def test_gates_that_two_releases_name_add_up(regate: Callable[..., tuple[str, bool]]) -> None:
    task_id, _ = regate(Gate("new", 1))
    assert regate(Gate("old", 1)) == (task_id, True)
    assert get_task(task_id).gates == ["new", "old"]


def test_a_task_is_put_back_only_so_often(regate: Callable[..., tuple[str, bool]], connection: Observer) -> None:
    for number in range(MOST_REGATES):
        assert regate(Gate(f"gate {number}"))[1]
    task_id, moved = regate(Gate("another"))
    assert not moved
    assert (get_task(task_id).status, get_task(task_id).attempt) == ("running", 1)
    assert connection.execute("SELECT * FROM admin.invariants").fetchall() == []


def test_a_task_that_should_stop_is_not_put_back(simple_actors: None, take: Claimer) -> None:
    submit("quick", {})
    [claimed] = take()
    cancel(claimed.id)
    row = leases.regate("w1", claimed.id, claimed.epoch, [Gate("new")])
    assert (row["moved"], row["cancel_requested"]) == (False, "cancel")


def test_only_the_owner_puts_a_task_back(simple_actors: None, take: Claimer) -> None:
    submit("quick", {})
    [claimed] = take()
    for worker, epoch in (("w2", claimed.epoch), ("w1", claimed.epoch + 1)):
        with pytest.raises(LeaseLost):
            leases.regate(worker, claimed.id, epoch, [Gate("new")])
    assert get_task(claimed.id).gates == []


class Counted(BaseModel):
    """Counts how often it is validated."""

    @model_validator(mode="before")
    @classmethod
    def count(cls, data: object) -> object:
        validations.append(data)
        return data


validations: list[object] = []


@pytest.fixture
def held() -> Iterator[HeldTasks]:
    held = HeldTasks("w1", 1, lambda _: None)
    held.start_checks.append(GateCheck(held))
    set_held_tasks(held)
    yield held
    set_held_tasks(None)


def test_a_payload_is_validated_once_at_submit_and_once_at_the_start(
    simple_actors: None, held: HeldTasks, take: Claimer, worker_connection: Connection
) -> None:
    spec = ActorSpec(
        "counted", "one", Counted, 3, lambda: None, 60, STANDARD_POLICY, "", gates=lambda _: [Gate("a", 1)]
    )
    catalog.register(spec)
    validations.clear()
    task_id = submit("counted", {}).task_id
    assert len(validations) == 1
    held.add(take(), 1, lease_until=math.inf)
    run_task(spec, lambda _, request: None, task_id, 1)
    assert len(validations) == 2
    Reporter(held).write(worker_connection)
    assert get_task(task_id).status == "completed"


def run_with_new_gates(take: Claimer, held: HeldTasks, prepare: Callable[[str], object] = lambda _: None) -> str:
    """Submits a task without gates, and starts it when its actor names one. Its code must not run."""

    def make_spec(gates: Callable[[object], list[Gate]] | None) -> ActorSpec:
        return ActorSpec("moved", "one", Counted, 3, lambda: None, 60, STANDARD_POLICY, "", gates=gates)

    def work(_: object, __: object) -> None:
        raise AssertionError("it must not start")

    catalog.register(make_spec(None))
    task_id = submit("moved", {}).task_id
    catalog.register(make_spec(lambda _: [Gate("a", 1)]))
    held.add(take(), 1, lease_until=math.inf)
    prepare(task_id)
    run_task(catalog.get("moved"), work, task_id, 1)
    return task_id


@pytest.mark.parametrize("lost", [False, True], ids=["in one try", "with a lost answer"])
def test_a_task_that_is_put_back_frees_its_thread_and_writes_no_end(
    simple_actors: None,
    held: HeldTasks,
    take: Claimer,
    worker_connection: Connection,
    connection: Observer,
    monkeypatch: pytest.MonkeyPatch,
    lost: bool,
) -> None:
    tries: list[str] = []

    def lose_first_answer(name: str, *arguments: Any) -> Any:
        answer = fetch_one(name, *arguments)
        tries.append(name)
        if lost and len(tries) == 1:
            raise psycopg.OperationalError("the connection is lost")
        return answer

    monkeypatch.setattr(leases, "fetch_one", lose_first_answer)
    task_id = run_with_new_gates(take, held)
    assert tries == ["regate"] * (2 if lost else 1)
    assert held.is_idle()
    assert held.take_ends() == []
    assert Reporter(held).write(worker_connection) == set()
    task = get_task(task_id)
    assert (task.status, task.attempt, task.gates) == ("queued", 0, ["a"])
    assert connection.execute("SELECT * FROM admin.invariants").fetchall() == []


def test_without_an_answer_the_task_is_released(
    simple_actors: None, held: HeldTasks, take: Claimer, worker_connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise psycopg.OperationalError("no answer")

    monkeypatch.setattr(leases, "regate", fail)
    task_id = run_with_new_gates(take, held)
    Reporter(held).write(worker_connection)
    task = get_task(task_id)
    assert (task.status, task.attempt, task.gates) == ("queued", 0, [])


def test_a_cancel_that_comes_before_the_check_wins(
    simple_actors: None, held: HeldTasks, take: Claimer, worker_connection: Connection
) -> None:
    task_id = run_with_new_gates(take, held, prepare=cancel)
    Reporter(held).write(worker_connection)
    assert get_task(task_id).status == "canceled"
