"""Summaries, from one sentence to a book, with and without a key."""

import pytest

from actors.summarize import SummarizeRequest, provider_gate
from providers.language.sentences import split_parts
from state import NewTask, cancel, get_events, submit, submit_many
from state.errors import InvalidPayload
from state.gates import Gate
from state.gates.operations import put_gate
from tests.actors.conftest import Start
from tests.providers.servers import ChatServer
from tests.support.clock import Clock
from tests.support.eventually import eventually
from tests.support.following import get_delay, get_error, wait_for_attempt, wait_until_finished

TEXT = " ".join(f"Sentence number {number} speaks of lighthouses and of the sea around them." for number in range(24))


def tokens(task_id: str) -> str:
    return "".join(event.data["text"] for event in get_events(task_id) if event.kind == "token")


def asked(server: ChatServer) -> list[str]:
    return [request["messages"][-1]["content"] for request in server.requests]


def test_without_a_key_the_summary_is_local(start: Start, database_url: str) -> None:
    start()
    task = wait_until_finished(submit("summarize", {"content": TEXT, "max_sentences": 3}).task_id)
    assert (task.result["provider"], task.payload["provider"]) == ("local", "local")
    assert task.result["summary"] == tokens(task.task_id)
    assert task.result["summary"].count("Sentence number") == 3
    long = wait_until_finished(
        submit("summarize", {"content": TEXT * 40, "max_sentences": 2, "part_chars": 5000}).task_id
    )
    assert long.result["summary"].count("Sentence number") == 2
    parts = [event.data for event in get_events(long.task_id) if event.kind == "part"]
    assert [each["part"] for each in parts if each["round"] == 1] == list(range(1, parts[0]["of"] + 1))


def test_with_a_key_it_is_remote_and_streamed(start: Start, chat_server: ChatServer) -> None:
    start()
    task = wait_until_finished(submit("summarize", {"content": "The sea is wide."}).task_id)
    assert task.result["summary"] == "In short: The sea is wide." == tokens(task.task_id)
    assert task.result["provider"] == "openrouter"
    assert task.usage == {"tokens": 121, "cost": 0.00042}
    assert [event.kind for event in get_events(task.task_id)].count("token") == 5
    local = wait_until_finished(submit("summarize", {"content": TEXT, "provider": "local"}).task_id)
    assert local.result["provider"] == "local"
    assert len(chat_server.requests) == 1


def test_a_hundred_stream_at_once_in_one_process(start: Start, chat_server: ChatServer) -> None:
    chat_server.holds = True
    start(processes=1, threads=2)
    ids = submit_many([NewTask("summarize", {"content": f"The sea is wide, for the {n}th time."}) for n in range(100)])
    eventually(lambda: len(chat_server.requests) == 100, what="a hundred open streams")
    eventually(lambda: all(tokens(task_id) == "In short:" for task_id in ids), what="each has its first piece")
    chat_server.holds = False
    for number, task_id in enumerate(ids):
        summary = wait_until_finished(task_id).result["summary"]
        assert summary == f"In short: The sea is wide, for the {number}th time." == tokens(task_id)
    assert len(chat_server.requests) == 100


def test_parts_are_paid_for_once(
    start: Start, chat_server: ChatServer, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = split_parts(TEXT, 600)
    assert len(parts) == 3
    calls: list[str] = []
    take = chat_server.faults.take

    def third_chat_fails(stage: str) -> int | str | None:
        calls.append(stage)
        return 503 if stage == "chat" and calls.count("chat") == 3 else take(stage)

    monkeypatch.setattr(chat_server.faults, "take", third_chat_fails)
    start()
    task_id = submit("summarize", {"content": TEXT, "part_chars": 600}).task_id
    failed = wait_for_attempt(task_id)
    assert (failed.status, get_error(failed)["type"], get_delay(failed)) == ("scheduled", "ServiceUnavailable", 7)
    assert failed.progress["percent"] == 0
    clock.advance(8)
    task = wait_until_finished(task_id)
    summaries = [event.data["summary"] for event in get_events(task_id) if event.kind == "part"][-3:]
    assert asked(chat_server) == [*parts, parts[2], "\n\n".join(summaries)]
    assert task.result["summary"] == tokens(task_id)
    assert task.usage["tokens"] == 4 * 121
    told = [event.data["message"] for event in get_events(task_id) if event.kind == "progress"]
    assert any(message.endswith("of 3") for message in told)


def test_faults(start: Start, chat_server: ChatServer) -> None:
    start(threads=1)
    for stage, fault, status, kind in (
        ("chat", 400, "dead", "InvalidInput"),
        ("chat", 401, "dead", "AuthenticationFailed"),
        ("chat", 403, "dead", "PermissionDenied"),
        ("chat", 429, "scheduled", "RateLimited"),
        ("chat", 502, "scheduled", "ServerError"),
        ("chat", "malformed", "scheduled", "ServerError"),
        ("stream", "error", "scheduled", "ServerError"),
        ("stream", "cut", "scheduled", "NetworkTimeout"),
        ("stream", "filtered", "dead", "InvalidInput"),
        ("stream", "empty", "scheduled", "ServerError"),
    ):
        chat_server.faults.add(stage, fault)
        task = wait_for_attempt(submit("summarize", {"content": "The sea is wide."}).task_id)
        assert (task.status, get_error(task)["type"]) == (status, kind), fault
        if status == "scheduled":
            cancel(task.task_id)  # or its retry would meet the next fault
        put_gate("provider:openrouter", closed_until=None)  # Retry-After has closed it


def test_a_cancel_stops_the_model(start: Start, chat_server: ChatServer) -> None:
    chat_server.seconds = 0.2
    start()
    task_id = submit("summarize", {"content": TEXT}).task_id
    eventually(lambda: tokens(task_id))
    cancel(task_id)
    assert wait_until_finished(task_id).status == "canceled"
    eventually(lambda: chat_server.streams_ended_early == 1)


def test_refusals_and_gates(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for payload, reason in (
        ({"content": "A.", "provider": "openrouter"}, "set OPENROUTER_API_KEY"),
        ({"content": "A.", "provider": "nobody"}, "known are"),
        ({"content": " \n "}, "nothing to summarize"),
    ):
        with pytest.raises(InvalidPayload, match=reason):
            submit("summarize", payload)
    assert provider_gate(SummarizeRequest(content="A.")) == []
    monkeypatch.setenv("OPENROUTER_API_KEY", "k")
    assert provider_gate(SummarizeRequest(content="A.")) == [Gate("provider:openrouter", breaker=True)]
