"""Workers, servers and streams of the previous release run on while the database is migrated."""

from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import psutil
import psycopg

from state.schema.version import OLDEST, VERSION
from tests.support.eventually import eventually
from tests.support.observer import Observer
from tests.upgrade.release import Release
from tests.upgrade.traffic import LINES, Traffic

ENOUGH = 8  # tasks that a release has to complete in each part of the test


class Journal:
    """The file in which tasks note that they begin and end."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def lines(self, word: str) -> list[tuple[str, str, str]]:
        """Returns (tree, task id, epoch) of each line that starts with the word, which is begin or end."""
        found = (line.split() for line in self._file.read_text().splitlines())
        return [(tree, task, epoch) for kind, tree, task, epoch in found if kind == word]

    def wait_for_more(self, *releases: Release) -> None:
        """Waits until each of these releases has completed enough tasks from now on."""

        def ended() -> Counter[str]:
            return Counter(tree for tree, _, _ in self.lines("end"))

        before = ended()
        for release in releases:
            tree = str(release.tree)
            eventually(lambda: ended()[tree] >= before[tree] + ENOUGH, 60, what=f"tasks ended by {tree}")  # noqa: B023


def end_everything(traffic: Traffic, connection: Observer) -> None:
    def unfinished() -> list[Any]:
        traffic.resume_paused()
        return connection.execute(
            "SELECT id, status, waiting_gate FROM callboard.tasks WHERE status NOT IN ('completed', 'canceled', 'dead')"
        ).fetchall()

    eventually(lambda: not unfinished() or None, 60, every=0.2, what="all tasks ended")


def check_history(connection: Observer, kinds: dict[str, str], journal: Journal) -> None:
    """Each task has ended as it should and was begun once in each epoch, and none of its events is lost."""
    begun = Counter((task, epoch) for _, task, epoch in journal.lines("begin"))
    assert {key: times for key, times in begun.items() if times > 1} == {}
    tasks = Counter(task for task, _ in begun)
    ended = Counter(task for _, task, _ in journal.lines("end"))
    rows = connection.execute(
        "SELECT t.id, t.status, t.tokens, t.last_event, t.result, "
        "ARRAY(SELECT e.n FROM callboard.events e WHERE e.task_id = t.id ORDER BY e.n) AS numbers, "
        "ARRAY(SELECT (e.data ->> 'text')::integer FROM callboard.events e "
        "WHERE e.task_id = t.id AND e.kind = 'token' ORDER BY e.n) AS said "
        "FROM callboard.tasks t"
    ).fetchall()
    assert {row["id"] for row in rows} == set(kinds)
    for row in rows:
        assert row["numbers"] == list(range(1, row["last_event"] + 1)), row
        match kinds[row["id"]]:
            case "completes":
                assert (row["status"], row["tokens"], row["said"]) == ("completed", LINES, list(range(LINES))), row
                assert (tasks[row["id"]], ended[row["id"]]) == (1, 1), row
            case "holds":
                assert (row["status"], row["said"]) == ("completed", list(range(row["result"]))), row
                assert (tasks[row["id"]], ended[row["id"]]) == (1, 1), row
            case "paused":
                assert (row["status"], ended[row["id"]]) == ("completed", 1), row
            case "canceled":
                assert (row["status"], ended[row["id"]]) == ("canceled", 0), row
            case "dies":
                assert row["status"] in ("dead", "canceled"), row


def check_streams(traffic: Traffic, connection: Observer) -> None:
    """Each stream has sent every event of its task, in order, and then `done`."""
    assert traffic.streams
    for task_id, stream in traffic.streams.items():
        *lines, done = [sent for sent in stream.result(30) if not sent.comments]
        row = connection.execute("SELECT last_event FROM callboard.tasks WHERE id = %s", [task_id]).fetchone()
        assert row is not None
        assert done.event == "done"
        assert [int(line.id or 0) for line in lines] == list(range(1, row["last_event"] + 1)), task_id


def check_log(log: Path) -> None:
    """Nothing went wrong, and nothing was started again."""
    lines = log.read_text().splitlines()
    assert [line for line in lines if '"level": "error"' in line or "Traceback" in line or "CRITICAL" in line] == []
    assert sum('"worker ready"' in line for line in lines) <= 1


def waits_for(connection: Observer, other: psycopg.Connection[Any]) -> bool:
    """Returns whether a migration waits for the other session: for a lock, or for its end before an index is built."""
    found = connection.execute(
        "SELECT FROM pg_stat_activity "
        "WHERE application_name = 'callboard migrate' AND %s = ANY (pg_blocking_pids(pid))",
        [other.info.backend_pid],
    )
    return found.fetchone() is not None


def test_the_previous_release_runs_on_through_a_migration_that_waits_and_is_killed_and_done_again(
    old: Release,
    new: Release,
    keep: Callable[..., Any],
    connection: Observer,
    old_url: str,
    tmp_path: Path,
) -> None:
    (tmp_path / "journal").touch()
    journal = Journal(tmp_path / "journal")
    old_server = keep(old.start_server(tmp_path / "old-server.log"))
    old_workers = keep(old.start_workers(tmp_path / "old-workers.log"))
    old_workers.wait_said('"worker ready"')
    old_server.wait_ready()
    with ExitStack() as stack:
        traffic = stack.enter_context(closing(Traffic(old_server.url, "old")))
        for _ in range(2):
            traffic.follow(traffic.submit("holds", "holds"))
        traffic.start()
        journal.wait_for_more(old)
        with psycopg.connect(old_url) as writer:  # somebody has written a task, and takes a while
            writer.execute("LOCK TABLE callboard.tasks IN ROW EXCLUSIVE MODE")
            interrupted = keep(new.start_command(tmp_path / "interrupted.log", "migrate"))
            eventually(lambda: waits_for(connection, writer), 60, what="it waits for the writer of a task")
            journal.wait_for_more(old)
            assert interrupted.process.poll() is None, interrupted.log.read_text()
            interrupted.kill()
            assert connection.fetch_one("SELECT version FROM callboard.schema_version")["version"] == OLDEST
        journal.wait_for_more(old)

        migrated = new.command("migrate", "--json")
        assert migrated.returncode == 0, migrated
        assert connection.fetch_one("SELECT version FROM callboard.schema_version")["version"] == VERSION
        journal.wait_for_more(old)

        # Workers of the previous release can also start now.
        late_workers = keep(old.start_workers(tmp_path / "late-workers.log", threads=1))
        new_workers = keep(new.start_workers(tmp_path / "new-workers.log", threads=2))
        new_server = keep(new.start_server(tmp_path / "new-server.log")).wait_ready()
        for workers in (late_workers, new_workers):
            workers.wait_said('"worker ready"')
        new_traffic = stack.enter_context(closing(Traffic(new_server.url, "new")))
        new_traffic.start()
        journal.wait_for_more(old, new)

        (tmp_path / "journal.go").touch()
        kinds: dict[str, str] = {}
        for each in (traffic, new_traffic):
            each.stop()
            kinds |= each.kinds
        end_everything(traffic, connection)
        assert (traffic.bad, new_traffic.bad) == ([], [])
        check_history(connection, kinds, journal)
        check_streams(traffic, connection)
        check_streams(new_traffic, connection)
    loaded = {pid: tree for tree, pid, _ in journal.lines("loaded")}
    for release, running in (
        (old, old_server), (old, old_workers), (old, late_workers), (new, new_server), (new, new_workers),
    ):  # fmt: skip
        assert running.process.poll() is None, running.log.read_text()
        pids = {running.process.pid, *(child.pid for child in psutil.Process(running.process.pid).children(True))}
        assert {loaded[str(pid)] for pid in pids if str(pid) in loaded} == {str(release.tree)}
        check_log(running.log)
    assert connection.execute("SELECT * FROM admin.invariants").fetchall() == []
