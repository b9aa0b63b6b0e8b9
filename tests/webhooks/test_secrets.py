"""Secrets: rotated without loss, one tenant's never another's, and found nowhere."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from standardwebhooks import Webhook, WebhookVerificationError

from state import get_attempts, get_events, get_task
from state.access.caller import Caller
from state.errors import Forbidden, InvalidPayload
from state.webhooks.secrets import MAX_SIGNING, get_signing_secrets, list_secrets, rotate_secret, show_secret
from tests.support.observer import Observer
from tests.webhooks.conftest import Board
from tests.webhooks.receiver import Received, Receiver, answer
from tests.webhooks.test_deliveries import verify


def is_signed_with(received: Received, secret: str) -> bool:
    try:
        Webhook(secret).verify(received.body, received.headers)
    except WebhookVerificationError:
        return False
    return True


def test_a_rotation_in_the_middle_of_retries_loses_nothing(board: Board, receiver: Receiver) -> None:
    receiver.will(answer(500), answer(500))
    old = show_secret("acme").secret
    board.complete(receiver.url, tenant="acme")
    board.deliver()
    new = rotate_secret("acme", overlap_seconds=3600).secret
    assert old != new
    board.retry_later()  # both sign: a receiver that has changed its secret accepts it, and one that has not
    board.clock.advance(3600)
    board.sweep()
    assert board.deliver_one().status == "completed"
    before, during, later = receiver.received
    signed = [[is_signed_with(each, secret) for secret in (old, new)] for each in (before, during, later)]
    assert signed == [[True, False], [True, True], [False, True]]
    assert len(during.headers["webhook-signature"].split(" ")) == 2
    verify(during, old)
    verify(during, new)


def test_a_secret_that_has_become_known_can_end_at_once(board: Board, receiver: Receiver) -> None:
    first = show_secret().secret
    second = rotate_secret().secret
    third = rotate_secret(overlap_seconds=0).secret
    assert [each.secret for each in list_secrets()] == [third]
    board.complete(receiver.url)
    board.deliver()
    assert [is_signed_with(receiver.received[0], each) for each in (first, second, third)] == [False, False, True]


def test_secrets_that_sign_are_few_as_receivers_refuse_long_headers(board: Board) -> None:
    show_secret("acme")
    for _ in range(MAX_SIGNING - 1):
        rotate_secret("acme", overlap_seconds=100)
    with pytest.raises(InvalidPayload, match="10 secrets sign already"):
        rotate_secret("acme", overlap_seconds=100)
    rotate_secret(overlap_seconds=100)  # of tasks without a tenant
    board.clock.advance(101)
    rotate_secret("acme", overlap_seconds=100)
    assert len(list_secrets("acme")) == 2
    for _ in range(MAX_SIGNING - 2):
        rotate_secret("acme", overlap_seconds=100)
    rotate_secret("acme", overlap_seconds=0)
    assert len(list_secrets("acme")) == 1


def test_several_rotations_within_the_overlap_keep_all_secrets_until_their_time(board: Board) -> None:
    secrets = [show_secret().secret, rotate_secret(overlap_seconds=100).secret]
    board.clock.advance(60)
    secrets.append(rotate_secret(overlap_seconds=100).secret)
    assert [each.secret for each in get_signing_secrets(None)] == secrets[::-1]
    board.clock.advance(50)
    assert [each.secret for each in get_signing_secrets(None)] == secrets[:0:-1]
    board.clock.advance(60)
    [only] = list_secrets()
    assert (only.secret, only.expires_at) == (secrets[2], None)


def test_two_at_once_make_one_first_secret_and_rotate_one_after_the_other(connection: Observer) -> None:
    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(lambda _: show_secret("new").secret, range(8)))) == 1
        list(pool.map(lambda _: rotate_secret("new"), range(8)))
    rows = connection.execute("SELECT expires_at FROM callboard.webhook_secrets WHERE tenant = 'new'").fetchall()
    assert len(rows) == 9
    assert sum(row["expires_at"] is None for row in rows) == 1


def test_a_rotation_that_is_repeated_changes_nothing(connection: Observer) -> None:
    call = "SELECT callboard.rotate_webhook_secret('', 'whsec_aaaa', 60)"
    for _ in range(2):
        connection.execute(call)
    assert [each.secret for each in list_secrets()] == ["whsec_aaaa"]


@pytest.mark.parametrize("seconds", [-1, 31 * 86400, float("nan")])
def test_an_overlap_must_be_possible(seconds: float) -> None:
    with pytest.raises(InvalidPayload):
        rotate_secret(overlap_seconds=seconds)


def test_a_tenant_has_secrets_of_its_own() -> None:
    acme, other = Caller("operator", "acme"), Caller("operator", "other")
    mine = show_secret(caller=acme)
    assert mine.tenant == "acme"
    assert mine.secret not in (show_secret(caller=other).secret, show_secret().secret)
    for verb in (show_secret, rotate_secret):
        with pytest.raises(Forbidden, match="belongs to tenant other"):
            verb("acme", caller=other)
    assert [each.tenant for each in list_secrets(caller=other)] == ["other"]
    assert list_secrets("acme", caller=other) == []
    rotated = rotate_secret(caller=acme)
    assert rotated.tenant == "acme"
    previous = list_secrets("acme")[1]
    assert previous.secret == mine.secret
    assert previous.expires_at is not None
    assert timedelta(hours=23) < previous.expires_at - rotated.created_at <= timedelta(hours=24)


def test_a_secret_is_found_nowhere(
    board: Board, receiver: Receiver, connection: Observer, capfd: pytest.CaptureFixture[str]
) -> None:
    receiver.will(answer(500), answer(302, Location="http://127.0.0.1/"), answer(410))
    secret = show_secret("acme").secret
    task = board.complete(receiver.url, tenant="acme")
    delivery = board.deliver_one()
    board.retry_later()
    board.retry_later()
    shown = [get_task(each).model_dump_json() for each in (task.task_id, delivery.task_id)]
    history = [get_events(delivery.task_id), get_attempts(delivery.task_id), show_secret("acme")]
    written = capfd.readouterr()
    tables = connection.execute(
        "SELECT format('%I.%I', table_schema, table_name) AS name FROM information_schema.tables "
        "WHERE table_schema IN ('callboard', 'admin', 'dramatiq') AND table_name <> 'webhook_secrets'"
    ).fetchall()
    stored = [str(connection.execute(f"SELECT t::text FROM {each['name']} t").fetchall()) for each in tables]
    signatures = [each.headers["webhook-signature"].removeprefix("v1,") for each in receiver.received]
    for text in (*shown, repr(history), written.out, written.err, *stored):
        for hidden in (secret, secret.removeprefix("whsec_"), *signatures):
            assert hidden not in text


def test_the_url_of_a_receiver_is_not_in_the_log_or_the_delivery(
    board: Board, receivers: Callable[..., Receiver], capfd: pytest.CaptureFixture[str]
) -> None:
    """Chat services have a secret in it."""
    receiver = receivers()
    receiver.will(answer(500))
    board.complete(receiver.url.replace("/hooks", "/services/T0/B0/xyzzy"))
    delivery = board.deliver_one()
    written = capfd.readouterr()
    for text in (delivery.model_dump_json(), written.out, written.err):
        assert "xyzzy" not in text
