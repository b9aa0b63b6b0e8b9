"""POST /tasks/batch: each task has its own outcome, and one that is refused does not stop the others."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import httpx2
import psycopg
import pytest

from state.access.caller import Caller
from state.database import AnyConnection, transaction
from state.database.connection import Connection
from state.errors import Forbidden
from state.settings import get_settings
from state.tasks import batches
from state.tasks.new_task import NewTask
from state.tasks.reads import get_task
from taskapi.resources import batches as resource
from tests.support.observer import Observer
from tests.taskapi.fake_worker import FakeWorker
from tests.taskapi.problems import expect_problem

BATCH = "/api/v1/tasks/batch"
Rows = Callable[[], dict[str, int]]


def task(**options: Any) -> dict[str, Any]:
    return {"actor": "anything", "payload": {}, **options}


def send(client: httpx2.Client, *tasks: Any, **headers: str) -> list[dict[str, Any]]:
    answer = client.post(BATCH, json={"tasks": tasks}, headers=headers)
    assert answer.status_code == 200, answer.text
    assert answer.json()["next_cursor"] is None
    outcomes: list[dict[str, Any]] = answer.json()["items"]
    return outcomes


def summarize(outcomes: list[dict[str, Any]]) -> list[tuple[int, str | None]]:
    return [(each["status"], each["problem"] and each["problem"]["error"]) for each in outcomes]


def test_each_task_has_its_outcome(client: httpx2.Client, rows: Rows) -> None:
    outcomes = send(
        client,
        task(payload={"x": 1}),
        task(actor="nobody"),
        "nonsense",
        {"actor": "strict", "payload": {"text": 1}},
        task(priority=9),
        task(surplus=1),
        task(workflow_id="wf_nothing"),
        task(dedup_key="k", priority=1),
        task(dedup_key="k"),
        {"task_type": "strict", "payload": {"text": "x"}, "delay_seconds": 60},
        task(available_at="2030-01-01T00:00:00"),
        task(queue="nobody"),
    )
    assert summarize(outcomes) == [
        (202, None),
        (404, "unknown-actor"),
        (422, "invalid-input"),
        (422, "invalid-input"),
        (422, "invalid-input"),
        (422, "invalid-input"),
        (404, "workflow-not-found"),
        (202, None),
        (200, None),
        (202, None),
        (422, "invalid-input"),
        (422, "invalid-input"),
    ]
    assert outcomes[3]["problem"]["field"] == "payload.text"
    assert rows() == {"tasks": 3, "events": 3, "idempotency": 0}
    for outcome in outcomes:
        assert (outcome["task"] is None) is (outcome["problem"] is not None)
        if outcome["task"] is not None:
            assert outcome["task"]["task_id"] == outcome["task_id"]
            shown = {name: value for name, value in outcome["task"].items() if name != "deduplicated"}
            assert client.get(f"/api/v1/tasks/{outcome['task_id']}").json() == shown
    assert (outcomes[7]["task_id"], outcomes[8]["task"]["deduplicated"]) == (outcomes[8]["task_id"], True)
    assert outcomes[9]["task"]["status"] == "scheduled"


def test_a_refused_batch_stores_nothing(client: httpx2.Client, rows: Rows) -> None:
    wrong: list[Any] = [[], [task()] * 1001, {}, None]
    for tasks in wrong:
        expect_problem(client.post(BATCH, json={"tasks": tasks}), 422, "invalid-input")
    for body in ({"more": 1}, {"tasks": [task()], "more": 1}):
        expect_problem(client.post(BATCH, json=body), 422, "invalid-input")
    expect_problem(client.post(BATCH, content="[", headers={"Content-Type": "application/json"}), 400, "invalid-json")
    large = {"tasks": [task(payload={"x": "y" * get_settings().max_body_bytes})]}
    expect_problem(client.post(BATCH, json=large), 413, "body-too-large")
    assert rows()["tasks"] == 0


def test_a_large_batch_is_one_statement(
    client: httpx2.Client, rows: Rows, monkeypatch: pytest.MonkeyPatch, fake_worker: FakeWorker
) -> None:
    inserts = count_statements(monkeypatch)
    outcomes = send(client, *[task(payload={"n": n}) for n in range(1000)])
    assert {each["status"] for each in outcomes} == {202}
    assert [each["task"]["payload"]["n"] for each in outcomes] == list(range(1000))
    assert (inserts["submit"], rows()["tasks"]) == (1, 1000)
    assert fake_worker.start().id == outcomes[0]["task_id"]


def count_statements(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    counts: dict[str, int] = {}
    fetch = Connection.fetch

    def count(self: Connection, name: str, *args: Any, **kwargs: Any) -> list[dict[str, Any]]:
        counts[name] = counts.get(name, 0) + 1
        return fetch(self, name, *args, **kwargs)

    monkeypatch.setattr(Connection, "fetch", count)
    return counts


def test_a_value_that_postgres_cannot_store_is_refused_alone(
    client: httpx2.Client, rows: Rows, connection: Observer
) -> None:
    """It is found by its error: the tasks are then inserted one by one."""
    connection.execute("CREATE INDEX ON callboard.tasks ((payload ->> 'agent_name'))")  # an operator's own
    too_long = {"agent_name": "".join(chr(0x4E00 + n) for n in range(9000))}  # for an index
    for key, headers in (("k1", {}), ("k2", {"Idempotency-Key": "b1"})):
        outcomes = send(client, task(), task(payload=too_long, dedup_key=key), task(dedup_key=key), **headers)
        assert summarize(outcomes) == [(202, None), (422, "invalid-input"), (202, None)]
    assert rows() == {"tasks": 4, "events": 4, "idempotency": 1}


def test_an_idempotency_key_holds_for_the_whole_batch(client: httpx2.Client, rows: Rows) -> None:
    tasks = [task(), task(actor="nobody"), task(dedup_key="k")]
    key = {"Idempotency-Key": "b1"}
    first = client.post(BATCH, json={"tasks": tasks}, headers=key)
    again = client.post(BATCH, json={"tasks": tasks}, headers=key)
    assert (again.status_code, again.content) == (200, first.content)
    assert (first.headers.get("idempotent-replayed"), again.headers["idempotent-replayed"]) == (None, "true")
    expect_problem(client.post(BATCH, json={"tasks": tasks[:1]}, headers=key), 422, "idempotency-conflict")
    assert rows() == {"tasks": 2, "events": 2, "idempotency": 1}
    with ThreadPoolExecutor(4) as threads:
        other = {"Idempotency-Key": "b2"}
        answers = list(threads.map(lambda _: client.post(BATCH, json={"tasks": tasks}, headers=other), range(4)))
    assert {answer.status_code for answer in answers} <= {200, 409}
    assert rows()["tasks"] == 3  # the key k is held by the first batch


def test_two_batches_with_the_same_keys(client: httpx2.Client, rows: Rows) -> None:
    """They take the keys in the same order, so neither waits for the other for ever."""
    tasks = [task(dedup_key=f"k{n}") for n in range(50)]
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda turn: send(client, *tasks[:: 1 if turn % 2 else -1]), range(4)))
    ids = [sorted(each["task_id"] for each in outcomes) for outcomes in found]
    assert ids[1:] == ids[:-1]
    assert sorted(status for outcomes in found for status, _ in summarize(outcomes)) == [200] * 150 + [202] * 50
    assert rows()["tasks"] == 50


def test_a_lost_answer_submits_nothing_twice(
    client: httpx2.Client, rows: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    lost: list[bool] = []

    @contextmanager
    def lose_the_answer() -> Iterator[AnyConnection]:
        with transaction() as own:
            yield own
        if not lost:
            lost.append(True)
            raise psycopg.OperationalError("the connection is lost")

    monkeypatch.setattr(batches, "transaction", lose_the_answer)
    outcomes = send(client, task(), task(actor="nobody"), task(dedup_key="k"))
    assert summarize(outcomes) == [(202, None), (404, "unknown-actor"), (202, None)]
    assert (lost, rows()["tasks"]) == ([True], 2)


def test_the_answer_is_bounded(client: httpx2.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "MAX_BYTES", 3000)  # of the pages as well
    outcomes = send(client, *[task(payload={"x": "y" * 1000}) for _ in range(30)])
    shown = [each["task"] is not None for each in outcomes]
    assert shown == sorted(shown, reverse=True)
    assert 1 <= sum(shown) < 5
    assert len({each["task_id"] for each in outcomes}) == 30


def test_another_error_of_the_database_is_not_an_outcome(
    client: httpx2.Client, rows: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr(batches, "insert_all", fail)
    expect_problem(client.post(BATCH, json={"tasks": [task(), task()]}), 500, "internal-error")
    assert rows()["tasks"] == 0


def test_each_task_is_judged_by_what_the_caller_may_do(actors: None, rows: Rows) -> None:
    tasks = [
        NewTask("anything", {}),
        NewTask("anything", {}, tenant="acme"),
        NewTask("anything", {}, tenant="other"),
        NewTask("anything", {}, priority=0),
    ]
    outcomes = batches.submit_each(tasks, caller=Caller("submitter", "acme"))
    assert [type(each) for each in outcomes] == [batches.Accepted, batches.Accepted, Forbidden, Forbidden]
    accepted = [each.task_id for each in outcomes if isinstance(each, batches.Accepted)]
    assert [get_task(each, caller=Caller("reader", "acme")).tenant for each in accepted] == ["acme", "acme"]
    assert rows()["tasks"] == 2
