"""Puts installed packages into another environment: what pip would otherwise download, which takes minutes."""

import re
import shutil
import sysconfig
from collections.abc import Iterable
from importlib.metadata import Distribution, distribution
from pathlib import Path

from packaging.requirements import Requirement

_SCRIPTS = Path(sysconfig.get_path("scripts"))


def find_needed(requirements: Iterable[str]) -> dict[str, Distribution]:
    """Returns the distributions that these requirements need, themselves included, by their names."""
    found: dict[str, Distribution] = {}
    open_ = [Requirement(each) for each in requirements]
    done: set[tuple[str, str]] = set()
    while open_:
        requirement = open_.pop()
        for extra in {"", *requirement.extras}:
            if (requirement.name, extra) in done:
                continue
            done.add((requirement.name, extra))
            found[requirement.name] = distribution(requirement.name)
            for text in found[requirement.name].requires or ():
                needed = Requirement(text)
                if needed.marker is None or needed.marker.evaluate({"extra": extra}):
                    open_.append(needed)
    return found


def copy_packages(found: Iterable[Distribution], site: Path, scripts: Path | None = None) -> None:
    """Copies their files. `scripts`: where their programs go, which start the Python of /opt/callboard."""
    for each in found:
        for file in each.files or ():
            source = Path(str(each.locate_file(file))).resolve()
            if _SCRIPTS.resolve() in source.parents:
                if scripts is not None:
                    scripts.mkdir(parents=True, exist_ok=True)
                    program = re.sub(rb"\A#!.*", b"#!/opt/callboard/bin/python", source.read_bytes())
                    (scripts / source.name).write_bytes(program)
                    (scripts / source.name).chmod(0o755)
            elif source.is_file() and ".." not in file.parts:
                target = site / file
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(source, target)  # with its time: what is compiled stays valid
