"""The assistant works with its tools, and tells the model what went wrong; its turns and tokens are bounded."""

from collections.abc import Callable
from typing import Any

import pytest

from state import get_task, retry, submit
from state.agents import catalog
from state.errors import InvalidPayload
from tests.agents.assistants import COUNT_WORDS, TOKENS, answer_with_result, call, get_data, start_assistant
from tests.providers.servers import ChatServer, chat
from tests.providers.servers.chat_script import Answer
from tests.support.following import get_error, wait_until_finished
from tests.support.workers import WorkerTree

Start = Callable[..., WorkerTree]


def test_it_writes_runs_reads_and_answers(worker: Start, chat_server: ChatServer) -> None:
    chat_server.script = COUNT_WORDS
    worker()
    task = wait_until_finished(start_assistant(files={"given.txt": "Hello"}, model="some/model"))
    assert task.result == {
        "text": "There are 3 words.",
        "turns": 3,
        "files": {
            "count.txt": {"size": 2, "text": "3\n"},
            "given.txt": {"size": 5, "text": "Hello"},
            "notes/a.txt": {"size": 15, "text": "Milk and bread\n"},
        },
        "commands": [{"command": "wc -w < notes/a.txt > count.txt && echo counted", "exit_code": 0}],
        "provider": "openrouter",
        "model": "some/model",
    }
    assert (task.usage["tokens"], task.attempt) == (3 * TOKENS, 1)
    assert "given.txt" in chat_server.chat_requests[0]["messages"][1]["content"]
    assert [each["role"] for each in chat_server.chat_requests[2]["messages"]] == [
        *("system", "user"),
        *("assistant", "tool", "tool"),
        *("assistant", "tool"),
    ]
    tokens = get_data(task, "token")
    assert "".join(each["text"] for each in tokens if each["turn"] == 3) == "There are 3 words."
    tools = get_data(task, "tool")
    assert [(each["turn"], each["name"], "result" in each) for each in tools] == [
        (turn, name, has_result)
        for turn, name in ((1, "write_file"), (1, "run_command"), (2, "read_file"))
        for has_result in (False, True)
    ]
    assert (tools[3]["result"], tools[3]["exit_code"]) == ("counted\n(exit code 0)", 0)
    said = [each["text"] for each in get_data(task, "log")]
    # On a slow machine, the first imports of a worker block its loop for a while, and it says so.
    assert [text for text in said if not text.startswith("The coroutine blocks")] == ["counted\n"]


def test_without_a_key_it_follows_a_script(worker: Start, database_url: str) -> None:
    worker()
    script = "write hello.py: print(6 * 7)\nrun: python3 hello.py\nread hello.py\nlist files"
    task = wait_until_finished(start_assistant(script, provider=None))
    assert task.result["text"] == (
        "4 steps done.\n> write hello.py\nWrote 13 bytes to hello.py.\n> run: python3 hello.py\n42\n(exit code 0)\n"
        "> read hello.py\nprint(6 * 7)\n> list files\nhello.py"
    )
    assert (task.result["provider"], task.result["model"], task.result["turns"]) == ("local", "script", 5)


WRONG: list[tuple[str, Any, str]] = [
    ("read_file", '{"path": "a', "Error: The arguments are not valid JSON"),
    ("read_file", '["a"]', "Error: The arguments are not a JSON object"),
    ("read_file", {"file": "a"}, "Error: path: Field required"),
    ("write_file", {"path": 5, "content": "a"}, "Error: path: Input should be a valid string"),
    ("delete_file", {"path": "a"}, "Error: There is no tool 'delete_file'. The tools are read_file"),
    ("read_file", {"path": "none.txt"}, "Error: There is no 'none.txt'"),
    ("read_file", {"path": "../../etc/passwd"}, "Error: '../../etc/passwd' is no path inside the workspace"),
    ("read_file", {"path": "/etc/passwd"}, "Error: '/etc/passwd' is no path inside the workspace"),
    ("write_file", {"path": "../out.txt", "content": ""}, "Error: '../out.txt' is no path inside the workspace"),
    ("write_file", {"path": "a\x00b", "content": ""}, "is no path inside the workspace"),
    ("write_file", '{"path": "a", "content": "\\ud800"}', "Error: The text cannot be encoded as UTF-8"),
    ("run_command", {"command": "exit 3"}, "(exit code 3)"),
    ("run_command", {"command": "sleep 60"}, "(killed after 0.5 s)"),
    ("run_command", {"command": "printf 'a\\000b'"}, "a\N{REPLACEMENT CHARACTER}b"),
    ("run_command", {"command": "a\x00b"}, "Error: The command contains a NUL character"),
    ("run_command", {"command": "€" * 50_000}, "Error: The command has more than 100000 bytes"),
    ("run_command", {"command": "seq 10001 | xargs touch && ls | wc -l"}, "10001\n(exit code 0)"),
    ("list_files", "", "(no files)"),
]


