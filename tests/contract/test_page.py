"""The page to read the API, in a real browser: it shows the operations under its own strict policy."""

import subprocess
from pathlib import Path

import pytest

from tests.guard.chromium import CHROMIUM
from tests.taskapi.running import RunningServer

OPTIONS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--no-proxy-server",
]


@pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium (Debian, Ubuntu: apt install chromium)")
def test_a_browser_shows_the_operations(server: RunningServer, tmp_path: Path) -> None:
    command = [str(CHROMIUM), *OPTIONS, f"--user-data-dir={tmp_path}", "--enable-logging=stderr", "--dump-dom"]
    shown = subprocess.run(
        [*command, "--virtual-time-budget=20000", f"{server.url}/docs#/tasks"],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert "Unable to render this definition" not in shown.stdout
    assert 'id="operations-tag-tasks"' in shown.stdout
    assert 'id="operations-tag-workflows"' in shown.stdout
    assert "Content Security Policy" not in shown.stderr
