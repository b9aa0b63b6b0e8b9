"""How long tasks have waited for their start."""

from collections.abc import Sequence

from state.database import AnyConnection, Parameters, Row, fetch


def read_waits(connection: AnyConnection, keys: Sequence[tuple[str, int]]) -> list[Row]:
    """Returns actor, queue and seconds of the given executions (task id, epoch). Those that have been followed by
    another one, or wait for a retry, are left out."""
    parameters: Parameters = {"ids": [task_id for task_id, _ in keys], "epochs": [epoch for _, epoch in keys]}
    return fetch("waits", parameters, connection)