def test_what_goes_wrong_is_told_to_the_model(worker_with_chat: ChatServer) -> None:
    def call_wrongly(messages: list[dict[str, Any]]) -> Answer:
        name, arguments, _ = WRONG[int(messages[1]["content"])]
        return Answer(calls=[(name, arguments)])

    worker_with_chat.script = [call_wrongly, answer_with_result]
    tasks = [
        start_assistant(str(number), timeout_seconds=0.5 if "killed" in told else 60)
        for number, (_, _, told) in enumerate(WRONG)
    ]
    for (name, _, told), task_id in zip(WRONG, tasks, strict=True):
        task = wait_until_finished(task_id)
        assert task.status == "completed", (name, task.error)
        assert told in task.result["text"]
        assert (task.result["turns"], task.attempt) == (2, 1)


@pytest.fixture
def worker_with_chat(worker: Start, chat_server: ChatServer) -> ChatServer:
    worker()
    return chat_server


def test_a_link_out_of_the_workspace_is_not_followed(worker_with_chat: ChatServer) -> None:
    worker_with_chat.script = [
        Answer(
            calls=[
                ("run_command", {"command": "ln -s /etc/passwd link; ln -s / root"}),
                ("read_file", {"path": "link"}),
                ("read_file", {"path": "root/etc/passwd"}),
                ("write_file", {"path": "link", "content": "a"}),
            ]
        ),
        Answer("Done."),
    ]
    task = wait_until_finished(start_assistant())
    results = [each["result"] for each in get_data(task, "tool") if "result" in each]
    assert all(each.startswith("Error: ") for each in results[1:]), results
    assert task.result["files"] == {}


def test_what_the_model_gets_is_bounded(worker_with_chat: ChatServer) -> None:
    worker_with_chat.script = [
        Answer(calls=[("run_command", {"command": "seq 200000; echo the end"}), *[("list_files", {})] * 20]),
        Answer("Done."),
    ]
    task = wait_until_finished(start_assistant())
    messages = worker_with_chat.chat_requests[1]["messages"]
    results = [each["content"] for each in messages if each["role"] == "tool"]
    assert len(results) == len(messages[2]["tool_calls"]) == 16
    assert 15_000 < len(results[0]) < 21_000
    assert results[0].startswith("1\n2\n")
    assert "are left out here" in results[0]
    assert "the end" in results[0] or "was not kept" in results[0]
    assert task.status == "completed"


def test_of_a_long_conversation_old_results_are_shortened(worker_with_chat: ChatServer) -> None:
    read = ("read_file", {"path": "long.txt"})
    worker_with_chat.script = [Answer(calls=[read] * 15), Answer(calls=[read]), Answer("Done.")]
    text = "".join(f"{number}\n" for number in range(4000))  # 18,890 characters
    assert wait_until_finished(start_assistant(files={"long.txt": text})).status == "completed"
    for request, in_full in zip(worker_with_chat.chat_requests, (0, 10, 10), strict=True):
        results = [each["content"] for each in request["messages"] if each["role"] == "tool"]
        assert [len(result) < 600 for result in results] == [True] * (len(results) - in_full) + [False] * in_full


