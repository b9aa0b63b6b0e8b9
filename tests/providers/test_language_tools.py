"""Calls of tools: in the shapes in which services stream them, sent back as the API demands; and the local script."""

import json
from typing import Any

import httpx2
import pytest

from providers.blocking import wait_for
from providers.errors import InvalidInput, ProviderError
from providers.language import registry
from providers.language.protocol import Completion, Message, Tool, ToolCall
from providers.language.script import parse_steps
from providers.language.tool_calls import MAX_ARGUMENTS
from tests.providers.servers import ChatServer, chat
from tests.providers.servers.chat_script import SHAPES, Answer

PATH = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
TOOLS = [
    Tool(name=name, description=f"{name}.", parameters=PATH) for name in ("read_file", "write_file", "run_command")
]
WRITE = {"path": "notes.txt", "content": 'Milk, "bread"\nand 牛奶'}
CALLS: list[tuple[str, Any]] = [("write_file", WRITE), ("read_file", {"path": "a.txt"})]


def ask(*more: Message, name: str = "openrouter", prompt: str = "Note it.", **options: Any) -> Completion:
    return registry.get(name).complete([Message(role="user", content=prompt), *more], tools=TOOLS, **options)


def read(completion: Completion) -> list[tuple[str, Any]]:
    wait_for(completion.read())
    return [(call.name, json.loads(call.arguments)) for call in completion.tool_calls]


def test_calls_are_put_together_from_their_pieces(chat_server: ChatServer) -> None:
    chat_server.script = [Answer("I write it.", CALLS)]
    completion = ask(model="some/model")
    assert not completion.finished
    assert read(completion) == CALLS
    assert completion.finished
    assert (completion.text, completion.model) == ("I write it.", "some/model")
    assert [call.id for call in completion.tool_calls] == ["call_0_0", "call_0_1"]
    assert (completion.usage.tokens, completion.usage.cost) == (121, 0.00042)
    [sent] = chat_server.requests
    assert (sent["model"], sent["tool_choice"]) == ("some/model", "auto")
    assert sent["stream_options"] == {"include_usage": True}
    assert sent["tools"][0]["function"]["parameters"] == PATH


@pytest.mark.parametrize("shape", SHAPES)
def test_other_shapes_of_calls(chat_server: ChatServer, shape: str) -> None:
    """Gemini and Ollama leave out the index or the id, number every call 0, or finish with `stop`."""
    chat_server.script = [Answer(calls=CALLS)]
    chat_server.faults.add("shape", shape)
    completion = ask()
    assert read(completion) == CALLS
    ids = [call.id for call in completion.tool_calls]
    assert all(ids)
    assert len(set(ids)) == 2


@pytest.mark.parametrize("fault", ["not-streamed", "no-usage"])
def test_services_that_do_not_stream_or_count(chat_server: ChatServer, fault: str) -> None:
    chat_server.script = [Answer(calls=CALLS)]
    chat_server.faults.add("stream", fault)
    completion = ask()
    assert read(completion) == CALLS
    assert completion.usage.tokens_in > 0
    assert completion.usage.tokens_out > 0


def test_a_conversation_goes_back_as_the_api_demands(chat_server: ChatServer) -> None:
    reasoning = [{"type": "reasoning.encrypted", "data": "c2lnbmVk"}]
    chat_server.script = [Answer(calls=CALLS, more={"reasoning_details": reasoning}), Answer("Done.")]
    first = ask()
    wait_for(first.read())
    assert first.reasoning_details == reasoning
    answer = Message(
        role="assistant", content="", tool_calls=first.tool_calls, reasoning_details=first.reasoning_details
    )
    results = [Message(role="tool", content="ok", tool_call_id=call.id) for call in first.tool_calls]
    assert wait_for(ask(answer, *results).read()) == "Done."
    sent = chat_server.requests[1]["messages"][1]
    assert (sent["content"], sent["reasoning_details"]) == (None, reasoning)
    assert [call["function"]["arguments"] for call in sent["tool_calls"]] == [json.dumps(each) for _, each in CALLS]
    assert chat_server.requests[1]["messages"][2] == {"role": "tool", "content": "ok", "tool_call_id": "call_0_0"}
    with pytest.raises(InvalidInput, match="did not have response messages: call_0_1"):
        wait_for(ask(answer, results[0]).read())
    with pytest.raises(InvalidInput, match="must be a response to a preceding message"):
        wait_for(ask(*results).read())


