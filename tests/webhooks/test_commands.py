"""`callboard webhooks`."""

from state import get_task
from tests.cli.command import answer, refusal, submit, succeed
from tests.support import testactors  # noqa: F401  (declares note)
from tests.webhooks.conftest import Board
from tests.webhooks.receiver import Receiver
from tests.webhooks.receiver import answer as respond
from tests.webhooks.test_deliveries import verify


def test_the_commands(board: Board, receiver: Receiver) -> None:
    options = ("--webhook-url", receiver.url, "--webhook-event", "completed", "--webhook-event", "dead")
    task_id = submit("note", "{}", *options)
    receiver.will(respond(410))
    board.run(get_task(task_id), queue="test")
    board.deliver()
    [listed] = answer("webhooks", "list", task_id)["items"]
    assert (listed["type"], listed["status"], listed["response_status"]) == ("task.completed", "dead", 410)
    table = succeed("webhooks", "list", task_id)
    assert "task.completed" in table
    assert "Gone: The receiver answered 410" in table
    [replayed] = answer("webhooks", "replay", task_id, "--event", str(listed["n"]))["items"]
    assert replayed["delivery_id"] == listed["delivery_id"]
    board.deliver()
    secret = succeed("webhooks", "secret", "show").strip()
    verify(receiver.received[-1], secret)
    new = answer("webhooks", "secret", "rotate", "--overlap", "60")["secret"]
    assert new != secret
    table = succeed("webhooks", "secret", "list")
    assert table.count("(tasks without a tenant)") == 2
    assert "whsec_" not in table
    assert "submitted without a webhook_url" in refusal(4, "webhooks", "replay", submit("note", "{}"))
