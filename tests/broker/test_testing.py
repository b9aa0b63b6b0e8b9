"""The help for people who test their actors."""

import asyncio
import os
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import dramatiq.broker
import psycopg
import pytest
from pydantic import BaseModel

from broker import CancelRequested, Context, TaskBroker, TokenLimitExceeded, task
from broker.execution.storable import ResultNotJson
from broker.task import TaskActor
from broker.testing import EmittedEvent, run_actor
from state.errors import InvalidPayload
from state.settings import get_settings
from state.tasks import catalog
from tests.support.workers import ROOT


class Words(BaseModel):
    text: str = ""


class Count(BaseModel):
    words: int


@pytest.fixture(autouse=True)
def own_broker(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(catalog, "_actors", {})
    monkeypatch.setattr(dramatiq.broker, "global_broker", TaskBroker())
    yield
    get_settings.cache_clear()


@pytest.fixture
def count_words() -> TaskActor:
    @task()
    def count_words(ctx: Context, request: Words) -> Count:
        words = request.text.split()
        for number in range(ctx.checkpoint.get("done", 0), len(words)):
            ctx.emit("word", {"word": words[number]})
            ctx.save(done=number + 1)
            ctx.use(tokens=10, cost=0.5)
            ctx.progress(100 * (number + 1) / len(words), words[number])
        return Count(words=len(words))

    return count_words


def test_a_run_has_all_that_the_actor_has_said(count_words: TaskActor) -> None:
    run = run_actor(count_words, {"text": "to be or"})
    assert run.result == {"words": 3}
    assert [event for event in run.events if event.kind == "word"] == [
        EmittedEvent("word", {"word": word}) for word in ("to", "be", "or")
    ]
    assert [event.kind for event in run.events] == ["word", "progress"] * 3
    assert run.progress is not None
    assert (run.progress["percent"], run.progress["message"]) == (100, "or")
    assert (run.checkpoint, run.tokens, run.cost) == ({"done": 3}, 30, 1.5)


def test_a_run_goes_on_from_a_checkpoint(count_words: TaskActor) -> None:
    run = run_actor(count_words, Words(text="to be or not"), checkpoint={"done": 3, "other": [1]}, attempt=2)
    assert [event.data for event in run.events if event.kind == "word"] == [{"word": "not"}]
    assert run.checkpoint == {"done": 4, "other": [1]}


@pytest.mark.parametrize("cost", [float("inf"), float("nan")])
def test_usage_that_could_not_be_written_is_refused(cost: float) -> None:
    @task()
    def spend(ctx: Context, request: Words) -> None:
        ctx.use(cost=cost)

    with pytest.raises(ValueError, match="cannot be counted"):
        run_actor(spend, {})


def test_an_async_actor_runs_too() -> None:
    @task()
    async def wait(ctx: Context, request: Words) -> str:
        await asyncio.sleep(0.01)
        await asyncio.to_thread(ctx.save, waited=True)
        return f"{ctx.attempt}: {request.text}"

    run = run_actor(wait, {"text": "hello"}, attempt=2)
    assert (run.result, run.checkpoint) == ("2: hello", {"waited": True})

    async def test() -> None:
        assert (await asyncio.to_thread(run_actor, wait, {})).result == "1: "

    asyncio.run(test())


def test_many_events_are_kept() -> None:
    @task()
    def talk(ctx: Context, _: Words) -> None:
        for number in range(2500):
            ctx.emit("token", {"text": str(number)})

    assert len(run_actor(talk, {}).events) == 2500


def test_errors_are_raised(count_words: TaskActor, monkeypatch: pytest.MonkeyPatch) -> None:
    @task()
    def fail(ctx: Context, request: Words) -> object:
        if request.text == "stop":
            raise CancelRequested
        if request.text == "odd":
            return object()
        raise KeyError(request.text)

    with pytest.raises(KeyError, match="why"):
        run_actor(fail, {"text": "why"})
    with pytest.raises(CancelRequested):
        run_actor(fail, {"text": "stop"})
    with pytest.raises(ResultNotJson):
        run_actor(fail, {"text": "odd"})
    with pytest.raises(InvalidPayload, match="text"):
        run_actor(fail, {"text": 3})
    monkeypatch.setenv("CALLBOARD_TOKEN_LIMIT", "100")
    get_settings.cache_clear()
    with pytest.raises(TokenLimitExceeded):
        run_actor(count_words, {"text": "two words"}, tokens=85)


@pytest.fixture
def book() -> TaskActor:
    @task()
    def book(ctx: Context, request: Words) -> str:
        with ctx.transaction(result="booked") as conn:
            conn.execute("CREATE TABLE bookings (name text)")
            conn.execute("INSERT INTO bookings VALUES (%s)", [request.text])
            if request.text == "nothing":
                raise ValueError("rolled back")
        return "ignored"

    return book


def test_a_transaction_commits_with_the_result(book: TaskActor, database_url: str) -> None:
    with pytest.raises(ValueError, match="rolled back"):
        run_actor(book, {"text": "nothing"})
    assert run_actor(book, {"text": "a table"}).result == "booked"
    with psycopg.connect(database_url) as connection:
        assert connection.execute("SELECT name FROM bookings").fetchall() == [("a table",)]


USERS_TESTS = {
    "conftest.py": 'pytest_plugins = ["broker.testing"]',
    "test_actor.py": """
        import os
        import pytest
        import actors
        from state import get_task, list_tasks, submit

        @pytest.mark.parametrize("round", [1, 2])
        def test_each_test_has_an_empty_database(callboard_database: str, round: int) -> None:
            assert os.environ["CALLBOARD_DATABASE_URL"] == callboard_database
            assert list_tasks() == []
            payload = {"agent_name": "text", "task_type": "statistics", "input": {"text": "x"}}
            assert get_task(submit("agent", payload).task_id).status == "queued"

        def test_without_it_the_settings_are_untouched() -> None:
            assert os.environ.get("CALLBOARD_DATABASE_URL") == "postgresql://nowhere"
    """,
}


def test_the_fixture_gives_each_test_an_empty_database(tmp_path: Path) -> None:
    for name, text in USERS_TESTS.items():
        (tmp_path / name).write_text(textwrap.dedent(text))
    environment = {**os.environ, "CALLBOARD_DATABASE_URL": "postgresql://nowhere", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(tmp_path), str(tmp_path)],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=180,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "3 passed" in done.stdout
