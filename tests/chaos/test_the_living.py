"""Nobody alive is taken for dead, whatever the clocks say; the dead are found at once."""

import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import actors  # noqa: F401
import tests.support.testactors  # noqa: F401
from state import NewTask, get_task, submit_many
from tests.support.clock import Clock
from tests.support.eventually import eventually
from tests.support.observer import Observer
from tests.support.workers import TEST_ACTORS, WorkerTree

Start = Callable[..., WorkerTree]
TASKS = 12
STEP = 'mount --bind "$0" /proc/stat && exec "$@"'  # what the kernel says of the time of the boot, for one tree only


def lines(file: Path) -> list[str]:
    return file.read_text().splitlines() if file.exists() else []


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    return tmp_path / "journal.txt"


def begin(journal: Path) -> list[str]:
    """Twelve tasks that run in two trees, for much longer than anybody needs to take them for lost."""
    ids = submit_many([NewTask("steps", {"seconds": 5, "file": str(journal)}) for _ in range(TASKS)])
    eventually(lambda: len(lines(journal)) >= TASKS, what="all have begun")
    return ids


def expect_one_execution_each(ids: list[str], journal: Path) -> None:
    eventually(lambda: all(get_task(each).finished for each in ids), timeout=60)
    begun = [line.split()[1:] for line in lines(journal) if line.startswith("start")]
    assert sorted(begun) == sorted([each, "1"] for each in ids)
    assert [get_task(each).status for each in ids] == ["completed"] * TASKS


def wait_for_pulses(connection: Observer) -> None:
    """Until every worker has heard who its siblings are now."""

    def seen() -> dict[str, object]:
        rows = connection.execute("SELECT id, seen_at FROM callboard.workers").fetchall()
        return {row["id"]: row["seen_at"] for row in rows}

    for _ in range(2):  # the first one may have been under way
        before = seen()
        eventually(lambda before=before: all(at != before[each] for each, at in seen().items()))  # type: ignore[misc]


def test_a_wall_clock_that_was_stepped_kills_nobody(worker: Start, journal: Path) -> None:
    worker(threads=6)
    worker(threads=6, actors=f"{TEST_ACTORS},tests.support.steppedclock")
    expect_one_execution_each(begin(journal), journal)


def test_a_proc_that_is_hidden_kills_nobody(worker: Start, journal: Path) -> None:
    for _ in range(2):
        worker(threads=6, actors=f"{TEST_ACTORS},tests.support.hiddenproc")
    expect_one_execution_each(begin(journal), journal)


def test_a_time_of_boot_that_moves_kills_nobody(worker: Start, journal: Path, tmp_path: Path) -> None:
    stat = tmp_path / "stat"
    text = Path("/proc/stat").read_text()
    [boot] = [line for line in text.splitlines() if line.startswith("btime ")]
    stat.write_text(text.replace(boot, f"btime {int(boot.split()[1]) + 2}"))
    through = ["unshare", "-m", "sh", "-c", STEP, str(stat)]
    tried = subprocess.run([*through, "grep", "btime", "/proc/stat"], capture_output=True, text=True, check=False)
    if tried.returncode != 0:
        pytest.skip(f"no mount namespace to be had: {tried.stderr.strip()}")
    assert tried.stdout.split() != boot.split()
    worker(threads=6)
    worker(threads=6, through=through)
    expect_one_execution_each(begin(journal), journal)


@pytest.mark.parametrize("seconds", [3600, -3600])
def test_a_database_clock_that_jumps_takes_nothing_from_the_living(
    seconds: float, worker: Start, journal: Path, clock: Clock
) -> None:
    worker(threads=6)
    worker(threads=6)
    ids = begin(journal)
    clock.advance(seconds)
    expect_one_execution_each(ids, journal)


def test_a_killed_process_is_recovered_by_its_sibling_which_is_not_the_maintainer(
    worker: Start, journal: Path, connection: Observer
) -> None:
    """The maintainer is on another host, and would have to wait for the lease."""
    maintainer, sibling, victim = worker(threads=1), worker(threads=1), worker(threads=1)
    [first] = maintainer.children()
    connection.execute("UPDATE callboard.workers SET host = 'elsewhere' WHERE pid = %s", [first.pid])
    wait_for_pulses(connection)
    [held] = connection.execute("SELECT worker_id FROM callboard.maintainer").fetchall()
    assert f":{first.pid}:" in held["worker_id"]
    ids = submit_many([NewTask("steps", {"seconds": 2, "file": str(journal)}) for _ in range(3)])
    eventually(lambda: len(lines(journal)) == 3)
    eventually(lambda: len(sibling.children()) == 1)
    victim.signal_all(signal.SIGKILL)
    begun = time.monotonic()
    lost = "SELECT count(*) AS n FROM callboard.attempts WHERE outcome = 'lost'"
    eventually(lambda: connection.execute(lost).fetchall()[0]["n"] == 1, timeout=10)
    seconds = time.monotonic() - begun
    print(f"recovered after {seconds:.2f} s")
    assert seconds < 4
    assert '"worker processes are dead"' in sibling.log.read_text()
    assert '"level": "warning"' in sibling.log.read_text()
    eventually(lambda: all(get_task(each).finished for each in ids))


@pytest.mark.parametrize(("host", "within"), [("here", 3.0), ("elsewhere", 5.5)])
def test_another_takes_over_from_a_maintainer_that_was_killed(
    host: str, within: float, worker: Start, connection: Observer, clock: Clock
) -> None:
    def holder() -> str | None:
        [row] = connection.execute(
            "SELECT worker_id FROM callboard.maintainer WHERE expires_at > callboard.now() "
            "UNION ALL SELECT NULL LIMIT 1"
        ).fetchall()
        worker_id: str | None = row["worker_id"]
        return worker_id

    first, _second = worker(threads=1), worker(threads=1)
    before = eventually(holder)
    [process] = first.children()
    assert f":{process.pid}:" in before
    if host == "elsewhere":  # where nobody can prove that it is dead
        connection.execute("UPDATE callboard.workers SET host = 'elsewhere' WHERE id = %s", [before])
        wait_for_pulses(connection)
    first.signal_all(signal.SIGKILL)
    begun = time.monotonic()
    eventually(lambda: holder() not in (None, before), timeout=10)
    seconds = time.monotonic() - begun
    print(f"taken over after {seconds:.2f} s")
    assert seconds < within
    due = submit_many([NewTask("noop", {}, delay_seconds=3600)])
    clock.advance(3601)
    eventually(lambda: get_task(due[0]).status == "completed", timeout=10)  # and it does the work
