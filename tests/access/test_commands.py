"""`callboard keys`: where the database is, and at a server."""

from getpass import getuser

from state.access.keys import list_keys, parse_key_id
from tests.access.conftest import MakeKey
from tests.cli.command import answer, callboard, refusal, succeed
from tests.taskapi.running import RunningServer


def test_keys_are_made_listed_and_revoked_where_the_database_is(database_url: str) -> None:
    assert "No keys" in succeed("keys")
    done = callboard("keys", "create", "ops", "--role", "operator")
    key = done.stdout.strip()
    key_id = parse_key_id(key)
    assert key_id is not None  # stdout has the key alone
    assert key_id in done.stderr
    made = answer("keys", "create", "shop", "--role", "submitter", "--tenant", "acme", "--rate-limit", "600")
    assert parse_key_id(made["key"]) == made["key_id"]
    assert (made["role"], made["tenant"], made["rate_limit"], made["created_by"]) == (
        "submitter",
        "acme",
        600,
        getuser(),
    )
    listed = answer("keys", "list")["items"]
    assert listed == [{name: made[name] for name in made if name != "key"}, listed[1]]
    table = succeed("keys", "list")
    assert key_id in table
    assert "600/min" in table
    assert key not in table
    assert answer("keys", "revoke", made["key_id"])["revoked_at"] is not None
    assert "last operator" in refusal(4, "keys", "revoke", key_id)
    assert "is revoked" in succeed("keys", "revoke", key_id, "--last")
    assert "callboard keys" in refusal(3, "keys", "revoke", "ck_" + "0" * 32)
    assert "role" in refusal(2, "keys", "create", "x", "--role", "root")
    assert "name" in refusal(2, "keys", "create", "", "--role", "reader")
    assert [each.name for each in list_keys()] == ["shop", "ops"]


def test_keys_are_managed_at_a_server(actors: None, make_key: MakeKey) -> None:
    keys = {role: make_key(role)["Authorization"].removeprefix("Bearer ") for role in ("reader", "operator")}
    with RunningServer() as server:
        remote = {"CALLBOARD_URL": server.url, "CALLBOARD_KEY": keys["operator"], "CALLBOARD_DATABASE_URL": "nowhere"}
        made = answer("keys", "create", "shop", "--role", "submitter", **remote)
        assert made["created_by"] == "operator of None"
        assert answer("keys", **remote)["items"][0]["key_id"] == made["key_id"]
        assert "is revoked" in succeed("keys", "revoke", made["key_id"], **remote)
        assert "last operator" in refusal(4, "keys", "revoke", parse_key_id(keys["operator"]) or "", **remote)
        assert "operator" in refusal(7, "keys", **{**remote, "CALLBOARD_KEY": keys["reader"]})
        refusal(7, "keys", **{**remote, "CALLBOARD_KEY": None})
