"""The units of systemd: what their files say."""

import re
import shlex
from collections import defaultdict
from pathlib import Path

from tests.deploy.files import DEPLOY, read_environment

FOLDER = DEPLOY / "systemd"
UNITS = {path.name: path for path in sorted(FOLDER.glob("*.service"))}


class Unit:
    def __init__(self, name: str, instance: str = "") -> None:
        self.values: dict[str, list[str]] = defaultdict(list)
        for line in UNITS[name].read_text().splitlines():
            if re.match(r"\w+=", line):
                key, value = line.split("=", 1)
                self.values[key].append(value.replace("%i", instance))

    def get(self, key: str) -> str:
        [value] = self.values[key]
        return value

    def read_environment(self) -> dict[str, str]:
        """Returns the variables of the unit and of its files, as systemd reads them: without those in comments."""
        found: dict[str, str] = {}
        for assignments in self.values["Environment"]:
            found |= dict(pair.split("=", 1) for pair in shlex.split(assignments))
        for name in self.values["EnvironmentFile"]:
            if not name.startswith("-"):
                path = FOLDER / Path(name).name
                text = [line for line in path.read_text().splitlines() if not line.startswith("#")]
                found |= {key: value for key, value in read_environment(path).items() if f"{key}={value}" in text}
        return found

    def build_command(self, environment: dict[str, str]) -> list[str]:
        words = self.get("ExecStart").split()
        return [re.sub(r"\$\{(\w+)\}", lambda found: environment[found[1]], word) for word in words]
