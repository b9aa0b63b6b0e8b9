"""The messages of `callboard up`."""

from pathlib import Path

import pytest

from deploy.cli.up.messages import Messages
from state.settings import Settings

URL = "http://127.0.0.1:8000"


def print_all(messages: Messages) -> None:
    messages.print_starting(Path("/data/postgres"))
    messages.print_migrated([])
    messages.print_ready(URL, Settings(processes=3), Path("/data/logs"), "callboard")
    messages.print_problem("workers", "warning", "attempt failed")
    messages.print_stopping()
    messages.print_stopped(postgres_runs=False)


def test_says_where_everything_is(capsys: pytest.CaptureFixture[str]) -> None:
    print_all(Messages(quiet=False))
    printed = capsys.readouterr().out
    for text in ("embedded, in /data/postgres", "3 processes", f"HTTP       {URL}/", "/data/logs", "attempt failed"):
        assert text in printed
    assert "onsole" not in printed  # there is none yet


def test_quiet_prints_only_problems(capsys: pytest.CaptureFixture[str]) -> None:
    print_all(Messages(quiet=True))
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.count("\n") == 1
    assert "workers warning: attempt failed" in printed.err
