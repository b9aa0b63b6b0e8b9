"""The rows of sandboxes. One is written before the command starts, and ended when all its processes are gone."""

from collections.abc import Sequence
from dataclasses import dataclass

from state.database import Row, fetch, fetch_one, retrying
from state.errors import LeaseLost
from state.workers.identity import Place

Process = tuple[int, int | None]  # pid and start ticks

_ANSWER_SECONDS = 2.0  # to wait for a connection at the end of a sandbox: the end of its task waits for it


@dataclass(frozen=True, slots=True)
class OpenSandbox:
    """A sandbox of this machine that has not ended."""

    id: str
    task_id: str
    kind: str
    pid: int  # of the supervisor
    start_ticks: int | None
    workspace: str
    container: str | None
    control_groups: list[str]
    survivors: list[int]
    survivor_ticks: list[int]
    worker_id: str
    worker_pid: int | None
    worker_ticks: int | None
    rebooted: bool  # since it was opened


@retrying
def open_sandbox(
    sandbox_id: str,
    *,
    task_id: str,
    epoch: int,
    worker: str,
    kind: str,
    pid: int,
    start_ticks: int | None,
    workspace: str,
    container: str | None,
    groups: Sequence[str],
) -> None:
    """Enters a sandbox of this machine. Raises LeaseLost if the worker no longer owns the task: the command must not
    start then."""
    row = fetch_one(
        "sandbox_open",
        {
            **Place.of_this_process()._asdict(),
            "id": sandbox_id,
            "task_id": task_id,
            "epoch": epoch,
            "worker": worker,
            "kind": kind,
            "pid": pid,
            "start_ticks": start_ticks,
            "workspace": workspace,
            "container": container,
            "control_groups": list(groups),
        },
    )
    if row is None:
        raise LeaseLost(task_id, epoch)


@retrying
def close_sandbox(sandbox_id: str, killed: int, survivors: Sequence[Process] = ()) -> None:
    """Ends a sandbox. With survivors it stays unended, until somebody sees that they are gone."""
    fetch(
        "sandbox_close",
        {
            "id": sandbox_id,
            "killed": killed,
            "survivors": [pid for pid, _ in survivors],
            "survivor_ticks": [ticks or 0 for _, ticks in survivors],
        },
        timeout=_ANSWER_SECONDS,
    )


@retrying
def list_unended(task_id: str) -> list[Row]:
    """Returns rows {id, task_id, kind, host, pids}: pids are those that could not be killed, or the supervisor's."""
    return fetch("sandboxes_unended", {"task_id": task_id})


@retrying
def list_on_this_host() -> list[OpenSandbox]:
    """Returns the sandboxes that have not ended, of all workers of this machine."""
    return [OpenSandbox(**row) for row in fetch("sandboxes_of_host", Place.of_this_process()._asdict())]
