"""One trace from the client's own span over the request and the attempt to the provider's call."""

from collections.abc import Callable, Iterator
from pathlib import Path

import httpx2
import pytest

from providers import genai
from state import tracing
from state.settings import SettingsError, get_settings
from tests.providers.conftest import _running_chat, chat_server  # noqa: F401
from tests.providers.servers.chat import ChatServer
from tests.support.eventually import eventually
from tests.support.following import wait_for_status, wait_until_finished
from tests.support.workers import WorkerTree
from tests.tracing.collector import Collector, read_attributes
from tests.upgrade.release import ROOT, Release

CLIENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
CANARY = "CANARY0bird9sings8at7dawn"


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    with Collector() as running:
        monkeypatch.setenv("CALLBOARD_TRACING", "1")
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", running.url)
        monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "50")
        yield running


def test_submit_attempt_and_the_call_of_a_model_are_one_trace(
    worker: Callable[..., WorkerTree],
    collector: Collector,
    chat_server: ChatServer,  # noqa: F811
    database_url: str,
    tmp_path: Path,
) -> None:
    server = Release(ROOT, CALLBOARD_ACTORS="actors").start_server(tmp_path / "server.log")
    try:
        server.wait_ready()
        worker()
        body = {"content": f"One sentence. {CANARY}. Another one."}
        with httpx2.Client(base_url=server.url, trust_env=False, headers={"traceparent": CLIENT}) as client:
            answer = client.post("/api/v1/tasks/summarize", json=body)
            task_id = answer.json().get("task_id")
            assert task_id, answer.text
            assert wait_until_finished(task_id).status == "completed"
            chat_server.faults.add("chat", 500)
            failing = client.post("/api/v1/tasks/summarize", json={**body, "content": CANARY}).json()["task_id"]
            wait_for_status(failing, "scheduled")
            client.request("PROPFIND", "/")
        eventually(lambda: len(collector.find("attempt summarize")) == 2 and len(collector.find("_OTHER")) == 1)
    finally:
        server.kill()
    assert collector.services == {"callboard-server", "callboard-worker"}
    [request, _] = sorted(collector.find("POST /api/v1/tasks/summarize"), key=lambda span: span.start_time_unix_nano)
    assert (request.trace_id.hex(), request.parent_span_id.hex()) == tuple(CLIENT.split("-")[1:3])
    attempts = {read_attributes(span)["callboard.task_id"]: span for span in collector.find("attempt summarize")}
    [call, failed_call] = sorted(
        (span for span in collector.spans if span.name.startswith("chat ")), key=lambda span: span.start_time_unix_nano
    )
    assert attempts[task_id].parent_span_id == request.span_id
    assert call.parent_span_id == attempts[task_id].span_id
    assert {span.trace_id for span in collector.spans} == {request.trace_id} | {
        span.trace_id for span in collector.spans if not span.parent_span_id
    }
    known = read_attributes(call)
    assert (known["gen_ai.operation.name"], known["gen_ai.provider.name"]) == ("chat", "openrouter")
    assert str(known["gen_ai.request.model"]) in call.name
    assert int(known["gen_ai.usage.input_tokens"]) > 0
    assert int(known["gen_ai.usage.output_tokens"]) > 0
    assert read_attributes(failed_call)["error.type"] == "ServerError"
    assert read_attributes(attempts[failing])["error.type"] == "ServerError"
    assert len(collector.find("_OTHER")) == 1  # a client may send other methods than those of HTTP
    assert b"PROPFIND" not in collector.raw
    assert CANARY.encode() not in collector.raw


def test_without_the_setting_nothing_is_traced(database_url: str) -> None:
    assert tracing.get_traceparent() is None
    with tracing.open_span("x", "client", {}) as span:
        assert span is None
    with genai.trace_call("chat", "p", "m") as call:
        call.tokens_in = 1
    tracing.flush_traces()


def test_tracing_without_opentelemetry_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CALLBOARD_TRACING", "1")
    monkeypatch.setattr("state.settings.find_spec", lambda name: None)
    get_settings.cache_clear()
    try:
        with pytest.raises(SettingsError, match=r"install callboard\[otel\]"):
            get_settings()
    finally:
        get_settings.cache_clear()
