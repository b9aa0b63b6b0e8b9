"""`callboard webhooks`, in this process and with a real server."""

import json
from collections.abc import Callable
from typing import Any

import httpx2
import pytest

from deploy.cli import app
from deploy.cli.exits import NOT_POSSIBLE, Failure
from state import get_task, submit
from tests.webhooks.conftest import Board
from tests.webhooks.receiver import Receiver, answer
from tests.webhooks.test_deliveries import verify

Command = Callable[..., str]


@pytest.fixture
def callboard(client: httpx2.Client, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    """Runs a command and returns what it prints."""
    monkeypatch.setenv("CALLBOARD_URL", str(client.base_url))

    def run(*arguments: str) -> str:
        capsys.readouterr()
        app(list(arguments), standalone_mode=False)
        return capsys.readouterr().out

    return run


def test_the_commands(board: Board, receiver: Receiver, callboard: Command) -> None:
    def ask(*arguments: str) -> Any:
        return json.loads(callboard(*arguments, "--json"))

    hook = ("--webhook-url", receiver.url, "--webhook-event", "completed", "--webhook-event", "dead")
    task_id = callboard("submit", "quick", "{}", *hook).strip()
    receiver.will(answer(410))
    board.run(get_task(task_id))
    board.deliver()
    [listed] = ask("webhooks", "list", task_id)["items"]
    assert (listed["type"], listed["status"], listed["response_status"]) == ("task.completed", "dead", 410)
    table = callboard("webhooks", "list", task_id)
    assert "task.completed" in table
    assert "Gone: The receiver answered 410" in table
    [replayed] = ask("webhooks", "replay", task_id, "--event", str(listed["n"]))["items"]
    assert replayed["delivery_id"] == listed["delivery_id"]
    board.deliver()
    secret = callboard("webhooks", "secret", "show").strip()
    verify(receiver.received[-1], secret)
    assert ask("webhooks", "secret", "rotate", "--overlap", "60")["secret"] != secret
    table = callboard("webhooks", "secret", "list")
    assert table.count("(tasks without a tenant)") == 2
    assert "whsec_" not in table


def test_a_task_without_a_webhook(callboard: Command) -> None:
    task = submit("quick", {})
    with pytest.raises(Failure, match="submitted without a webhook_url") as refused:
        callboard("webhooks", "replay", task.task_id)
    assert refused.value.exit_code == NOT_POSSIBLE
