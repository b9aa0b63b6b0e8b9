"""Runs the `callboard` command as users do: as a process of its own."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.support.workers import TEST_ACTORS

CALLBOARD = str(Path(sys.executable).with_name("callboard"))


def environment(**changes: object) -> dict[str, str]:
    """Returns the environment of a command with these variables changed; None removes a variable."""
    kept = {**os.environ, "CALLBOARD_ACTORS": TEST_ACTORS}
    kept.update({name: str(value) for name, value in changes.items()})
    return {name: value for name, value in kept.items() if changes.get(name, "") is not None}


def callboard(*arguments: str, stdin: str = "", **changes: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [CALLBOARD, *arguments],
        input=stdin,
        env=environment(**changes),
        capture_output=True,
        text=True,
        timeout=60,
    )


def succeed(*arguments: str, **options: Any) -> str:
    done = callboard(*arguments, **options)
    assert done.returncode == 0, done
    return done.stdout


def answer(*arguments: str, **options: Any) -> Any:
    """Returns the one JSON document that the command prints with --json."""
    return json.loads(succeed(*arguments, "--json", **options))


def submit(*arguments: str) -> str:
    """Returns the id of the new task."""
    return succeed("submit", *arguments).strip()


def refusal(exit_code: int, *arguments: str, **options: Any) -> str:
    """Returns the one-line message of a command that fails."""
    done = callboard(*arguments, **options)
    assert done.returncode == exit_code, done
    assert done.stdout == ""
    assert done.stderr.startswith("callboard: "), done.stderr
    assert done.stderr.count("\n") == 1, done.stderr
    return done.stderr
