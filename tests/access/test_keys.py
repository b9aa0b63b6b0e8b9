"""The verbs of API keys."""

import threading

import pytest

from state.access.caller import Caller
from state.access.keys import (
    create_key,
    hash_key,
    list_keys,
    parse_key_id,
    read_keys,
    record_key_uses,
    revoke_key,
)
from state.errors import Forbidden, InvalidPayload, KeyNotFound, LastOperatorKey
from state.masking import mask
from tests.support.clock import Clock
from tests.support.eventually import eventually
from tests.support.observer import Observer

pytestmark = pytest.mark.usefixtures("database_url")


def test_a_key_is_stored_as_its_hash_only(connection: Observer) -> None:
    created, key = create_key("ci", "submitter", tenant="a", rate_limit=60, caller=Caller("operator", name="boss"))
    assert parse_key_id(key) == created.id
    assert (created.name, created.role, created.tenant, created.rate_limit) == ("ci", "submitter", "a", 60)
    assert (created.created_by, created.last_used_at, created.revoked_at) == ("boss", None, None)
    row = connection.fetch_one("SELECT row_to_json(k)::text AS text, secret_hash FROM callboard.api_keys k")
    secret = key.rpartition("_")[2]
    assert len(secret) == 43
    assert secret not in row["text"]
    assert bytes(row["secret_hash"]) == hash_key(key)
    assert "secret_hash" not in connection.fetch_one("SELECT * FROM admin.api_keys")
    valid = read_keys()
    assert valid.configured
    assert valid.by_id[created.id].caller == Caller("submitter", tenant="a", key_id=created.id, name="ci")


def test_keys_differ_and_are_listed_newest_first() -> None:
    keys = [create_key(f"k{n}", "reader") for n in range(5)]
    assert len({text for _, text in keys}) == 5
    listed = list_keys()
    assert [key.name for key in listed] == ["k4", "k3", "k2", "k1", "k0"]
    assert list_keys(before=listed[1].id, limit=2) == listed[2:4]


def test_a_key_does_not_appear_in_logs() -> None:
    _, key = create_key("ci", "reader")
    secret = key.rpartition("_")[2]
    token = f"cbt_{'0' * 32}_1794976178_{'1' * 64}"
    masked = mask(f"GET /api/v1/tasks?key={key} and {key}. {token}")
    assert secret not in masked
    assert "1" * 64 not in masked


@pytest.mark.parametrize(
    ("field", "given"),
    [
        ("name", {"name": ""}),
        ("name", {"name": "a\nb"}),
        ("name", {"name": "x" * 201}),
        ("tenant", {"tenant": ""}),
        ("tenant", {"tenant": " a"}),
        ("role", {"role": "root"}),
        ("rate_limit", {"rate_limit": 0}),
    ],
)
def test_what_cannot_be_a_key_is_refused(field: str, given: dict[str, object]) -> None:
    with pytest.raises(InvalidPayload) as refused:
        create_key(**{"name": "n", "role": "reader", **given})  # type: ignore[arg-type]
    assert refused.value.field == field
    assert list_keys() == []


@pytest.mark.parametrize("caller", [Caller("submitter"), Caller("operator", tenant="a")])
def test_only_operators_without_a_tenant_manage_keys(caller: Caller) -> None:
    created, _ = create_key("k", "reader")
    for verb in (lambda: create_key("n", "reader", caller=caller), lambda: list_keys(caller=caller)):
        with pytest.raises(Forbidden):
            verb()
    with pytest.raises(Forbidden):
        revoke_key(created.id, caller=caller)
    assert [key.revoked_at for key in list_keys()] == [None]


