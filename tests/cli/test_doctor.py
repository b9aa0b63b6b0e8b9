"""`callboard doctor` on installations that are broken in several ways."""

import json
import os
import socket
from pathlib import Path
from typing import Any

import pytest

from state.gates import Gate
from state.gates.declarations import declare
from state.workers.identity import Identity
from state.workers.registry import register
from tests.cli.command import callboard, submit, succeed
from tests.support.observer import Observer
from tests.support.postgres import TestPostgres


def examine(**changes: Any) -> tuple[int, dict[str, list[dict[str, Any]]]]:
    """Returns the exit code, and the findings by subject."""
    done = callboard("doctor", "--json", CALLBOARD_PORT=changes.pop("CALLBOARD_PORT", 0), **changes)
    assert done.stderr == "", done
    report = json.loads(done.stdout)
    assert report["healthy"] == (done.returncode == 0)
    found: dict[str, list[dict[str, Any]]] = {}
    for finding in report["findings"]:
        assert finding["level"] == "ok" or finding["remedy"], finding
        found.setdefault(finding["subject"], []).append(finding)
    return done.returncode, found


def levels(found: dict[str, list[dict[str, Any]]], level: str) -> set[str]:
    return {subject for subject, findings in found.items() if any(each["level"] == level for each in findings)}


def test_a_whole_installation(database_url: str, tmp_path: Path) -> None:
    tmp_path.chmod(0o750)
    register(Identity.of_this_process(), ["test"], 8)
    code, found = examine()
    assert levels(found, "problem") == set(), found
    assert code == 0
    assert {
        "python",
        "packages",
        "settings",
        "database",
        "schema",
        "clock",
        "listen",
        "workers",
        "keys",
    } <= found.keys()
    text = succeed("doctor", CALLBOARD_PORT=0)
    assert "ok       database: PostgreSQL" in text
    assert ("->" in text) == bool(levels(found, "warning"))


def test_nothing_was_made_yet(tmp_path: Path) -> None:
    code, found = examine(CALLBOARD_DATABASE_URL=None, CALLBOARD_DATA_DIR=tmp_path / "data")
    assert code == 1
    assert levels(found, "problem") == {"database"}
    assert "callboard migrate" in found["database"][0]["remedy"]
    assert not (tmp_path / "data").exists()


def test_settings_that_are_wrong(tmp_path: Path) -> None:
    code, found = examine(CALLBOARD_LEASE_SECONDS="soon", OPENROUTER_TIMEOUT="never")
    assert code == 1
    texts = " ".join(finding["text"] for finding in found["settings"])
    assert "CALLBOARD_LEASE_SECONDS" in texts
    assert "OPENROUTER_TIMEOUT" in texts


def test_a_database_that_cannot_be_reached_and_a_port_that_is_taken(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        code, found = examine(
            CALLBOARD_DATABASE_URL="postgresql://127.0.0.1:1/nobody", CALLBOARD_DATA_DIR=tmp_path, CALLBOARD_PORT=port
        )
    assert code == 1
    assert levels(found, "problem") == {"database", "port"}
    assert "data folder" in levels(found, "warning")
    assert "chmod 750" in found["data folder"][0]["remedy"]


def test_a_database_that_is_not_migrated(postgres: TestPostgres, tmp_path: Path) -> None:
    postgres.execute("CREATE DATABASE bare")
    try:
        code, found = examine(CALLBOARD_DATABASE_URL=postgres.url("bare"), CALLBOARD_DATA_DIR=tmp_path)
    finally:
        postgres.execute("DROP DATABASE bare WITH (FORCE)")
    assert code == 1
    assert levels(found, "problem") == {"schema"}
    assert "callboard migrate" in found["schema"][0]["remedy"]


def test_what_runs_is_examined(database_url: str, connection: Observer, tmp_path: Path) -> None:
    """No worker, a stalled queue, an actor that nobody knows, an open breaker, and a server for all without keys."""
    submit("noop")
    declare([Gate("provider:leonardo", 3, breaker=True)])
    connection.execute("UPDATE callboard.gates SET breaker_state = 'open', breaker_changed_at = callboard.now()")
    connection.execute("UPDATE callboard.tasks SET available_at = available_at - interval '1 hour'")
    code, found = examine(CALLBOARD_HOST="0.0.0.0")
    assert code == 1
    assert levels(found, "problem") >= {"workers", "queues", "keys"}, found
    assert "provider:leonardo" in found["breakers"][0]["text"]
    assert "callboard keys create" in found["keys"][0]["remedy"]


def test_a_pooler_in_the_way_of_listen(pgbouncer: str, database_url: str) -> None:
    assert levels(examine()[1], "problem") & {"listen"} == set()
    found = examine(CALLBOARD_DIRECT_URL=None)[1]
    assert "listen" in found, found
    assert "CALLBOARD_DIRECT_URL" in found["listen"][0]["remedy"]
    assert "listen" in levels(found, "problem")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root is warned")
def test_root_is_warned(database_url: str) -> None:
    assert "user" in levels(examine()[1], "warning")
