"""`callboard up` listens for others only when there is a key."""

from pathlib import Path

import pytest

from deploy.cli.commands.up import _require_key_for
from deploy.cli.exits import BAD_INPUT, Failure
from deploy.cli.up.address import find_own_host, is_loopback
from state.access.keys import create_key, revoke_key
from tests.cli.command import callboard


def test_which_hosts_are_loopback() -> None:
    assert [host for host in ("127.0.0.1", "localhost", "::1", "127.3.2.1") if not is_loopback(host)] == []
    assert [host for host in ("0.0.0.0", "::", "192.0.2.10", "", "no such host") if is_loopback(host)] == []


def test_how_this_machine_reaches_its_server() -> None:
    assert [find_own_host(host) for host in ("0.0.0.0", "::", "192.0.2.10")] == ["127.0.0.1", "::1", "192.0.2.10"]


def test_another_address_needs_a_key(database_url: str, tmp_path: Path) -> None:
    refused = callboard(
        "up",
        CALLBOARD_DATABASE_URL=database_url,
        CALLBOARD_DATA_DIR=tmp_path,
        CALLBOARD_HOST="0.0.0.0",
        CALLBOARD_PORT="0",
    )
    assert refused.returncode == BAD_INPUT
    assert "callboard keys create" in refused.stderr
    for host in ("0.0.0.0", "::", "192.0.2.10"):
        with pytest.raises(Failure, match="without API keys"):
            _require_key_for(host)
    _require_key_for("127.0.0.1")
    key, _ = create_key("test", "operator")
    revoke_key(key.id, last=True)  # from then on nobody is served without a key
    _require_key_for("0.0.0.0")
