"""Language providers: local summaries, the streamed chat, and text cut at sentence borders."""

import threading
from contextlib import aclosing
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from providers.blocking import wait_for
from providers.errors import InvalidInput, ProviderError
from providers.language import registry
from providers.language.protocol import Completion, Message
from providers.language.sentences import count_tokens, split_parts, split_sentences
from tests.providers.servers import ChatServer, chat

TEXT = """Dr. Smith built a bridge over the river. It took J. Doe until 5 p.m. to see it. "Is it done?" he
asked. The bridge carries trains over the river! Some liked it. The trains cross the river bridge every hour.
Nobody knew why.

Weather was fine. 这是一句话。这是另一句话。"""


def messages(text: str = TEXT) -> list[Message]:
    return [Message(role="system", content="Summarize."), Message(role="user", content=text)]


def complete(name: str = "openrouter", text: str = TEXT, **options: Any) -> Completion:
    return registry.get(name).complete(messages(text), **options)


async def collect(completion: Completion) -> list[str]:
    return [piece async for piece in completion]


def test_sentences() -> None:
    assert split_sentences(TEXT) == [
        "Dr. Smith built a bridge over the river.",
        "It took J. Doe until 5 p.m. to see it.",
        '"Is it done?" he asked.',
        "The bridge carries trains over the river!",
        "Some liked it.",
        "The trains cross the river bridge every hour.",
        "Nobody knew why.",
        "Weather was fine.",
        "这是一句话。",
        "这是另一句话。",
    ]


@given(st.text(alphabet="aB .!?\n\"'。", max_size=300), st.integers(1, 40))
def test_parts_lose_nothing_and_keep_to_their_size(text: str, size: int) -> None:
    parts = split_parts(text, size)
    assert all(0 < len(part) <= size for part in parts)
    assert "".join("".join(parts).split()) == "".join(text.split())


def test_parts_end_with_sentences() -> None:
    for part in split_parts(TEXT, 120)[:-1]:
        assert part[-1] in '.!?"'


def test_local_summary_keeps_the_sentences_that_say_most_in_their_order() -> None:
    completion = complete("local", max_sentences=3)
    pieces = wait_for(collect(completion))
    assert completion.text == "".join(pieces)
    assert split_sentences(completion.text) == [
        "Dr. Smith built a bridge over the river.",
        "The bridge carries trains over the river!",
        "The trains cross the river bridge every hour.",
    ]
    assert completion.usage.tokens_in == count_tokens(TEXT)
    assert 0 < completion.usage.tokens_out < completion.usage.tokens_in
    assert completion.usage.cost == 0


def test_local_summary_of_little_much_and_nothing() -> None:
    assert wait_for(complete("local", text="One sentence only.").read()) == "One sentence only."
    assert wait_for(complete("local", text="").read()) == ""
    book = complete("local", text=TEXT * 500)
    assert len(split_sentences(wait_for(book.read()))) <= 8
    assert wait_for(complete("local", text=TEXT, max_tokens=12, max_sentences=5).read()).count("river") == 1


def test_chat_streams_its_pieces_and_counts(chat_server: ChatServer) -> None:
    completion = complete(max_tokens=50, max_sentences=2)
    pieces = wait_for(collect(completion))
    assert pieces == chat.answer_to([{"content": TEXT}])
    assert completion.text.startswith("In short: Dr. Smith built")
    assert (completion.usage.tokens_in, completion.usage.tokens_out, completion.usage.cost) == (
        100,
        21,
        0.00042,
    )
    [sent] = chat_server.requests
    assert (sent["model"], sent["max_tokens"], sent["stream"]) == (completion.model, 50, True)
    assert "2 sentences" in sent["messages"][0]["content"]
    assert [message["role"] for message in sent["messages"]] == ["system", "system", "user"]


def test_model_and_url_come_from_the_environment(chat_server: ChatServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENROUTER_MODEL", "some/model")
    monkeypatch.setenv("OPENROUTER_BASE_URL", chat_server.base_url + "/")
    wait_for(complete().read())
    assert chat_server.requests[0]["model"] == "some/model"


@pytest.mark.parametrize("fault", ["not-streamed", "no-usage"])
def test_services_that_do_it_their_own_way(chat_server: ChatServer, fault: str) -> None:
    chat_server.faults.add("stream", fault)
    completion = complete(text="Just these words.")
    assert wait_for(completion.read()) == "In short: Just these words."
    assert completion.usage.tokens_in > 0
    assert completion.usage.tokens_out > 0


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        ("error", "ServerError"),
        ("filtered", "InvalidInput"),
        ("malformed", "ServerError"),
        ("cut", "NetworkTimeout"),
        ("ends", "NetworkTimeout"),
        ("silent", "NetworkTimeout"),
        ("empty", "ServerError"),
    ],
)
def test_what_goes_wrong_in_the_middle_of_a_stream(
    chat_server: ChatServer, monkeypatch: pytest.MonkeyPatch, fault: str, kind: str
) -> None:
    monkeypatch.setenv("OPENROUTER_TIMEOUT", "0.4" if fault == "silent" else "5")
    chat_server.faults.add("stream", fault)
    completion = complete()
    with pytest.raises(ProviderError) as caught:
        wait_for(collect(completion))
    assert caught.value.type == kind
    assert completion.text == ("" if fault == "empty" else "In short: Dr.")


def test_moderated_input_and_a_wrong_key(chat_server: ChatServer, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidInput, match="flagged"):
        wait_for(complete(text="a naked cat").read())
    monkeypatch.setenv("OPENROUTER_API_KEY", "sk-or-v1-wrongwrongwrong")
    with pytest.raises(ProviderError) as caught:
        wait_for(complete().read())
    assert caught.value.type == "AuthenticationFailed"
    assert "wrongwrong" not in str(caught.value) + str(caught.value.details)


def test_a_reader_who_stops_ends_the_stream_at_the_service(chat_server: ChatServer) -> None:
    chat_server.seconds = 0.02
    completion = complete()

    async def read_one_piece() -> None:
        async with aclosing(completion):
            async for _ in completion:
                break

    wait_for(read_one_piece())
    ended = threading.Event()
    for _ in range(500):
        if chat_server.streams_ended_early:
            break
        ended.wait(0.01)
    assert chat_server.streams_ended_early == 1


def test_availability_and_unknown_names() -> None:
    assert registry.get("local").find_missing_variable() is None
    assert registry.get("openrouter").find_missing_variable() == "OPENROUTER_API_KEY"
    with pytest.raises(ProviderError, match="OPENROUTER_API_KEY"):
        wait_for(complete().read())
    with pytest.raises(InvalidInput, match="known are: local, openrouter"):
        registry.get("hal")
