"""A run from end to end, with a peer that is installed anyway, and one that is not; and a run that is killed."""

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.bench.harness.venvs import GIVEN_VARIABLE, ROOT
from tests.support.eventually import eventually

# Callboard's own Python has stock dramatiq-pg: nothing is installed for this test.
ENVIRONMENT = {**os.environ, GIVEN_VARIABLE: sys.executable}
COMMAND = [sys.executable, "-m", "tests.bench", "--quick", "--group", "submit"]


@pytest.fixture
def folder() -> Iterator[Path]:
    """Where the user of Postgres can go, unlike pytest's own, and with a short name, as sockets need it."""
    with tempfile.TemporaryDirectory(prefix="bench-test-") as name:
        Path(name).chmod(0o755)
        yield Path(name)


def processes_in(folder: Path) -> list[str]:
    found = []
    for process in psutil.process_iter(["cmdline"]):
        line = " ".join(process.info["cmdline"] or [])
        if str(folder) in line and "tests.bench " not in line:
            found.append(line)
    return found


def test_a_quick_run_reports_everybody_and_leaves_nothing(folder: Path) -> None:
    output = folder / "out" / "bench.json"
    finished = subprocess.run(
        [*COMMAND, "--peers", "dramatiq-pg,procrastinate", "--dir", str(folder), "--json", str(output)],
        cwd=ROOT,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
    )
    assert finished.returncode == 0, finished.stdout + finished.stderr
    lines = [line for line in finished.stdout.splitlines() if line.startswith("bench ")]
    assert any(line.startswith("bench submit_single callboard=") and " dramatiq-pg=" in line for line in lines), lines
    assert any(line.startswith("bench submit_single procrastinate failed: ") for line in lines), lines
    rows = {row["name"]: row for row in json.loads(output.read_text())["rows"]}
    assert rows["submit_single"]["values"].keys() == {"callboard", "dramatiq-pg"}
    assert rows["submit_batch"]["values"].keys() == {"callboard"}
    assert [path.name for path in folder.iterdir()] == ["out"]
    assert processes_in(folder) == []


def test_a_killed_run_leaves_no_process_and_no_folder(folder: Path) -> None:
    with subprocess.Popen(
        [*COMMAND, "--peers", "none", "--dir", str(folder)],
        cwd=ROOT,
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as run:
        assert run.stdout
        while not (line := run.stdout.readline()).startswith("commits:"):
            assert line, "the run ended before it measured anything"
        assert processes_in(folder)
        run.send_signal(signal.SIGKILL)
    eventually(lambda: not processes_in(folder) and not list(folder.iterdir()), what="the guard to clean up")
