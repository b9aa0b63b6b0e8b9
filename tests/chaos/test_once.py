"""No execution begins twice, no two of a task or a target run at once: seen by the tasks themselves, in a journal."""

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

import actors  # noqa: F401
import tests.support.journalactors  # noqa: F401
from deploy.prove.executions import Execution, load
from deploy.prove.judge import Rules, judge
from state import NewTask, get_task, submit, submit_many
from tests.support.eventually import eventually
from tests.support.observer import Observer
from tests.support.workers import WorkerTree

Start = Callable[..., WorkerTree]
ACTORS = "actors,tests.support.journalactors"


def wait_completed(ids: list[str], connection: Observer, timeout: float = 120) -> None:
    left = "SELECT count(*) AS n FROM callboard.tasks WHERE id = ANY (%s) AND status <> 'completed'"
    eventually(lambda: connection.execute(left, [ids]).fetchone() == {"n": 0}, timeout=timeout, every=0.1)


def violations(journal: Path, lease: float = 30) -> list[str]:
    return [str(violation) for violation in judge(load(journal), Rules(lease))]


def test_tasks_of_an_actor_that_turns_slow_begin_once(worker: Start, tmp_path: Path, connection: Observer) -> None:
    """Many were claimed ahead while they were quick; they are given back, and may come again to the same process."""
    journal = tmp_path / "journal"
    # Quick tasks must be quick also on a busy machine (where that is not permitted, `nice` only says so).
    worker(processes=1, threads=4, actors=ACTORS, prefix=["nice", "-n", "-15"])
    ids: list[str] = []
    for seconds, count in ((0, 300), (2.5, 20)):
        payload = {"journal": str(journal), "seconds": seconds}
        ids += submit_many([NewTask("journal_quick", payload) for _ in range(count)])
        wait_completed(ids, connection)
    assert violations(journal) == []
    assert {run.task for run in load(journal).executions if run.how == "done"} == set(ids)


def stat_with_later_boot(folder: Path) -> Path:
    """A copy of /proc/stat as it looks after the wall clock was stepped by two seconds."""
    changed = re.sub(r"\nbtime (\d+)\n", lambda old: f"\nbtime {int(old[1]) + 2}\n", Path("/proc/stat").read_text())
    (folder / "stat").write_text(changed)
    return folder / "stat"


def in_own_mounts(stat: Path) -> list[str]:
    return ["unshare", "--mount", "sh", "-c", 'mount --bind "$0" /proc/stat && exec "$@"', str(stat)]


def test_a_step_of_the_wall_clock_kills_nobody(worker: Start, tmp_path: Path, connection: Observer) -> None:
    """One worker computes start times of processes from a clock that was stepped, the other from one that was not:
    both see processes that seem to have started at another time than they said."""
    prefix = in_own_mounts(stat_with_later_boot(tmp_path))
    tried = subprocess.run([*prefix, "grep", "btime", "/proc/stat"], capture_output=True, text=True)
    if tried.returncode != 0:
        pytest.skip(f"no mount namespace of our own: {tried.stderr.strip()}")
    assert tried.stdout not in Path("/proc/stat").read_text()
    journal = tmp_path / "journal"
    ids = submit_many([NewTask("journal_slow", {"journal": str(journal), "seconds": 4}) for _ in range(12)])
    worker(threads=6, actors=ACTORS)
    worker(threads=6, actors=ACTORS, through=prefix)
    completed = "SELECT count(*) AS n FROM callboard.tasks WHERE status = 'completed'"
    # Workers that take each other for dead never complete any.
    eventually(lambda: violations(journal) or connection.execute(completed).fetchone() == {"n": len(ids)}, timeout=120)
    assert violations(journal) == []
    assert len(load(journal).executions) == len(ids)


def running(journal: Path, task_id: str) -> list[Execution]:
    return [run for run in load(journal).executions if run.task == task_id] if journal.exists() else []


def test_a_task_that_commits_after_a_later_one_of_its_target_waits_for_it(
    worker: Start, tmp_path: Path, connection: Observer, database_url: str
) -> None:
    journal = tmp_path / "journal"
    payload = {"journal": str(journal), "seconds": 4, "target": "t"}
    worker(processes=2, threads=4, actors=ACTORS)
    with psycopg.connect(database_url) as caller:
        first = submit("journal_slow", payload, target="t", conn=caller).task_id
        second = submit("journal_slow", payload, target="t").task_id
        eventually(lambda: running(journal, second))
        caller.commit()
        assert get_task(second).status == "running"
    wait_completed([first, second], connection)
    assert violations(journal) == []
