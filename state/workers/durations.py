"""How long the tasks of each actor take, as all workers see it together."""

from state.database.pool import connection, retrying
from state.database.statements import statement


@retrying
def note_pace(averages: dict[str, float]) -> None:
    """What one worker has measured since it last said so."""
    if averages:
        with connection() as used:
            used.execute(
                statement("pace_note"), {"actors": list(averages), "seconds": [averages[each] for each in averages]}
            )