def test_malformed_calls_do_not_spoil_the_conversation(chat_server: ChatServer) -> None:
    """Services refuse a history with arguments that are not JSON, or with names that no tool can have."""
    chat_server.script = [Answer("Go on.")]
    calls = [
        ToolCall(id="1", name="functions.read file", arguments='{"path": "a'),
        ToolCall(id="2", name="read_file", arguments=""),
    ]
    results = [Message(role="tool", content="Error", tool_call_id=call.id) for call in calls]
    wait_for(ask(Message(role="assistant", content="", tool_calls=calls), *results).read())
    sent = chat_server.requests[0]["messages"][1]["tool_calls"]
    assert [each["function"] for each in sent] == [
        {"name": "functions_read_file", "arguments": "{}"},
        {"name": "read_file", "arguments": "{}"},
    ]


@pytest.mark.parametrize(
    "calls", [[("write_file", "x" * (MAX_ARGUMENTS + 1))], [("read_file", {})] * 65], ids=["arguments", "calls"]
)
def test_endless_calls_are_refused(chat_server: ChatServer, calls: list[tuple[str, Any]]) -> None:
    chat_server.script = [Answer(calls=calls)]
    with pytest.raises(ProviderError) as caught:
        wait_for(ask().read())
    assert caught.value.type == "ServerError"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tools": []}, "too short"),
        ({"tools": [{"type": "function", "function": {"name": "a b", "parameters": PATH}}]}, "pattern"),
        ({"tools": [{"type": "function", "function": {"name": "a", "parameters": {}}}]}, "type must be"),
        ({"tools": None, "tool_choice": "auto"}, "only allowed when 'tools'"),
        ({"stream": False, "stream_options": {}}, "only allowed when 'stream'"),
        ({"messages": [{"role": "assistant", "content": None}]}, "expected a string"),
    ],
)
def test_the_server_refuses_what_the_api_refuses(chat_server: ChatServer, change: dict[str, Any], message: str) -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": "A"}], **change}
    sent = {key: value for key, value in body.items() if value is not None}
    url = f"{chat_server.base_url}/chat/completions"
    answer = httpx2.post(url, json=sent, headers={"Authorization": f"Bearer {chat.KEY}"})
    assert answer.status_code == 400
    assert message in json.loads(answer.json()["error"]["metadata"]["raw"])["error"]["message"]


SCRIPT = """Please do this:
1. write notes.txt: Milk
     and bread
- run: wc -w notes.txt
Read notes.txt
list files
Read it with care, and run away.
"""


def test_the_local_script_has_one_step_a_turn() -> None:
    assert [(step.tool, step.arguments) for step in parse_steps(SCRIPT)] == [
        ("write_file", {"path": "notes.txt", "content": "Milk\nand bread\n"}),
        ("run_command", {"command": "wc -w notes.txt"}),
        ("read_file", {"path": "notes.txt"}),
        ("list_files", {}),
    ]
    conversation: list[Message] = []
    for turn, tool in enumerate(["write_file", "run_command", "read_file"]):  # list_files is not among the tools
        completion = ask(*conversation, name="local", prompt=SCRIPT)
        [(name, _)] = read(completion)
        assert (name, completion.text) == (tool, "")
        conversation += [
            Message(role="assistant", content="", tool_calls=completion.tool_calls),
            Message(role="tool", content=f"result {turn}", tool_call_id=completion.tool_calls[0].id),
        ]
    completion = ask(*conversation, name="local", prompt=SCRIPT)
    assert wait_for(completion.read()) == (
        "3 steps done.\n> write notes.txt\nresult 0\n> run: wc -w notes.txt\nresult 1\n> read notes.txt\nresult 2"
    )
    assert (completion.model, completion.usage.cost, completion.tool_calls) == ("script", 0, [])
    assert "only lines such as" in wait_for(ask(name="local", prompt="Write me a poem.").read())
