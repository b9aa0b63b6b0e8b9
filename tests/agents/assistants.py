"""What the tests of the assistant share: its tasks, and conversations that the chat server leads."""

from typing import Any

from state import Task, get_events, submit
from tests.providers.servers.chat_script import Answer, Script

TOKENS = 121  # that the chat server counts for an answer


def start_assistant(instruction: str = "Count the words.", **given: Any) -> str:
    given = {"provider": "openrouter", **given}
    payload = {"agent_name": "assistant", "task_type": "run", "input": {"instruction": instruction, **given}}
    return submit("agent", payload).task_id


def last_result(messages: list[dict[str, Any]]) -> str:
    """Returns what the last tool has answered."""
    assert messages[-1]["role"] == "tool"
    return str(messages[-1]["content"])


def answer_with_result(messages: list[dict[str, Any]]) -> Answer:
    return Answer(f"The result: {last_result(messages)}")


# Writes a file, runs a command on it, reads the output, and answers with what it has read.
COUNT_WORDS: Script = [
    Answer(
        "I write and count.",
        [
            ("write_file", {"path": "notes/a.txt", "content": "Milk and bread\n"}),
            ("run_command", {"command": "wc -w < notes/a.txt > count.txt && echo counted"}),
        ],
    ),
    Answer(calls=[("read_file", {"path": "count.txt"})]),
    lambda messages: Answer(f"There are {last_result(messages).strip()} words."),
]


def call(name: str, arguments: Any) -> Script:
    """One call, and an answer that repeats its result."""
    return [Answer(calls=[(name, arguments)]), answer_with_result]


def get_data(task: Task, kind: str) -> list[dict[str, Any]]:
    return [event.data for event in get_events(task.task_id) if event.kind == kind]
