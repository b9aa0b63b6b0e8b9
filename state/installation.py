"""What can be said of the Postgres that this process reaches, whether or not it has our schema."""

from dataclasses import dataclass
from datetime import datetime

from state.database import connect
from state.database.statements import statement


@dataclass(frozen=True, slots=True)
class Installation:
    version: int  # server_version_num
    now: datetime  # of the server's own clock
    role: str
    superuser: bool
    standby: bool
    pooled: bool  # there is a pooler, such as PgBouncer, in between
    roles: list[str]  # those of the least-privilege roles that exist


def read_installation(*, direct: bool = False) -> Installation:
    """`direct`: through CALLBOARD_DIRECT_URL, as LISTEN and migrations do."""
    with connect("doctor", direct=direct) as connection:
        row = connection.execute(statement("installation"), prepare=False).fetchone()  # there may be a pooler
        assert row is not None  # noqa: S101  (always one row)
        # A pooler answers the login itself, with a process id of its own.
        pooled = row.pop("backend") != connection.info.backend_pid
        return Installation(pooled=pooled, **row)
