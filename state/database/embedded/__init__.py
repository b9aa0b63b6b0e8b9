"""A real PostgreSQL in a wheel: the default when no database is configured.

Two locks beside its data folder show which processes live, in any container or pid namespace: the kernel drops them
when a process dies, however it dies.
- `postgres.users` is held shared by every process that uses the server. The last process that releases it knows that
  it is the last, and stops the server.
- `postgres.lock` is held exclusively by the postmaster and its children for their whole life: they inherit it from the
  process that starts them. Lock files of Postgres are removed only while holding it. So there are never two postmasters
  on one folder, and a pid in those files that now belongs to a zombie or to another program does not prevent a start.
"""

from state.database.embedded.server import PostgresServer
from state.database.embedded.users import EmbeddedPostgres

__all__ = ["EmbeddedPostgres", "PostgresServer"]
