"""Verbs that serve several callers by one statement: each gets its own, whatever happens to the others."""

from contextvars import Context, copy_context
from typing import Any

import psycopg
import pytest
import structlog

from state import NewTask, Task, get_task, submit
from state.access.caller import SYSTEM, Caller
from state.database.connection import Connection
from state.errors import Forbidden, InvalidPayload, NotReady, TaskNotFound, UnknownActor
from state.gates.operations import put_gate
from state.logs import configure_logs
from state.tasks.sharing import Asked, TooLargeToShare, get_together, submit_together
from tests.support.lostanswers import LostAnswers
from tests.support.observer import Observer

ACME, OTHER = Caller("submitter", "acme", "ck_1", "acme"), Caller("reader", "other", "ck_2", "other")


def ask(wanted: Any, caller: Caller = SYSTEM, context: Context | None = None) -> Asked[Any]:
    return Asked(wanted, caller, context or copy_context())


def count(connection: Observer) -> int:
    return int(connection.fetch_one("SELECT count(*) AS n FROM callboard.tasks")["n"])


def test_each_gets_its_own_task_or_its_own_error(connection: Observer) -> None:
    asked = [
        ask(NewTask("quick", {"n": 1}), ACME),
        ask(NewTask("nobody", {})),
        ask(NewTask("quick", {"n": 2}, tenant="other"), ACME),
        ask(NewTask("quick", {"n": 3}, delay_seconds=60)),
        ask(NewTask("quick", {"n": 4}, max_attempts=0)),
        ask(NewTask("quick", {"n": 5}, dedup_key="k")),
        ask(NewTask("quick", {"n": 6}, tenant="other")),
    ]
    answers = submit_together(asked)
    kinds = [type(each) for each in answers]
    assert kinds == [Task, UnknownActor, Forbidden, Task, InvalidPayload, ValueError, Task]
    tasks = [each for each in answers if isinstance(each, Task)]
    assert [(task.payload["n"], task.tenant, task.status) for task in tasks] == [
        (1, "acme", "queued"), (3, None, "scheduled"), (6, "other", "queued")
    ]  # fmt: skip
    assert [get_task(task.task_id).model_dump() for task in tasks] == [task.model_dump() for task in tasks]
    assert count(connection) == 3
    assert submit_together([]) == []


def test_a_row_that_cannot_be_stored_does_not_stop_the_others(connection: Observer) -> None:
    connection.execute("ALTER TABLE callboard.tasks ADD CHECK (payload ->> 'text' IS DISTINCT FROM 'poison')")
    texts = ["a", "poison", "b", "poison", "c"]
    answers = submit_together([ask(NewTask("quick", {"text": text})) for text in texts])
    for text, answer in zip(texts, answers, strict=True):
        if text == "poison":
            assert isinstance(answer, psycopg.errors.CheckViolation)
        else:
            assert isinstance(answer, Task)
            assert answer.payload["text"] == text
    assert count(connection) == 3


@pytest.mark.parametrize("done", [True, False])
def test_a_lost_answer_doubles_nothing(connection: Observer, monkeypatch: pytest.MonkeyPatch, done: bool) -> None:
    """`done`: the statement has been committed, and a worker may have claimed the tasks by the time it is repeated."""
    lost = LostAnswers(monkeypatch)
    lost.of_statement("submit", done=done)
    answers = submit_together([ask(NewTask("quick", {"n": number})) for number in range(10)])
    assert lost.lost == 1
    assert [answer.payload["n"] for answer in answers if isinstance(answer, Task)] == [*range(10)]
    assert count(connection) == 10
    events = connection.fetch_one("SELECT count(*) AS n FROM callboard.events")["n"]
    assert events == 10


def test_what_was_accepted_is_answered_although_the_database_has_gone(
    connection: Observer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tasks in a line are read back; if that fails, the answer says what the statement has said."""
    put_gate("tenant:acme", paused=True)
    first = submit("quick", {}, tenant="acme").task_id
    line = (
        "UPDATE callboard.tasks SET status = 'waiting', waiting_gate = 'tenant:acme', waiting_reason = '' WHERE id = %s"
    )
    connection.execute(line, [first])
    [one, two] = submit_together([ask(NewTask("quick", {}, tenant="acme")) for _ in range(2)])
    assert isinstance(one, Task)
    assert isinstance(two, Task)
    assert one.waiting is not None
    assert one.waiting["gate"] == "tenant:acme"
    fetch = Connection.fetch

    def fail_to_read(own: Connection, name: str, *rest: Any, **options: Any) -> Any:
        if name == "tasks_of_many":
            raise NotReady("The database does not answer.")
        return fetch(own, name, *rest, **options)

    monkeypatch.setattr(Connection, "fetch", fail_to_read)
    answers = submit_together([ask(NewTask("quick", {}, tenant="acme")) for _ in range(2)])
    assert [answer.status for answer in answers if isinstance(answer, Task)] == ["waiting", "waiting"]
    assert count(connection) == 5


def test_log_lines_name_the_request_of_each(capfd: pytest.CaptureFixture[str]) -> None:
    configure_logs("info")
    contexts = []
    for name in ("one", "two"):
        context = Context()
        context.run(structlog.contextvars.bind_contextvars, request_id=name)
        contexts.append(context)
    tasks = submit_together([ask(NewTask("quick", {}), context=context) for context in contexts])
    lines = capfd.readouterr().err.splitlines()
    for task, name in zip(tasks, ("one", "two"), strict=True):
        assert isinstance(task, Task)
        [line] = [each for each in lines if task.task_id in each]
        assert f'"request_id": "{name}"' in line


def test_each_reads_within_its_own_scope() -> None:
    mine, theirs, nobodys = (submit("quick", {}, tenant=tenant).task_id for tenant in ("acme", "other", None))
    unknown = "tq_" + "0" * 32
    asked = [
        ask(its_id, caller) for caller in (SYSTEM, ACME, OTHER) for its_id in (mine, theirs, nobodys, unknown, mine)
    ]
    answers = get_together(asked)
    seen = [answer.task_id if isinstance(answer, Task) else None for answer in answers]
    assert seen == [
        mine, theirs, nobodys, None, mine,
        mine, None, None, None, mine,
        None, theirs, None, None, None,
    ]  # fmt: skip
    assert all(isinstance(answer, Task | TaskNotFound) for answer in answers)
    assert [type(each) for each in get_together([ask(mine, OTHER)])] == [TaskNotFound]


def test_large_tasks_are_left_to_be_read_alone() -> None:
    small, large = (submit("quick", {"text": "x" * size}).task_id for size in (1_000, 100_000))
    first, second = get_together([ask(small), ask(large)])
    assert isinstance(first, Task)
    assert first.payload == {"text": "x" * 1_000}
    assert isinstance(second, TooLargeToShare)
