"""Runs the `callboard` command as users do: as a process of its own."""

import atexit
import json
import os
import socket
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from tests.support.workers import TEST_ACTORS

CALLBOARD = str(Path(sys.executable).with_name("callboard"))


def environment(**changes: object) -> dict[str, str]:
    """Returns the environment of a command with these variables changed; None removes a variable."""
    kept = {**os.environ, "CALLBOARD_ACTORS": TEST_ACTORS}
    kept.update({name: str(value) for name, value in changes.items()})
    return {name: value for name, value in kept.items() if changes.get(name, "") is not None}


class _Zygote:
    """Starts commands without their imports, which take longer than they do. See `tests/cli/zygote.py`."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        ours.settimeout(60)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.cli.zygote", str(theirs.fileno())], pass_fds=[theirs.fileno()]
            )
        self._lines = ours.makefile("rwb")
        self._socket = ours
        atexit.register(self.stop)

    def run(self, command: dict[str, Any]) -> int:
        self._lines.write(json.dumps(command).encode() + b"\n")
        self._lines.flush()
        return int(self._lines.readline())

    def stop(self) -> None:
        self._lines.close()
        self._socket.close()
        self._process.kill()
        self._process.wait()


@cache
def _get_zygote() -> _Zygote:
    return _Zygote()


def callboard(*arguments: str, stdin: str = "", **changes: object) -> subprocess.CompletedProcess[str]:
    with tempfile.TemporaryDirectory() as folder:
        files = {name: Path(folder) / name for name in ("stdin", "stdout", "stderr")}
        for name, file in files.items():
            file.write_text(stdin if name == "stdin" else "")
        command = {"arguments": arguments, "environment": environment(**changes)}
        code = _get_zygote().run({**command, **{name: str(file) for name, file in files.items()}})
        return subprocess.CompletedProcess(arguments, code, files["stdout"].read_text(), files["stderr"].read_text())


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
