"""What is in deploy/, and what tests read of it."""

import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"


@cache
def list_queues() -> list[str]:
    """Returns the queues of Callboard's own actors. Other tests declare further ones in this process."""
    program = "from state.tasks import catalog; catalog.load_actors(); print(*catalog.list_queues())"
    environment = {**os.environ, "CALLBOARD_ACTORS": "actors"}
    return subprocess.check_output([sys.executable, "-c", program], cwd=ROOT, env=environment, text=True).split()


def read_documents(path: Path) -> list[dict[str, Any]]:
    return [document for document in yaml.safe_load_all(path.read_text()) if document]


def read_environment(path: Path) -> dict[str, str]:
    """Returns the variables of a file of environment variables, those that are commented out included."""
    lines = [line.lstrip("#").strip() for line in path.read_text().splitlines()]
    pairs = [line.split("=", 1) for line in lines if "=" in line and " " not in line.split("=", 1)[0]]
    return {name: value for name, value in pairs if name.isupper()}
