"""pgvector, where the server has it: the extension, and the index of agent events by their vectors.

Not a migration: a server can get the extension later, and nothing else in the schema depends on it. So every
`callboard migrate` looks for it, and a failure stops nothing: agent events are then searched by their words."""

import psycopg
from psycopg import sql

from state.database.connection import Connection
from state.database.statements import statement
from state.logs import log

INDEX = "agent_events_embedding"
PATIENCE = 60.0  # seconds that the index waits for older transactions; nobody waits for it meanwhile


def enable_vectors(connection: Connection) -> None:
    """Creates the extension and the index, if they can be had. An index that an interrupted run has left is made
    again."""
    try:
        connection.execute(statement("schema_vector_extension"), prepare=False)
        missing = connection.execute(statement("schema_vector_index"), prepare=False).fetchone()
        if missing is not None:
            connection.execute(statement("schema_lock_timeout"), {"value": f"{PATIENCE}s"})
            drop = sql.SQL(statement("schema_drop_index")).format(name=sql.Identifier(INDEX))
            connection.execute(drop, prepare=False)
            connection.execute(missing["text"].encode(), prepare=False)
    except psycopg.Error as failed:
        log.warning("agent events have no index by their vectors", error=str(failed).strip())


def script() -> str:
    """Returns the same for psql."""
    extension, index = statement("schema_vector_extension"), statement("schema_vector_index")
    return f"-- pgvector, where the server has it\n{extension};\n{index}\n\\gexec"
