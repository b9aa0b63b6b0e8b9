"""Which server a command talks to, and what it says when that does not work."""

import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import answer, callboard, refusal, succeed
from tests.client.scripted import Scripted, ScriptedServer

UNKNOWN = "tq_" + "0" * 32
EMPTY = Scripted(200, {"items": [], "next_cursor": None})


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(EMPTY) as running:
        yield running


@pytest.fixture
def home(tmp_path: Path) -> dict[str, Any]:
    return {"XDG_CONFIG_HOME": tmp_path, "CALLBOARD_DATABASE_URL": "postgresql://127.0.0.1:1/nobody"}


def keys_of(server: ScriptedServer) -> list[str | None]:
    return [headers.get("authorization") for _, _, headers, _ in server.requests]


def test_options_and_environment(server: ScriptedServer, home: dict[str, Any]) -> None:
    assert succeed("--url", server.url, "--key", "cbk_a", "list", **home) == "No tasks.\n"
    assert succeed("--url", server.url, "list", CALLBOARD_KEY="cbk_b", **home) == "No tasks.\n"
    assert succeed("list", CALLBOARD_URL=server.url, CALLBOARD_KEY="cbk_c", **home) == "No tasks.\n"
    assert keys_of(server) == ["Bearer cbk_a", "Bearer cbk_b", "Bearer cbk_c"]


def test_profiles(server: ScriptedServer, home: dict[str, Any], tmp_path: Path) -> None:
    assert succeed("profile", "list", **home) == "No profiles.\n"
    assert "There are none" in refusal(3, "--profile", "work", "list", **home)
    assert answer("profile", "add", "work", server.url, "--with-key", stdin="cbk_secret\n", **home)["has_key"] is True
    succeed("profile", "add", "other", "http://127.0.0.1:1", **home)
    file = tmp_path / "callboard" / "profiles.toml"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    listed = succeed("profile", "list", **home)
    assert server.url in listed
    assert "cbk_secret" not in listed
    assert succeed("--profile", "work", "list", **home) == "No tasks.\n"
    file.chmod(0o644)
    done = callboard("list", CALLBOARD_PROFILE="work", **home)
    assert (done.returncode, done.stdout) == (0, "No tasks.\n")
    assert "chmod 600" in done.stderr
    assert keys_of(server) == ["Bearer cbk_secret"] * 2
    assert "not both" in refusal(2, "--profile", "work", "--url", server.url, "list", **home)
    succeed("profile", "remove", "other", **home)
    assert [each["name"] for each in answer("profile", "list", **home)["items"]] == ["work"]
    assert "other" in refusal(3, "profile", "remove", "other", **home)
    assert "is not the address" in refusal(2, "profile", "add", "bad", "ftp://x", **home)
    assert "letters" in refusal(2, "profile", "add", "a]b", server.url, **home)
    file.write_text("work = 1")
    assert "no url" in refusal(2, "--profile", "work", "list", **home)


def test_refusals_of_a_server(home: dict[str, Any]) -> None:
    script = [
        Scripted(401, {"error": "unauthorized", "detail": "A key is needed."}),
        Scripted(403, {"error": "forbidden", "detail": "Your key belongs to tenant a."}),
        Scripted(503, {"error": "not-ready", "detail": "The database does not answer."}, {"Retry-After": "600"}),
        Scripted(500, {"error": "internal-error", "detail": "A bug."}, {"X-Request-Id": "r-7"}),
        Scripted(502, raw=b"<html>"),
    ]
    with ScriptedServer(*script) as server:
        where = {"CALLBOARD_URL": server.url, **home}
        assert "CALLBOARD_KEY" in refusal(7, "list", **where)
        assert "tenant a" in refusal(7, "list", **where)
        assert "database" in refusal(5, "list", **where)
        assert "r-7" in refusal(1, "list", **where)
        assert "502" in refusal(1, "cancel", UNKNOWN, **where)
    assert server.url in refusal(8, "cancel", UNKNOWN, **where)


def test_servers_that_cannot_be_used(home: dict[str, Any]) -> None:
    assert "is not the address" in refusal(2, "--url", "nonsense", "list", **home)
    assert "--url" in refusal(2, "--key", "cbk_a", "list", **home)


def test_completion_is_offered() -> None:
    assert "--install-completion" in succeed("--help")
    shown = callboard(_CALLBOARD_COMPLETE="complete_bash", COMP_WORDS="callboard can", COMP_CWORD=1)
    assert "cancel" in shown.stdout
