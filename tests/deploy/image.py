"""The Dockerfile: what its stages say, and its build without an engine."""

import json
import re
import shutil
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

from tests.deploy.files import DEPLOY, ROOT
from tests.deploy.packages import copy_packages, find_needed
from tests.deploy.stage import Stage, end

DOCKERFILE = DEPLOY / "docker" / "Dockerfile"


@dataclass(frozen=True)
class Instruction:
    name: str
    value: str

    @property
    def words(self) -> list[str]:
        """Of the exec form."""
        found: list[str] = json.loads(self.value[self.value.index("[") :])
        return found


def read_stages() -> list[list[Instruction]]:
    """Returns the instructions of each stage, FROM first."""
    text = re.sub(r"(?m)^#.*\n", "", DOCKERFILE.read_text())
    lines = re.sub(r"\\\n", " ", text).splitlines()
    stages: list[list[Instruction]] = []
    for line in filter(None, map(str.strip, lines)):
        name, value = line.split(None, 1)
        if name == "FROM":
            stages.append([])
        stages[-1].append(Instruction(name, value.strip()))
    return stages


def read_environment_of(stage: list[Instruction]) -> dict[str, str]:
    return dict(pair.split("=", 1) for each in stage if each.name == "ENV" for pair in each.value.split())


def find_last(stage: list[Instruction], name: str) -> Instruction:
    return [each for each in stage if each.name == name][-1]


def list_context() -> list[str]:
    """Returns the files that .dockerignore lets into the build: those of the folders that it names."""
    rules = [line for line in (ROOT / ".dockerignore").read_text().splitlines() if line and not line.startswith("#")]
    assert (rules[0], rules[-1]) == ("*", "**/__pycache__")
    kept = [rule.removeprefix("!") for rule in rules[1:-1]]
    assert all(rule.startswith("!") for rule in rules[1:-1])
    assert [name for name in kept if not (ROOT / name).exists()] == []
    tracked = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return [
        path
        for path in tracked.stdout.splitlines()
        if any(path == name or path.startswith(f"{name}/") for name in kept) and (ROOT / path).exists()
    ]


def build_image(folder: Path) -> Path:
    """Runs the first stage with its own paths. Returns what it leaves at /opt/callboard. pip finds everything that the
    requirements name installed already, and would fail if something were missing."""
    source, venv, root = folder / "src", folder / "venv", folder / "root"
    for each in (venv, root):
        each.mkdir()
    folder.chmod(0o755)
    for path in list_context():
        (source / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / path, source / path)
    first = read_stages()[0]
    [run] = [each.value for each in first if each.name == "RUN"]
    workdir = find_last(first, "WORKDIR").value
    stage = Stage(venv, folder, root, source, workdir)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    extras = [need for name in ("s3", "otel") for need in project["project"]["optional-dependencies"][name]]
    needed = find_needed([*project["project"]["dependencies"], *extras])
    site = venv / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
    copy_packages(needed.values(), site, venv / "bin")
    copy_packages(find_needed(project["build-system"]["requires"]).values(), source / ".tools")
    offline = {"PIP_NO_INDEX": "1", "PIP_NO_BUILD_ISOLATION": "0", "PYTHONPATH": f"{workdir}/.tools"}  # 0: without
    environment = {**read_environment_of(first), **offline}
    log = folder / "build.log"
    process = stage.start(["sh", "-c", f"cd {workdir} && {run}"], log, uid=0, environment=environment, venv_mode="rw")
    try:
        assert process.wait(500) == 0, log.read_text()
    finally:
        end(process)
    return venv
