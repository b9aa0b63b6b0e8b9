"""The test servers, with the environment that leads the providers to them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest
from PIL import Image

from providers.media.painting import encode_png
from providers.sandbox.limits import Limits
from providers.sandbox.sandbox import Result, Sandbox
from tests.providers.sandboxes import Run, Start
from tests.providers.servers import ChatServer, LeonardoServer, MidjourneyServer, chat, leonardo, midjourney
from tests.support.eventually import eventually

VARIABLES = ("LEONARDO", "MIDJOURNEY", "OPENROUTER")

_Server = TypeVar("_Server", LeonardoServer, MidjourneyServer, ChatServer)


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """A developer's own keys must not get into a test."""
    for name in VARIABLES:
        for what in ("API_KEY", "BASE_URL", "MODEL", "EMBEDDING_MODEL"):
            monkeypatch.delenv(f"{name}_{what}", raising=False)
        monkeypatch.setenv(f"{name}_TIMEOUT", "5")


def _lead_to(server: _Server, prefix: str, key: str, monkeypatch: pytest.MonkeyPatch) -> _Server:
    server.reset()
    monkeypatch.setenv(f"{prefix}_BASE_URL", server.base_url)
    monkeypatch.setenv(f"{prefix}_API_KEY", key)
    return server


@pytest.fixture(scope="session")
def _running_leonardo() -> Iterator[LeonardoServer]:
    with LeonardoServer() as server:
        yield server


@pytest.fixture
def leonardo_server(_running_leonardo: LeonardoServer, monkeypatch: pytest.MonkeyPatch) -> LeonardoServer:
    return _lead_to(_running_leonardo, "LEONARDO", leonardo.KEY, monkeypatch)


@pytest.fixture(scope="session")
def _running_midjourney() -> Iterator[MidjourneyServer]:
    with MidjourneyServer(can_cancel=True) as server:
        yield server


@pytest.fixture
def midjourney_server(_running_midjourney: MidjourneyServer, monkeypatch: pytest.MonkeyPatch) -> MidjourneyServer:
    return _lead_to(_running_midjourney, "MIDJOURNEY", midjourney.SECRET, monkeypatch)


@pytest.fixture(scope="session")
def _running_chat() -> Iterator[ChatServer]:
    with ChatServer() as server:
        yield server


@pytest.fixture
def chat_server(_running_chat: ChatServer, monkeypatch: pytest.MonkeyPatch) -> ChatServer:
    return _lead_to(_running_chat, "OPENROUTER", chat.KEY, monkeypatch)


@pytest.fixture(scope="session")
def image() -> bytes:
    return encode_png(Image.linear_gradient("L").resize((64, 48)).convert("RGB"))


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    started: list[Sandbox] = []

    def start(*command: str, **limits: Any) -> Sandbox:
        started.append(Sandbox(command, Limits(**limits), tmp_path / "workspaces"))
        started[-1].begin()
        return started[-1]

    yield start
    for sandbox in started:
        sandbox.kill()


@pytest.fixture
def run(start: Start) -> Run:
    def run(*command: str, **limits: Any) -> Result:
        sandbox = start(*command, **limits)
        eventually(lambda: (sandbox.read(0.05), sandbox.ended)[1], timeout=20)
        return sandbox.result()

    return run
