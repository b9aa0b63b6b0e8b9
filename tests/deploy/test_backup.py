"""Backups of a database that works, and what a restore to a moment of the past means for tasks."""

import json
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg
import pytest

import actors  # noqa: F401  (declares the kinds of work, and sets the broker)
from state import get_task, submit
from state.database.embedded.account import choose_account
from state.schema.migration import migrate
from state.tasks.queues import pause_queue, resume_queue
from tests.cli.command import callboard
from tests.conftest import settings_for
from tests.deploy.files import ROOT
from tests.deploy.postgres import OwnPostgres, Servers, open_servers
from tests.support import testactors  # noqa: F401
from tests.support.clients import dump_schema
from tests.support.eventually import eventually
from tests.support.observer import Observer
from tests.support.workers import WorkerTree

LAST_PARTITION = (
    "SELECT to_regclass('callboard.' || to_char(date_trunc('month', callboard.now() AT TIME ZONE 'UTC') "
    "+ interval '3 months', '\"attempts_\"YYYY_MM')) IS NOT NULL AS made"
)
COUNTS = "SELECT (SELECT count(*) FROM callboard.tasks) AS tasks, (SELECT count(*) FROM callboard.events) AS events"


@pytest.fixture
def servers() -> Iterator[Servers]:
    with open_servers() as opened:
        yield opened


def start_primary(servers: Servers, archive: Path, folder: Path) -> OwnPostgres:
    primary = servers.make("primary")
    # A file has its name only when it is whole, as docs/deployment.md demands.
    to = shlex.quote(str(archive))
    primary.initialize("archive_mode = on", f"archive_command = 'cp %p {to}/%f.part && mv {to}/%f.part {to}/%f'")
    primary.start()
    primary.make_roles()
    with settings_for(primary.url("callboard_owner"), folder):
        migrate()
    return primary


def restore(servers: Servers, backup: Path, archive: Path, moment: str) -> OwnPostgres:
    """As docs/deployment.md says."""
    restored = servers.make("restored")
    backup.rename(restored.data)
    with (restored.data / "postgresql.conf").open("a") as config:
        config.write(f"restore_command = 'cp {shlex.quote(str(archive))}/%f %p'\narchive_mode = off\n")
        config.write(f"recovery_target_name = '{moment}'\nrecovery_target_action = 'promote'\n")
    (restored.data / "recovery.signal").touch()
    choose_account(restored.data).give(restored.data / "recovery.signal")
    restored.start()
    eventually(lambda: query(restored, "SELECT NOT pg_is_in_recovery() AS over")["over"], what="the recovery is over")
    return restored


def query(server: OwnPostgres, text: str, database: str = "callboard") -> dict[str, Any]:
    with Observer.open(server.url("postgres", database=database)) as connection:
        return connection.fetch_one(text)


@contextmanager
def run_worker(log: Path) -> Iterator[WorkerTree]:
    tree = WorkerTree(log, threads=2)
    try:
        yield tree.wait_ready()
    finally:
        tree.kill()


def read_completed(log: Path, after: str) -> set[str]:
    """Returns the tasks that completed after a moment, by the log of a worker and the command of the document."""
    document = (ROOT / "docs" / "deployment.md").read_text()
    [program] = re.findall(r"jq -Rr '(.*)'", document)
    program = re.sub(r'"\d{4}-[^"]*"', json.dumps(after), program)
    found = subprocess.run(["jq", "-Rr", program, str(log)], capture_output=True, text=True, check=True)
    return set(found.stdout.split())


