"""What counts as a secret, in texts and in the data of log calls; and that hostile texts take linear time."""

import json
import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import structlog

from state import logs, masking
from state.masking import MASK, mask, mask_data

CANARY = "CANARY0bird9sings8at7dawn"

SHAPES = [
    "cbk_01j9x_{}",
    "cbk%5F01j9x%5F{}",
    "cbt_01j9x_1795053600_{}",
    "sk_live_{}",
    "rk_test_{}",
    "whsec_{}",
    "ya29.{}",
    "SG.{0}.{0}",
    "xapp-1-{}",
    "gsk_{}",
    "pypi-{}",
    "hvs.{}",
    "https://hooks.slack.com/services/T0/B0/{}",
    "https://discord.com/api/webhooks/123/{}",
    "https://acme.webhook.office.com/webhookb2/{}",
    "https://api.telegram.org/bot123:{}/send",
    "host=db user=me password={} port=5432",
    "host=db password='{}'",
    "Server=db;Password={};Database=x",
    "amqp://guest:{}@rabbit/",
    "https://{}@o1.ingest.sentry.io/1",
    "GITHUB_PAT={}",
    "SECRET_KEY_BASE={}",
    "SENTRY_DSN={}",
    "AccountName=a;AccountKey={}==;EndpointSuffix=x",
    "SharedAccessKeyName=root;SharedAccessKey={}",
    "/login?next=%2Fa%3Faccess_token%3D{}",
    "tool --password {} --verbose",
    "tool --db-password '{}'",
    "tool --token {}",
    "callboard --key {} list",
]

VARIABLES = [
    "PGPASSWORD",
    "MYSQL_PWD",
    "GITLAB_PAT",
    "SECRET_KEY_BASE",
    "AWS_ACCESS_KEY_ID",
    "STRIPE_SECRETKEY",
    "SENTRY_DSN",
    "SLACK_WEBHOOK_URL",
    "NPM_CONFIG__AUTH",
]

HARMLESS_VARIABLES = ["PWD", "OLDPWD", "PATH", "SSH_AUTH_SOCK", "KEYMAP", "COMPAT", "MONKEY"]

HOSTILE = [
    "eyJaaaaaaaa-",  # starts of tokens without an end
    "-----BEGIN PRIVATE KEY-----",
    "-----BEGIN AAAA ",
    "bearer ",
    "password='",
    "access_",
    "SG.",
    "://a:",
    "a-",
    "'token','",
    "--token ",
    "--a-",
    "--password '",
]


class Strange:
    def __str__(self) -> str:
        return f"api_key={CANARY}"


class Broken:
    def __str__(self) -> str:
        raise RuntimeError("no text")


@pytest.mark.parametrize("text", SHAPES)
def test_shapes_and_connection_strings(text: str) -> None:
    masked = mask(text.format(CANARY))
    assert CANARY not in masked
    assert MASK in masked


@pytest.mark.parametrize("name", VARIABLES)
def test_a_variable_that_holds_a_secret(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with environment(monkeypatch, name, "plain-looking-value"):
        assert mask("it was plain-looking-value") == f"it was {MASK}"


@pytest.mark.parametrize("name", HARMLESS_VARIABLES)
def test_a_variable_that_holds_none(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with environment(monkeypatch, name, "plain-looking-value"):
        assert mask("it was plain-looking-value") == "it was plain-looking-value"


def test_the_password_in_a_connection_string_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    with environment(monkeypatch, "SOME_DATABASE", "host=db password=hunter2hunter2 user=me"):
        assert mask("tried hunter2hunter2") == f"tried {MASK}"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (f"api_key={CANARY}".encode(), f"api_key={MASK}"),
        (bytearray(f"sk-{CANARY}", "ascii"), MASK),
        ({f"sk-{CANARY}"}, [MASK]),
        (frozenset({1}), [1]),
        (ValueError(f"api_key={CANARY}"), f"ValueError: api_key={MASK}"),
        (Strange(), f"api_key={MASK}"),
        (Broken(), "<Broken>"),
        ({f"sk-{CANARY}": 1}, {MASK: 1}),
        ({b"api_key": CANARY, "token": CANARY.encode()}, {"api_key": MASK, "token": MASK}),
        ({(f"sk-{CANARY}", 1): 2, 3: 4}, {f"['{MASK}', 1]": 2, 3: 4}),
        ([1, 2.5, None, True], [1, 2.5, None, True]),
        ([(b"x-api-key", b"tiny"), ("Host", "a")], [["x-api-key", MASK], ["Host", "a"]]),
    ],
)
def test_data_of_any_type(value: Any, expected: Any) -> None:
    assert mask_data(value) == expected


def test_a_huge_text_is_cut_without_cutting_a_secret() -> None:
    """A search of it would stop all threads of a worker for longer than its leases last."""
    text = f"{'x ' * 500_000} api_key={CANARY} {'x ' * 1_000_000} api_key={CANARY}"
    masked = mask_data({"raw": text})["raw"]
    assert len(masked) < 1_100_000
    assert f"{len(text)} characters in all" in masked
    assert masked.endswith(f"api_key={MASK}")
    assert CANARY not in masked


def test_a_log_call_with_objects(capsys: pytest.CaptureFixture[str]) -> None:
    try:
        logs.configure_logs()
        raised = ValueError(f"https://me:{CANARY}@example.com")
        logger = structlog.get_logger()
        logger.error("failed", error=raised, raw=CANARY_BYTES, seen={f"sk-{CANARY}"}, it=Strange(), odd=Broken())
        try:
            raise raised
        except ValueError:
            logger.exception("failed again", keys={f"sk_live_{CANARY}": 1})
    finally:
        structlog.reset_defaults()
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert [line["event"] for line in lines] == ["failed", "failed again"]
    assert "ValueError" in lines[1]["exception"]
    assert CANARY not in json.dumps(lines)


def test_words_around_flags_stay() -> None:
    for text in ("use --token or --key to log in", "AccountKeyName=root", "-- key of the house", "50%3A a"):
        assert mask(text) == text


def test_what_a_library_logs_when_nobody_has_set_a_handler() -> None:
    """So it is in a server: uvicorn sets handlers for its own loggers only."""
    logs.configure_logs()
    record = logging.makeLogRecord({"msg": "api_key=%s", "args": (CANARY,)})
    assert logging.lastResort is not None
    assert logging.lastResort.format(record) == f"api_key={MASK}"


CANARY_BYTES = f"Authorization: Bearer {CANARY}".encode()


@pytest.mark.parametrize("part", HOSTILE)
def test_a_hostile_text_takes_linear_time(part: str) -> None:
    """Eight times the text takes about eight times as long; it would be 64 times if the time were quadratic."""
    short, long = (min(measure(part * (size // len(part))) for _ in range(3)) for size in (10_000, 80_000))
    assert long / short < 24


def measure(text: str) -> float:
    """Returns the processor time of this process, which others on the machine do not change."""
    began = time.process_time()
    mask(text)
    return time.process_time() - began


@contextmanager
def environment(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> Iterator[None]:
    monkeypatch.setenv(name, value)
    masking.forget_secrets()
    try:
        yield
    finally:
        monkeypatch.undo()
        masking.forget_secrets()
