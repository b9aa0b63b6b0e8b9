"""The test servers, with the environment that leads the providers to them."""

import pytest
from PIL import Image

from providers.media.painting import encode_png
from tests.providers.servers import ChatServer, LeonardoServer, MidjourneyServer, chat, leonardo, midjourney

VARIABLES = ("LEONARDO", "MIDJOURNEY", "OPENROUTER")


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch):
    """A developer's own keys must not get into a test."""
    for name in VARIABLES:
        for what in ("API_KEY", "BASE_URL", "MODEL", "EMBEDDING_MODEL"):
            monkeypatch.delenv(f"{name}_{what}", raising=False)
        monkeypatch.setenv(f"{name}_TIMEOUT", "5")


def _lead_to(server, prefix, key, monkeypatch):
    server.reset()
    monkeypatch.setenv(f"{prefix}_BASE_URL", server.base_url)
    monkeypatch.setenv(f"{prefix}_API_KEY", key)
    return server


@pytest.fixture(scope="session")
def _running_leonardo():
    with LeonardoServer() as server:
        yield server


@pytest.fixture
def leonardo_server(_running_leonardo, monkeypatch):
    return _lead_to(_running_leonardo, "LEONARDO", leonardo.KEY, monkeypatch)


@pytest.fixture(scope="session")
def _running_midjourney():
    with MidjourneyServer(can_cancel=True) as server:
        yield server


@pytest.fixture
def midjourney_server(_running_midjourney, monkeypatch):
    return _lead_to(_running_midjourney, "MIDJOURNEY", midjourney.SECRET, monkeypatch)


@pytest.fixture(scope="session")
def _running_chat():
    with ChatServer() as server:
        yield server


@pytest.fixture
def chat_server(_running_chat, monkeypatch):
    return _lead_to(_running_chat, "OPENROUTER", chat.KEY, monkeypatch)


@pytest.fixture(scope="session")
def image() -> bytes:
    return encode_png(Image.linear_gradient("L").resize((64, 48)).convert("RGB"))
