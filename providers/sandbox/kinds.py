"""The kinds of sandboxes, and which one a command gets."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from providers.sandbox import bubblewrap, containers
from providers.sandbox.engines import make_environment
from providers.sandbox.errors import IsolationMissing
from providers.sandbox.limits import Limits

Kind = Literal["process", "bubblewrap", "docker", "podman"]
Setting = Literal["auto", "isolated", "process", "bubblewrap", "docker", "podman"]

_ISOLATED: tuple[Kind, ...] = ("bubblewrap", "docker", "podman")


@dataclass(frozen=True, slots=True)
class Box:
    """A kind of sandbox, with what the settings say about it."""

    kind: Kind = "process"
    image: str | None = None
    folders: tuple[str, ...] = ()  # that a command can read besides

    def make_order(self, command: Sequence[str], workspace: str, name: str, limits: Limits) -> dict[str, Any]:
        """Returns what the supervisor runs, and whether it confines that itself: an engine does it in its own way."""
        if self.kind == "process":
            return {"command": list(command), "confine": "all"}
        if self.kind == "bubblewrap":
            wrapped = bubblewrap.build_command(command, workspace, self.folders)
            return {"command": wrapped, "confine": "limits", "own_processes": bubblewrap.OWN_PROCESSES}
        wrapped = containers.build_command(self.kind, self.image or "", name, command, workspace, self.folders, limits)
        container = {"engine": self.kind, "name": name, "environment": make_environment()}
        return {"command": wrapped, "confine": "none", "container": container}

    def read_failure(self, name: str, exit_code: int, output: str) -> Exception | None:
        if self.kind == "process":
            return None
        read: Callable[[str, int, str], Exception | None] = (
            bubblewrap.read_failure if self.kind == "bubblewrap" else containers.read_failure
        )
        return read(name, exit_code, output)


def choose_box(setting: Setting, image: str | None, folders: Sequence[str]) -> Box:
    """Returns the box for the setting. Raises IsolationMissing if this machine has none that satisfies it: a command
    never runs with less than was demanded."""
    problems = []
    for kind in _list_candidates(setting):
        problem = _find_problem(kind, image)
        if problem is None:
            return Box(kind, image, tuple(folders))
        problems.append(problem)
    raise IsolationMissing(
        f"The command was not run, because CALLBOARD_SANDBOX={setting} demands isolation: {'; '.join(problems)}."
    )


def _list_candidates(setting: Setting) -> tuple[Kind, ...]:
    """The best one first."""
    if setting == "auto":
        return (*_ISOLATED, "process")
    return _ISOLATED if setting == "isolated" else (setting,)


def _find_problem(kind: Kind, image: str | None) -> str | None:
    if kind == "process":
        return None
    return bubblewrap.find_problem() if kind == "bubblewrap" else containers.find_problem(kind, image)
