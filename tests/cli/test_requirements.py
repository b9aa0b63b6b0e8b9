"""The requirements of a clean machine are pinned, and name no package index."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]


def normalize(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def test_all_dependencies_are_pinned_without_an_index() -> None:
    lines = [line for line in (ROOT / "requirements.txt").read_text().splitlines() if not line.startswith("#")]
    pinned = re.compile(
        r"[A-Za-z0-9._-]+==[A-Za-z0-9.]+(; [a-z_]+ [!=]= '[a-z0-9]+'( (or|and) [a-z_]+ [!=]= '[a-z0-9]+')*)?"
    )
    assert [line for line in lines if not pinned.fullmatch(line)] == []
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    needed = [
        *project["project"]["dependencies"],
        *project["project"]["optional-dependencies"]["dev"],
        *project["build-system"]["requires"],
    ]
    names = {normalize(re.split(r"[^A-Za-z0-9._-]", need)[0]) for need in needed}
    assert names <= {normalize(line.split("==")[0]) for line in lines}
