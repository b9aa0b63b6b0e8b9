"""Secrets do not get into errors, events or logs."""

import io
import json
import logging
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
import structlog

import actors  # noqa: F401  (sets the broker)
from broker.execution.failures import describe
from state import logs, masking, retry, submit
from state.masking import MASK, mask, mask_data, mask_ends, mask_start
from state.settings import get_settings
from tests.control.servers import answering
from tests.support import controlactors  # noqa: F401  (declares the actors)
from tests.support.following import wait_for_status, wait_until_finished
from tests.support.observer import Observer
from tests.support.ports import find_free_port
from tests.support.workers import WorkerTree

Start = Callable[..., WorkerTree]
CANARY = "CANARY0bird9sings8at7dawn"


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("SOME_API_KEY", "a-plain-looking-value")
    monkeypatch.setenv("CALLBOARD_DATABASE_URL", "postgresql://callboard:hunter2hunter2@db/callboard")
    monkeypatch.setenv("CALLBOARD_TOKEN_LIMIT", "10000000")
    monkeypatch.setenv("CALLBOARD_SECRET_NAMES", "license, x-funny")
    get_settings.cache_clear()
    masking.forget_secrets()
    yield
    monkeypatch.undo()
    get_settings.cache_clear()
    masking.forget_secrets()


TELLING = [
    "Authorization: Bearer {}",
    "Authorization: Funny {} tail",
    "Authorization: Basic {}==",
    "{{'Authorization': 'Bearer {}'}}",
    '{{"authorization":"{}"}}',
    '\\"api_key\\": \\"{}\\", \\"x\\": 1',
    "[(b'X-Api-Key', b'{}'), (b'host', b'x')]",
    "curl -H 'Authorization: X {}' http://x",
    "https://user:{}@host/x?y=1",
    "https://host/x?api_key={}&b=1",
    "https://host/?token={}&b=1",
    "https://{}@github.com/x",
    "postgres://a:b@{}@host/db",
    "input_value={{'password': '{}",
    "license={}",
    "X-Funny: {}",
    "bearer {}",
    "sk-{}",
    "PGPASSWORD={}",
    "openaiApiKey: {}",
    "Cookie: a=b; session={}",
    "aws_secret_access_key = {}",
    "client_secret={};x",
    "mj-api-secret: {}",
    "eyJhbGciOiJI.{0}.{0}",
    "-----BEGIN RSA PRIVATE KEY-----\n{}\n-----END RSA PRIVATE KEY-----",
    "https://s3/x?X-Amz-Credential={0}%2F&X-Amz-Signature={0}{0}",
]
HARMLESS = [
    "tokens: 5",
    "The token limit of 10000000 was reached: key figures",
    "a password reset mail was sent",
    "{'percent': 3, 'message': 'Sentence 3'}",
    "key: value",
    "There is no actor: 'x'",
    "postgresql://callboard@db/callboard",
    "Error: secretary, basic things",
    "a basic understanding of things",
]


@pytest.mark.usefixtures("names")
class TestMask:
    @pytest.mark.parametrize("text", TELLING)
    def test_what_says_that_a_secret_follows(self, text: str) -> None:
        assert CANARY not in mask(text.format(CANARY))
        assert MASK in mask(text.format(CANARY))

    @pytest.mark.parametrize("text", HARMLESS)
    def test_what_does_not(self, text: str) -> None:
        assert mask(text) == text

    def test_values_of_the_environment(self) -> None:
        assert mask("a-plain-looking-value, hunter2hunter2") == f"{MASK}, {MASK}"

    def test_a_secret_at_the_cut(self) -> None:
        for start in range(60, 130):
            text = "x" * start + f" api_key={CANARY} " + "y" * 20_000
            assert "CANARY" not in mask_start(text, 100)

    def test_a_secret_at_the_cuts_in_the_middle(self) -> None:
        for size in (300, 70_000):
            for start in range(40, 80):
                text = "x" * start + f" api_key={CANARY} " + "y" * size + f" api_key={CANARY} " + "z" * start
                cut = mask_ends(text, 100)
                assert "CANARY" not in cut
                assert "dawn" not in cut
                assert cut.startswith("x" * 40)
                assert cut.endswith("z" * 40)
                assert f"{len(text)} characters in all" in cut

    def test_a_text_that_fits_is_not_cut(self) -> None:
        assert mask_ends("x" * 100, 100) == "x" * 100
        assert mask_ends(f"api_key={'s' * 200}", 100) == f"api_key={MASK}"

    def test_given_secrets(self) -> None:
        assert mask("one two+three two%2Bthree", ["two+three", ""]) == f"one {MASK} {MASK}"
        assert mask_start("one two three", 6, ["two"]) == f"one {MASK}"[:6]

    def test_data_under_telling_names(self) -> None:
        data = {
            "api_key": "x",
            "token": "hello",
            "tokens": 5,
            "nested": [{"password": 1, "token": CANARY}],
            "none": None,
        }
        assert mask_data(data) == {
            "api_key": MASK, "token": "hello", "tokens": 5, "nested": [{"password": MASK, "token": MASK}], "none": None,
        }  # fmt: skip

    def test_log_lines_of_ours_and_of_others(self, capsys: pytest.CaptureFixture[str]) -> None:
        handler = logging.StreamHandler(io.StringIO())
        root = logging.getLogger()
        root.addHandler(handler)
        try:
            logs.configure_logs()
            structlog.get_logger().error("refused", headers={"Authorization": CANARY}, text=f"api_key={CANARY}")
            logging.getLogger("else").warning("GET https://me:%s@example.com", CANARY)
            written = handler.stream.getvalue()
        finally:
            root.removeHandler(handler)
            structlog.reset_defaults()
        said = capsys.readouterr().err
        assert json.loads(said.splitlines()[0])["headers"] == {"Authorization": MASK}
        assert "GET" in written
        assert CANARY not in said + written

    def test_an_exception_with_its_causes(self) -> None:
        try:
            try:
                raise ConnectionError(f"https://me:{CANARY}@example.com")
            except ConnectionError as cause:
                raise RuntimeError(f"api_key={CANARY}") from cause
        except RuntimeError as error:
            described = json.dumps(describe(error))
        assert "ConnectionError" in described
        assert CANARY not in described


