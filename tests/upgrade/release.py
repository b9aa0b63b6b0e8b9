"""The code of a release, and its processes."""

import os
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx2

from tests.support.eventually import eventually

PREVIOUS = "e970f09"  # the last release that has landed: its processes run while the database is migrated

ROOT = Path(__file__).parents[2]
CALLBOARD = ["-c", "from deploy.cli import main; main()"]
MODULES = Path(__file__).parent / "modules"  # imported by processes of both releases


class Release:
    """Processes started here run the code in `tree`, not what is installed in the environment."""

    def __init__(self, tree: Path, **settings: object) -> None:
        self.tree = tree
        self.environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(map(str, (tree, tree / "http", MODULES))),
            "CALLBOARD_ACTORS": "actors,journal_actors",
            **{name: str(value) for name, value in settings.items()},
        }

    def command(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Runs `callboard` of this release."""
        return self.run(*CALLBOARD, *arguments)

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Runs Python."""
        program = [sys.executable, *arguments]
        return subprocess.run(program, cwd=self.tree, env=self.environment, capture_output=True, text=True, timeout=120)

    def start(self, log: Path, *arguments: str, **options: Any) -> "Running":
        return Running(self, log, [sys.executable, *arguments], **options)

    def start_command(self, log: Path, *arguments: str) -> "Running":
        return self.start(log, *CALLBOARD, *arguments)

    def start_workers(self, log: Path, threads: int = 4) -> "Running":
        return self.start(log, "-m", "dramatiq", "actors", "-p", "1", "-t", str(threads))

    def start_server(self, log: Path) -> "Server":
        return Server(self, log)


class Running:
    def __init__(self, release: Release, log: Path, command: list[str], **options: Any) -> None:
        self.log = log
        with log.open("w") as out:
            self.process = subprocess.Popen(
                command,
                cwd=release.tree,
                env=release.environment,
                stdout=options.get("stdout", out),
                stdin=options.get("stdin", subprocess.DEVNULL),
                stderr=out,
                text=True,
                start_new_session=True,
            )

    def wait_said(self, text: str) -> None:
        def said() -> bool:
            assert self.process.poll() is None, self.log.read_text()
            return text in self.log.read_text()

        eventually(said, 60, what=f"{text}, see {self.log}")

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(10)
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()


class Server(Running):
    def __init__(self, release: Release, log: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        arguments = ["--app-dir", "http", "--factory", "taskapi:create_app", "--host", "127.0.0.1", "--port", str(port)]
        super().__init__(release, log, [sys.executable, "-m", "uvicorn", *arguments])
        self.url = f"http://127.0.0.1:{port}"

    def wait_ready(self) -> "Server":
        def ready() -> bool:
            assert self.process.poll() is None, self.log.read_text()
            with suppress(httpx2.TransportError):
                return httpx2.get(f"{self.url}/readyz", timeout=10, trust_env=False).status_code == 200
            return False

        eventually(ready, 60, what=f"ready, see {self.log}")
        return self


def unpack(commit: str, folder: Path) -> Path:
    """Unpacks the tree of a commit from this repository's own history."""
    packed = subprocess.run(["git", "archive", commit], cwd=ROOT, capture_output=True)
    assert packed.returncode == 0, f"a clone with its history is needed: {packed.stderr.decode()}"
    subprocess.run(["tar", "-x", "-C", str(folder)], input=packed.stdout, check=True)
    return folder
