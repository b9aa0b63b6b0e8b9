"""What a clean machine installs is pinned, and comes from wherever its pip is told to look."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def test_everything_that_is_needed_is_pinned_without_a_host():
    lines = [line for line in (ROOT / "requirements.txt").read_text().splitlines() if not line.startswith("#")]
    assert all(re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.]+", line) for line in lines)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    needed = [
        *project["project"]["dependencies"],
        *project["project"]["optional-dependencies"]["dev"],
        *project["build-system"]["requires"],
    ]
    names = {normal(re.split(r"[^A-Za-z0-9._-]", need)[0]) for need in needed}
    assert names <= {normal(line.split("==")[0]) for line in lines}