# Two functions that call each other, because Python leaves out the repeated lines of a single one.
RECURSION = """
def call(depth, error):
    if depth == 0:
        raise error
    call_again(depth, error)
def call_again(depth, error):
    call(depth - 1, error)
"""


def fail_deeply(file: str, error: Exception) -> dict[str, Any]:
    """Returns the error of a recursion. The name of its file is in each line of the traceback."""
    space: dict[str, Any] = {}
    exec(compile(RECURSION, file, "exec"), space)
    with pytest.raises(type(error)) as raised:
        space["call"](400, error)
    return describe(raised.value)


def test_a_long_traceback_keeps_its_head_and_the_line_that_raised() -> None:
    for message in ("too deep", "x" * 5_000_000 + " the end"):
        trace = fail_deeply("folder/" * 10 + "recursion.py", ValueError(message))["traceback"]
        assert len(trace) < 20_200
        assert trace.startswith("Traceback (most recent call last):\n")
        assert 'test_secrets.py", line' in trace
        assert "characters in all" in trace
        assert 'recursion.py", line 4, in call\n' in trace  # that raises
        assert trace.endswith(f"{message[-8:]}\n")


def test_no_half_of_a_secret_is_left_where_a_traceback_is_cut() -> None:
    for shift in range(20):  # each moves the cuts to another part of a line
        file = f"{'x' * (40 + shift)}/api_key={CANARY}&"
        trace = fail_deeply(file, ValueError(f"too deep, api_key={CANARY}"))["traceback"]
        assert "characters in all" in trace
        for part in (CANARY[:4], CANARY[-4:]):
            assert part not in trace
        assert trace.endswith(f"ValueError: too deep, api_key={MASK}\n")


@pytest.mark.parametrize("way", ["exception", "provider", "result"])
def test_a_canary_is_found_nowhere(
    worker: Start, connection: Observer, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    monkeypatch.setenv("TEST_API_KEY", CANARY)
    monkeypatch.setenv("CALLBOARD_SECRET_NAMES", "x-license")
    with answering() as origin:
        tree = worker(metrics_port=find_free_port())
        task_id = submit("leaks", {"text": way, "value": f"{origin}/401"}).task_id
        assert wait_until_finished(task_id).status == "dead"
    [port] = re.findall(r'"port": (\d+), "event": "metrics"', tree.log.read_text())
    metrics = httpx2.get(f"http://127.0.0.1:{port}/metrics", trust_env=False).text
    assert 'actor="leaks"' in metrics
    tree.terminate()
    tree.wait()
    rows = connection.execute(
        "SELECT schemaname, tablename FROM pg_tables WHERE schemaname IN ('callboard', 'dramatiq')"
    ).fetchall()
    kept = Path(tree.log).read_text() + metrics
    assert "a line" in kept
    for row in rows:
        table = f"{row['schemaname']}.{row['tablename']}"
        [found] = connection.execute(f"SELECT string_agg(t::text, ' ') AS text FROM {table} t").fetchall()
        kept += found["text"] or ""
    assert task_id in kept
    for secret in (CANARY, CANARY[::-1]):
        assert secret not in kept, kept[max(kept.find(secret) - 300, 0) :][:400]


def test_data_of_users_is_not_touched(worker: Start) -> None:
    worker()
    value = {"api_key": CANARY, "text": f"password={CANARY}"}
    task_id = submit("remember", {"value": value}).task_id
    wait_for_status(task_id, "scheduled")
    retry(task_id)
    assert wait_until_finished(task_id).result == value
