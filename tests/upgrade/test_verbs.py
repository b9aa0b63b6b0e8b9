"""Every verb of the previous release works on the new schema, and after each step of the migration to it."""

import json
import subprocess
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from state.database import Connection, connect
from state.database.statements import statement
from state.schema import migration
from state.schema.migration import apply_pending, migrate
from state.schema.steps import Step
from state.schema.version import VERSION, require_current_schema
from tests.support.observer import Observer
from tests.upgrade.release import MODULES, Release, Running

# Those that change the schema itself, and the one with which a listener asks whether its connection is alive.
NOT_VERBS = {"alive", "session"}


def test_after_each_step_of_a_migration_every_verb_of_the_previous_release_works(
    old: Release, keep: Callable[[Running], Running], connection: Observer, tmp_path: Path
) -> None:
    script, pipes = str(MODULES / "old_verbs.py"), {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    verbs = keep(old.start(tmp_path / "verbs.log", script, str(old.tree), **pipes)).process
    used: set[str] = set()

    def play(when: str) -> None:
        assert verbs.stdin is not None
        assert verbs.stdout is not None
        print(file=verbs.stdin, flush=True)
        answer = json.loads(verbs.stdout.readline() or '{"error": "it has ended"}')
        assert "error" not in answer, f"{when}: {answer['error']}"
        used.update(answer["used"])

    play("before")
    statements = {path.stem for path in (old.tree / "state" / "sql").glob("*.sql")}
    assert {name for name in statements if not name.startswith("schema_")} - NOT_VERBS <= used
    with connect("migrate", direct=True) as migrator:
        steps = 0
        for step in apply_pending(migrator):
            play(f"after {step.name}")
            steps += 1
    assert steps > 0
    play("after the migration")
    require_current_schema()
    assert connection.execute("SELECT * FROM admin.invariants").fetchall() == []
    assert migrate() == []


def test_a_step_that_waits_for_a_lock_holds_none_that_stops_pulses(
    old: Release, connection: Observer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A migration locks at most one table that others use. Functions change together, and some have triggers: the
    tables that pulses write are the last that they lock."""
    rows = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'callboard'").fetchall()
    tables = {f"callboard.{row['tablename']}" for row in rows}
    stopping = ["ShareLock", "ShareRowExclusiveLock", "ExclusiveLock", "AccessExclusiveLock"]
    locked: dict[str, list[set[str]]] = {}

    def run_and_look(migrator: Connection, step: Step) -> None:
        seen = locked.setdefault(step.name.partition("/")[0] if len(step.files) > 1 else step.name, [])
        with migrator.transaction():
            for file in step.files:
                migrator.execute(file.text, prepare=False)
                migrator.execute(statement("schema_applied"), {"name": file.name, "digest": file.digest})
                held = migrator.execute(
                    "SELECT relation::regclass::text AS name FROM pg_locks "
                    "WHERE pid = pg_backend_pid() AND locktype = 'relation' AND mode = ANY (%s)",
                    [stopping],
                ).fetchall()
                seen.append(tables & {row["name"] for row in held})

    monkeypatch.setattr(migration, "_run_together", run_and_look)
    for name in ("guard_moves", "tie_slots_to_leases"):  # as if both had changed
        connection.execute("UPDATE callboard.applied_files SET digest = 'x' WHERE name = %s", [f"functions/{name}"])
    migration.migrate()
    functions = locked.pop("functions")
    assert functions[0] == set()
    assert "callboard.tasks" in functions[-1]  # locked for its triggers
    pulsed = {"callboard.leases", "callboard.workers"}
    for before, after in pairwise(functions):
        assert before == after or not before & pulsed, (before, after)
    assert {name: held for name, [held] in locked.items() if len(held) > 1} == {}


def test_the_previous_release_says_ready_and_its_own_migrate_changes_nothing(
    old: Release, new: Release, connection: Observer
) -> None:
    done = new.command("migrate", "--json")
    assert f"migrations/{VERSION:04}" in done.stdout, done
    functions = (
        "SELECT md5(string_agg(prosrc, '' ORDER BY oid)) AS together FROM pg_proc "
        "WHERE pronamespace = 'callboard'::regnamespace"
    )
    before = connection.execute(functions).fetchone()
    assert json.loads(old.command("migrate", "--json").stdout) == {"applied": []}
    assert connection.execute(functions).fetchone() == before
    assert old.command("list", "--json").returncode == 0  # refused if its schema is not current
