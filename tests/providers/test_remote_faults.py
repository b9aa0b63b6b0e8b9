"""Every fault of every remote service is raised as the right type of error."""

import socket
import threading
import time
from collections.abc import Callable

import pytest

from providers.blocking import wait_for
from providers.embedding import registry as embeddings
from providers.errors import ProviderError
from providers.language import registry as languages
from providers.language.protocol import Message
from tests.providers.media import poll, submit
from tests.providers.servers.raw import RawServer, respond

Call = Callable[[], object]

FAULTS = [
    (400, "InvalidInput"),
    (401, "AuthenticationFailed"),
    (402, "PermissionDenied"),
    (403, "PermissionDenied"),
    (404, "NotFound"),
    (405, "InvalidInput"),
    (409, "Conflict"),
    (413, "InvalidInput"),
    (422, "InvalidInput"),
    (429, "RateLimited"),
    (500, "ServerError"),
    (502, "ServerError"),
    (503, "ServiceUnavailable"),
    (504, "ServerError"),
    ("hang", "NetworkTimeout"),
    ("cut", "NetworkTimeout"),
    ("malformed", "ServerError"),
]


def complete() -> str:
    return wait_for(languages.get("openrouter").complete([Message(role="user", content="Tell me.")]).read())


def submitted_then_polled(name: str) -> Call:
    ref = submit(name)
    return lambda: poll(name, ref)


CALLS: dict[str, tuple[str, str, Callable[[], Call]]] = {
    "leonardo submit": ("leonardo_server", "submit", lambda: lambda: submit("leonardo")),
    "leonardo poll": ("leonardo_server", "poll", lambda: submitted_then_polled("leonardo")),
    "midjourney submit": ("midjourney_server", "submit", lambda: lambda: submit("midjourney")),
    "midjourney poll": ("midjourney_server", "poll", lambda: submitted_then_polled("midjourney")),
    "chat": ("chat_server", "chat", lambda: complete),
    "embeddings": ("chat_server", "embeddings", lambda: lambda: wait_for(embeddings.get("openrouter").embed(["a"]))),
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(("fault", "kind"), FAULTS)
def test_a_fault_becomes_its_type(
    call: str, fault: int | str, kind: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    fixture, stage, prepare = CALLS[call]
    server = request.getfixturevalue(fixture)
    if fault == "hang":
        for name in ("LEONARDO", "MIDJOURNEY", "OPENROUTER"):
            monkeypatch.setenv(f"{name}_TIMEOUT", "0.3")
    act = prepare()
    server.faults.add(stage, fault)
    with pytest.raises(ProviderError) as caught:
        act()
    assert caught.value.type == kind
    assert caught.value.retry_after == (7 if fault in (429, 503) else None)
    act()  # the next request succeeds


def test_nobody_listens(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        monkeypatch.setenv("MIDJOURNEY_BASE_URL", f"http://127.0.0.1:{closed.getsockname()[1]}/mj")
        with pytest.raises(ProviderError) as caught:
            submit("midjourney")
    assert (caught.value.type, caught.value.details["sent"]) == ("NetworkTimeout", False)


def test_an_answer_that_trickles_ends_at_the_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MIDJOURNEY_TIMEOUT", "0.4")
    released = threading.Event()

    def trickle(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        while not released.wait(0.05):
            connection.sendall(b" ")

    with RawServer(trickle) as server:
        monkeypatch.setenv("MIDJOURNEY_BASE_URL", server.origin)
        began = time.monotonic()
        with pytest.raises(ProviderError, match="did not finish") as caught:
            poll("midjourney", {"id": "1"})
        released.set()
    assert caught.value.type == "NetworkTimeout"
    assert time.monotonic() - began < 5


def test_an_endless_answer_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("providers.api.MAX_ANSWER", 100_000)
    with RawServer(respond(b"[" * 300_000)) as server:
        monkeypatch.setenv("MIDJOURNEY_BASE_URL", server.origin)
        with pytest.raises(ProviderError, match="more than 100000 bytes"):
            poll("midjourney", {"id": "1"})


@pytest.mark.parametrize("body", ["[]", '"text"', "17", "null", '{"sdGenerationJob": 5}', '{"sdGenerationJob": {}}'])
def test_answers_of_an_odd_shape(body: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEONARDO_API_KEY", "k")
    with RawServer(respond(body.encode())) as server:
        monkeypatch.setenv("LEONARDO_BASE_URL", server.origin)
        monkeypatch.setenv("MIDJOURNEY_BASE_URL", server.origin)
        for name in ("leonardo", "midjourney"):
            with pytest.raises(ProviderError) as caught:
                submit(name)
            assert caught.value.type == "ServerError"
