"""An assistant that is stopped: its command is killed, its stream ends, and later it goes on with the next turn."""

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import psutil
import pytest

from state import cancel, get_events, get_task, pause, resume
from tests.agents.assistants import COUNT_WORDS, TOKENS, answer_with_result, get_data, start_assistant
from tests.providers.servers import ChatServer
from tests.providers.servers.chat_script import Answer
from tests.support.eventually import eventually
from tests.support.following import get_error, get_stages, wait_for_status, wait_until_finished
from tests.support.observer import Observer
from tests.support.workers import TEST_ACTORS, WorkerTree

Start = Callable[..., WorkerTree]


def wait_for_event(task_id: str, kind: str, **wanted: Any) -> None:
    def look() -> bool:
        return any(event.kind == kind and wanted.items() <= event.data.items() for event in get_events(task_id))

    eventually(look, what=f"{kind} {wanted}")


def find_processes(marker: str) -> list[int]:
    return [each.pid for each in psutil.process_iter(["cmdline"]) if marker in " ".join(each.info["cmdline"] or [])]


def test_a_cancel_kills_the_running_command(worker: Start, chat_server: ChatServer) -> None:
    marker = f"300.{uuid4().int % 10**9:09d}"
    command = f"sleep {marker} & echo started; sleep {marker}"
    chat_server.script = [Answer(calls=[("run_command", {"command": command})])]
    worker()
    task_id = start_assistant()
    wait_for_event(task_id, "log", text="started\n")
    assert find_processes(marker)
    cancel(task_id)
    task = wait_until_finished(task_id)
    assert task.status == "canceled"
    assert get_stages(task_id) == ["requested", "seen", "sandbox killed", "stopped"]
    assert find_processes(marker) == []
    assert (task.usage["tokens"], chat_server.paid.total()) == (TOKENS, 1)


def test_paused_in_a_command_it_runs_that_again_and_pays_nothing_again(
    worker: Start, chat_server: ChatServer, connection: Observer
) -> None:
    chat_server.script = [
        Answer(
            calls=[
                ("write_file", {"path": "a.txt", "content": "kept"}),
                ("run_command", {"command": "if [ -e go ]; then cat a.txt; else echo started; sleep 300; fi"}),
            ]
        ),
        answer_with_result,
    ]
    worker()
    task_id = start_assistant("Wait.")
    wait_for_event(task_id, "log", text="started\n")
    pause(task_id)
    wait_for_status(task_id, "paused")
    # Among the kept files, so that the command ends when it runs again.
    connection.execute(
        "UPDATE callboard.tasks SET checkpoint = jsonb_set(checkpoint, '{files,texts,go}', '\"\"') WHERE id = %s",
        [task_id],
    )
    resume(task_id)
    task = wait_until_finished(task_id)
    assert task.result["text"] == "The result: kept\n(exit code 0)"
    assert chat_server.paid == {("Wait.", 0): 1, ("Wait.", 1): 1}
    assert task.usage["tokens"] == 2 * TOKENS
    called = [each["name"] for each in get_data(task, "tool") if "arguments" in each]
    assert called == ["write_file", "run_command", "run_command"]


def test_paused_in_a_stream_the_model_stops_and_that_turn_is_asked_again(
    worker: Start, chat_server: ChatServer
) -> None:
    chat_server.script = [*COUNT_WORDS[:2], Answer("a " * 500)]
    worker()
    task_id = start_assistant("Speak.")
    eventually(lambda: chat_server.paid["Speak.", 0])
    chat_server.seconds = 0.05
    wait_for_event(task_id, "token", turn=3)
    pause(task_id)
    wait_for_status(task_id, "paused")
    eventually(lambda: chat_server.streams_ended_early == 1, what="the stream has ended at the service")
    assert chat_server.paid == {("Speak.", 0): 1, ("Speak.", 1): 1}
    chat_server.seconds = 0
    resume(task_id)
    task = wait_until_finished(task_id)
    assert (task.status, task.result["turns"]) == ("completed", 3)
    assert chat_server.paid == {("Speak.", turn): 1 for turn in range(3)}
    assert task.usage["tokens"] == 3 * TOKENS


def test_a_shutdown_keeps_the_attempt_and_the_turns(worker: Start, chat_server: ChatServer) -> None:
    chat_server.script = [*COUNT_WORDS[:2], Answer("a " * 500)]
    tree = worker(grace_seconds=0)
    task_id = start_assistant("Speak.")
    eventually(lambda: chat_server.paid["Speak.", 0])
    chat_server.seconds = 0.05
    wait_for_event(task_id, "token", turn=3)
    tree.terminate()
    tree.wait()
    assert (get_task(task_id).status, get_task(task_id).attempt) == ("queued", 0)
    chat_server.seconds = 0
    worker()
    task = wait_until_finished(task_id)
    assert (task.status, task.attempt, task.result["turns"]) == ("completed", 1, 3)
    assert chat_server.paid == {("Speak.", turn): 1 for turn in range(3)}


def test_a_worker_without_the_key_does_not_go_on_with_another_provider(
    worker: Start, chat_server: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat_server.script = [*COUNT_WORDS[:2], Answer("a " * 500)]
    tree = worker(grace_seconds=0)
    task_id = start_assistant("run: echo the local provider would follow this line", provider=None)
    eventually(lambda: chat_server.paid)
    chat_server.seconds = 0.05
    wait_for_event(task_id, "token", turn=3)
    tree.terminate()
    tree.wait()
    monkeypatch.delenv("OPENROUTER_API_KEY")
    worker()
    task = wait_until_finished(task_id)
    assert (task.status, get_error(task)["type"]) == ("dead", "AuthenticationFailed")
    assert "OPENROUTER_API_KEY" in get_error(task)["message"]


def test_a_stop_right_after_the_stream_does_not_lose_the_answer(worker: Start, chat_server: ChatServer) -> None:
    """The worker waits for the stop when an answer is complete and not saved yet."""
    chat_server.script = COUNT_WORDS
    tree = worker(actors=f"{TEST_ACTORS},tests.agents.late_stops")
    task_id = start_assistant("Count.")
    eventually(lambda: chat_server.paid["Count.", 0])
    pause(task_id)
    assert wait_for_status(task_id, "paused").usage["tokens"] == TOKENS
    tree.kill()
    worker()
    resume(task_id)
    task = wait_until_finished(task_id)
    assert task.result["text"] == "There are 3 words."
    assert chat_server.paid == {("Count.", turn): 1 for turn in range(3)}
    assert task.usage["tokens"] == 3 * TOKENS


def test_files_beyond_the_limit_are_gone_after_a_stop_and_the_model_is_told(
    worker: Start, chat_server: ChatServer
) -> None:
    make = "seq 300000 > big.txt; printf '\\000\\377' > small.bin; mkdir -p b; echo b > b/c.txt; wc -c < big.txt"
    chat_server.script = [
        Answer(calls=[("run_command", {"command": make})]),
        Answer("a " * 500, [("run_command", {"command": "od -An -tx1 small.bin; cat b/c.txt; ls big.txt"})]),
        answer_with_result,
    ]
    chat_server.seconds = 0.05
    worker()
    task_id = start_assistant()
    wait_for_event(task_id, "token", turn=2)
    pause(task_id)
    wait_for_status(task_id, "paused")
    chat_server.seconds = 0
    resume(task_id)
    task = wait_until_finished(task_id)
    assert "00 ff\nb\n" in task.result["text"]
    assert "big.txt" not in task.result["files"]
    told = chat_server.chat_requests[-2]["messages"][-1]
    assert told["role"] == "user"
    assert "is gone: big.txt" in told["content"]
