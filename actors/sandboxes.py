"""The sandboxes of this machine, as the settings want them."""

from collections.abc import Sequence
from pathlib import Path

from providers.sandbox.folder import Folder, remove_left_folders
from providers.sandbox.kinds import choose_box
from providers.sandbox.leftovers import Remains, kill_leftovers
from providers.sandbox.limits import Limits
from providers.sandbox.processes import Process
from providers.sandbox.sandbox import Sandbox
from providers.sandbox.supervisor import KILL_SECONDS
from state.disk import make_private
from state.sandboxes import OpenSandbox
from state.settings import get_settings


class LocalSandboxes:
    """A provider of sandboxes for the broker."""

    def start(self, command: Sequence[str], *, name: str, seconds: float, folder: str | None, **limits: int) -> Sandbox:
        settings = get_settings()
        box = choose_box(settings.sandbox, settings.sandbox_image, settings.sandbox_folders)
        return Sandbox(
            command, Limits(seconds=seconds, **limits), _make_workspaces(), box=box, folder=folder, name=name
        )

    def open_folder(self) -> Folder:
        return Folder(_make_workspaces(), Limits().disk)

    def kill_leftovers(self, sandbox: OpenSandbox) -> tuple[int, list[Process]]:
        survivors = zip(sandbox.survivors, sandbox.survivor_ticks, strict=True)
        remains = Remains(
            supervisor=Process(sandbox.pid, sandbox.start_ticks),
            workspace=sandbox.workspace,
            kind=sandbox.kind,
            container=sandbox.container,
            groups=sandbox.control_groups,
            survivors=[Process(pid, ticks or None) for pid, ticks in survivors],
        )
        return kill_leftovers(remains, KILL_SECONDS)

    def remove_left_folders(self) -> None:
        remove_left_folders(_workspaces())


def _workspaces() -> Path:
    return get_settings().data_dir / "workspaces"


def _make_workspaces() -> Path:
    folder = _workspaces()
    make_private(folder)
    return folder