def test_a_revoked_key_stays_revoked_and_keys_stay_configured() -> None:
    assert read_keys() == (False, {})
    created, _ = create_key("k", "reader")
    revoked = revoke_key(created.id, caller=Caller("operator", name="boss"))
    assert (revoked.revoked_at is not None, revoked.revoked_by) == (True, "boss")
    assert revoke_key(created.id, caller=Caller("operator", name="other")) == revoked
    assert read_keys() == (True, {})
    for unknown in ("ck_" + "0" * 32, "ck_", "'; DROP TABLE"):
        with pytest.raises(KeyNotFound):
            revoke_key(unknown)


def test_the_last_operator_key_is_not_revoked_by_accident() -> None:
    first, _ = create_key("first", "operator")
    create_key("of a tenant", "operator", tenant="a")
    create_key("submitter", "submitter")
    with pytest.raises(LastOperatorKey):
        revoke_key(first.id)
    second, _ = create_key("second", "operator")
    revoke_key(first.id)
    with pytest.raises(LastOperatorKey):
        revoke_key(second.id)
    assert revoke_key(second.id, last=True).revoked_at is not None


def test_two_operators_who_revoke_each_other_leave_one(connection: Observer, database_url: str) -> None:
    keys = [create_key(f"k{n}", "operator")[0] for n in range(2)]
    outcomes: list[object] = []

    def revoke(key_id: str) -> None:
        try:
            outcomes.append(revoke_key(key_id).id)
        except LastOperatorKey as refused:
            outcomes.append(type(refused))

    threads = [threading.Thread(target=revoke, args=[key.id]) for key in keys]
    waiting = (
        "SELECT count(*) AS n FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    )
    with connection.transaction():  # both wait for the same row, and see the same snapshot before
        connection.execute("SELECT FROM callboard.api_keys WHERE id = %s FOR UPDATE", [keys[0].id])
        for thread in threads:
            thread.start()
        with Observer.open(database_url) as other:
            eventually(lambda: other.fetch_one(waiting)["n"] == 2, what="both revocations wait")
    for thread in threads:
        thread.join(30)
    assert outcomes.count(LastOperatorKey) == 1
    assert len([key for key in list_keys() if key.revoked_at is None]) == 1


def test_a_revoked_key_gets_nobody_another_one_and_revokes_none() -> None:
    """A server may take it for valid for some more seconds."""
    leaked, other = (create_key(name, "operator")[0] for name in ("leaked", "other"))
    caller = Caller("operator", key_id=leaked.id, name="leaked")
    assert create_key("one more", "reader", caller=caller)[0].created_by == "leaked"
    assert revoke_key(leaked.id, caller=caller).revoked_by == "leaked"
    assert revoke_key(leaked.id, caller=caller).revoked_by == "leaked"  # as after a lost answer
    for attack in (lambda: create_key("back", "operator", caller=caller), lambda: revoke_key(other.id, caller=caller)):
        with pytest.raises(Forbidden, match="has been revoked"):
            attack()
    assert [(key.name, key.revoked_at is None) for key in list_keys()] == [
        ("one more", True), ("other", True), ("leaked", False)
    ]  # fmt: skip


def test_uses_are_recorded_in_one_statement_and_never_go_back(connection: Observer, clock: Clock) -> None:
    keys = [create_key(f"k{n}", "reader")[0] for n in range(3)]
    record_key_uses({keys[0].id: 10.0, keys[1].id: 0.0, "ck_" + "0" * 32: 0.0})
    ages = _read_ages(connection)
    assert 9 < ages["k0"] < 60
    assert ages["k1"] < ages["k0"]
    assert ages["k2"] is None
    record_key_uses({keys[0].id: 5000.0})
    assert _read_ages(connection)["k0"] < 100
    clock.advance(3600)
    record_key_uses({keys[0].id: 1.0})
    assert _read_ages(connection)["k0"] < 100
    assert _read_ages(connection)["k1"] >= 3600


def _read_ages(connection: Observer) -> dict[str, float]:
    query = "SELECT name, extract(epoch FROM callboard.now() - last_used_at)::float8 AS age FROM callboard.api_keys"
    return {row["name"]: row["age"] for row in connection.execute(query)}