def succeed(*arguments: str) -> str:
    done = callboard(*arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.skipif(shutil.which("jq") is None, reason="there is no jq (Debian, Ubuntu: apt install jq)")
def test_a_restore_runs_nothing_again_that_nobody_has_decided(servers: Servers, tmp_path: Path) -> None:
    """A base backup and the archived log, to a moment at which a task runs and one is queued. Both complete later."""
    archive = servers.make("archive").folder
    primary = start_primary(servers, archive, tmp_path)
    backup = servers.make("backup").folder / "base"
    primary.run("pg_basebackup", "--pgdata", str(backup), "--checkpoint=fast", "--wal-method=none")
    journal, log = tmp_path / "journal", tmp_path / "before.log"

    with settings_for(primary.url("callboard_worker"), tmp_path), run_worker(log):
        done = submit("note", {"file": str(journal), "text": "done"}).task_id
        eventually(lambda: get_task(done).finished)
        with settings_for(primary.url("callboard_api"), tmp_path):
            pause_queue("gated")
        queued = submit("gated", {"gates": {}, "file": str(journal)}).task_id
        running = submit("zombie", {"file": str(journal)}).task_id
        eventually(lambda: "start 1" in journal.read_text())
        dump = take_dump(primary)
        query(primary, "SELECT pg_create_restore_point('before') AS at")
        moment = datetime.now(UTC).isoformat()[:23]
        with settings_for(primary.url("callboard_api"), tmp_path):
            resume_queue("gated")
        later = submit("note", {"file": str(journal), "text": "later"}).task_id
        Path(f"{journal}.go").touch()
        for task_id in (queued, running, later):
            eventually(lambda task_id=task_id: get_task(task_id).status == "completed")  # type: ignore[misc]
        written = journal.read_text()
    wal = query(primary, "SELECT pg_walfile_name(pg_switch_wal()) AS name")["name"]
    eventually((archive / wal).exists, what="the log is archived")
    primary.stop("immediate")

    restored = restore(servers, backup, archive, "before")
    with settings_for(restored.url("callboard_owner"), tmp_path):
        assert migrate() == []
        assert "media is paused" in succeed("queues", "pause", "--all")
        with run_worker(tmp_path / "after.log"):
            eventually(lambda: get_task(running).status == "queued", what="its worker is known to be gone")
            assert [get_task(each).status for each in (done, queued)] == ["completed", "queued"]
            assert callboard("show", later).returncode == 3  # it was never there
            assert journal.read_text() == written  # nothing has started
            unfinished = {
                row["task_id"] for row in json.loads(succeed("list", "--status", "queued", "--json"))["items"]
            }
            assert unfinished == {queued, running}
            assert read_completed(log, moment) == {queued, running, later}
            succeed("cancel", running)  # somebody decides: this one is done, the other one runs again
            succeed("queues", "resume", "--all")
            eventually(lambda: get_task(queued).status == "completed")
            assert get_task(running).status == "canceled"
        assert journal.read_text().count("start 1") == written.count("start 1")
    with Observer.open(restored.url("postgres")) as connection:
        assert connection.execute("SELECT * FROM admin.invariants").fetchall() == []
    check_dump(restored, dump, tmp_path)


def take_dump(primary: OwnPostgres) -> tuple[Path, dict[str, Any]]:
    eventually(lambda: query(primary, LAST_PARTITION)["made"], what="the maintainer has made all partitions")
    file = primary.folder / "callboard.dump"
    primary.run("pg_dump", "--format=custom", f"--file={file}")
    return file, query(primary, COUNTS)


def check_dump(server: OwnPostgres, dump: tuple[Path, dict[str, Any]], folder: Path) -> None:
    """On a server that has the roles."""
    file, counts = dump
    server.run("createdb", "--owner=callboard_owner", "copy", database="postgres")
    server.run("pg_restore", "--dbname=copy", "--exit-on-error", str(file), database="copy")
    assert query(server, COUNTS, "copy")["tasks"] == counts["tasks"]
    assert query(server, "SELECT count(*) AS n FROM admin.invariants", "copy")["n"] == 0
    dumps = [dump_schema(server.url("postgres", database=name)) for name in ("callboard", "copy")]
    original, copy = (
        re.sub(r" AS \w+", "", text) for text in dumps
    )  # Postgres names columns of views that had no name
    assert copy == original
    with settings_for(server.url("callboard_owner", database="copy"), folder):
        assert migrate() == []
    with psycopg.connect(server.url("callboard_worker", database="copy")) as connection:
        connection.execute("SELECT 1 FROM callboard.tasks FOR NO KEY UPDATE")
