"""Secrets stay where they are."""

import io
import json
import logging
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
import structlog

from broker.execution.failures import describe
from state import logs, masking, retry, submit
from state.masking import MASK, mask, mask_data, mask_start
from state.settings import get_settings
from tests.control.following import ended, reached
from tests.control.servers import answering
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


@pytest.mark.parametrize("way", ["exception", "provider", "result"])
def test_a_canary_is_found_nowhere(
    worker: Start, connection: psycopg.Connection, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    monkeypatch.setenv("TEST_API_KEY", CANARY)
    monkeypatch.setenv("CALLBOARD_SECRET_NAMES", "x-license")
    with answering() as origin:
        tree = worker()
        task_id = submit("leaks", {"text": way, "value": f"{origin}/401"}).task_id
        assert ended(task_id).status == "dead"
    tree.terminate()
    tree.wait()
    rows = connection.execute(
        "SELECT schemaname, tablename FROM pg_tables WHERE schemaname IN ('callboard', 'dramatiq')"
    ).fetchall()
    kept = Path(tree.log).read_text()
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
    reached(task_id, "scheduled")
    retry(task_id)
    assert ended(task_id).result == value
