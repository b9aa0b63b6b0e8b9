"""A real PgBouncer in transaction mode, in front of the tests' Postgres."""

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from tests.support.eventually import eventually

BINARY = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin")

_CONFIGURATION = """
[databases]
{database} = host={host} port={port} user={user}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {listen_port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 10
server_reset_query =
"""


@contextmanager
def start_pgbouncer(url: str) -> Iterator[str]:
    """Yields the URL of the same database through PgBouncer."""
    assert BINARY is not None
    server = conninfo_to_dict(url)
    port = _free_port()
    fields = {"port": 5432, **server, "database": server["dbname"], "listen_port": port}
    owner = Path(str(server["host"])).stat()  # as whom Postgres runs, and PgBouncer refuses to run as root
    # Not in pytest's own folder: that is closed to other users.
    with tempfile.TemporaryDirectory(prefix="callboard-pgbouncer-") as folder:
        configuration = Path(folder) / "pgbouncer.ini"
        configuration.write_text(_CONFIGURATION.format(**fields))
        Path(folder).chmod(0o755)
        identity: dict[str, Any] = (
            {"user": owner.st_uid, "group": owner.st_gid, "extra_groups": []} if os.geteuid() == 0 else {}
        )
        process = subprocess.Popen(
            [BINARY, "-q", str(configuration)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **identity
        )
        try:
            through = make_conninfo(host="127.0.0.1", port=port, user=server["user"], dbname=server["dbname"])
            eventually(lambda: _answers(through), timeout=10, what="PgBouncer answers")
            yield f"postgresql://{server['user']}@127.0.0.1:{port}/{server['dbname']}"
        finally:
            process.terminate()  # at once: PgBouncer waits for its clients only on SIGINT
            process.wait(10)


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def _answers(conninfo: str) -> bool:
    try:
        psycopg.connect(conninfo, connect_timeout=2).close()
    except psycopg.OperationalError:
        return False
    return True