def test_too_many_turns_end_it_dead_and_revived_it_goes_on(worker_with_chat: ChatServer) -> None:
    step = Answer("Once more.", [("run_command", {"command": "echo once more >> log.txt"})])
    worker_with_chat.script = [step, step, step, Answer(calls=[("read_file", {"path": "log.txt"})]), answer_with_result]
    task = wait_until_finished(start_assistant("Go on.", max_turns=3))
    assert (task.status, task.attempt) == ("dead", 1)
    error = get_error(task)
    assert (error["type"], error["category"]) == ("TooManyTurns", "permanent")
    assert error["details"] == {
        "turns": 3,
        "text": "Once more.",
        "commands": [{"command": "echo once more >> log.txt", "exit_code": 0}] * 3,
        "files": ["log.txt"],
    }
    retry(task.task_id)
    task = wait_until_finished(task.task_id)
    assert (task.status, task.result["turns"]) == ("completed", 5)
    assert task.result["text"] == "The result: once more\nonce more\nonce more\n"
    assert worker_with_chat.paid == {("Go on.", turn): 1 for turn in range(5)}
    assert task.usage["tokens"] == 5 * TOKENS


def test_the_token_limit_ends_it_dead(worker: Start, chat_server: ChatServer) -> None:
    chat_server.script = [Answer(calls=[("list_files", {})])]
    worker(token_limit=2 * TOKENS)
    task = wait_until_finished(start_assistant("Go on."))
    assert (task.status, get_error(task)["type"]) == ("dead", "TokenLimitExceeded")
    assert task.usage["tokens"] == 3 * TOKENS
    retry(task.task_id)
    task = wait_until_finished(task.task_id)
    assert (task.status, task.attempt, task.usage["tokens"]) == ("dead", 2, 3 * TOKENS)
    assert chat_server.paid == {("Go on.", turn): 1 for turn in range(3)}


def test_commands_have_nothing_of_ours_in_their_environment(worker_with_chat: ChatServer) -> None:
    worker_with_chat.script = call("run_command", {"command": "env; cat /proc/$PPID/environ; true"})
    task = wait_until_finished(start_assistant())
    assert "PATH=" in task.result["text"]
    assert chat.KEY not in task.result["text"]
    assert "CALLBOARD_" not in task.result["text"]


def test_events_are_masked_before_they_are_cut(worker_with_chat: ChatServer) -> None:
    """Half a secret is not recognized."""
    text = f"{'a ' * 5000}{chat.KEY} {'b' * (1000 - 13)}"
    worker_with_chat.script = [
        Answer(calls=[("read_file", {"path": "a.txt"}), ("write_file", {"path": "b.txt", "content": text})]),
        Answer("Done."),
    ]
    task = wait_until_finished(start_assistant(files={"a.txt": text}))
    shown = str(get_data(task, "tool"))
    assert "bbbb" in shown
    assert chat.KEY[-8:] not in shown


def test_its_code_cannot_create_tasks(worker: Start, chat_server: ChatServer) -> None:
    worker(actors="actors,tests.agents.submitting_model")
    task = wait_until_finished(start_assistant(provider="local"))
    assert (task.status, get_error(task)["type"]) == ("dead", "TasksRefused")


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"instruction": ""}, "payload.input.instruction"),
        ({"max_turns": 0}, "payload.input.max_turns"),
        ({"max_turns": 51}, "payload.input.max_turns"),
        ({"timeout_seconds": 601}, "payload.input.timeout_seconds"),
        ({"files": {"../a": "a"}}, "payload.input.files"),
        ({"files": {"/a": "a"}}, "payload.input.files"),
        ({"files": {"": "a"}}, "payload.input.files"),
        ({"files": {"a": "a" * (1024 * 1024 + 1)}}, "payload.input.files"),
        ({"provider": "local", "model": "some/model"}, "payload.input"),
        ({"provider": "hal"}, "payload.input"),
    ],
)
def test_bad_inputs_are_refused_at_submit(
    database_url: str,
    chat_server: ChatServer,
    given: dict[str, Any],
    field: str,
) -> None:
    with pytest.raises(InvalidPayload) as caught:
        start_assistant(**{"instruction": "A", **given})
    assert caught.value.field == field


def test_it_shares_the_gate_of_the_chat_api(database_url: str, chat_server: ChatServer) -> None:
    task = get_task(start_assistant())
    summary = submit("summarize", {"content": "A text."})
    assert task.gates == summary.gates == ["provider:openrouter"]
    assert get_task(start_assistant(provider="local")).gates == []
    assert catalog.get("assistant", "run").role == "operator"
