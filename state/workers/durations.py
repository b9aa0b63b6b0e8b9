"""How long the tasks of each actor take, as all workers measure it together."""

from state.database import fetch, retrying


@retrying
def record_durations(averages: dict[str, float]) -> None:
    """Adds the average seconds that a worker has measured for each actor since its last call."""
    if averages:
        fetch("record_durations", {"actors": list(averages), "seconds": list(averages.values())})
