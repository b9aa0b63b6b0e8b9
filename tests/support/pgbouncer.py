"""A real PgBouncer with the configuration of deploy/, in front of the tests' Postgres."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from configparser import ConfigParser
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg
from psycopg.conninfo import conninfo_to_dict

from tests.support.eventually import eventually
from tests.support.ports import find_free_port

BINARY = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin")

SHIPPED = Path(__file__).parents[2] / "deploy" / "pgbouncer" / "pgbouncer.ini"
_PASSWORD = "of the tests"


@contextmanager
def start_pgbouncer(url: str) -> Iterator[str]:
    """Yields the URL of the same database through PgBouncer."""
    assert BINARY is not None
    server = conninfo_to_dict(url)
    port = find_free_port()
    owner = Path(str(server["host"])).stat()  # as whom Postgres runs, and PgBouncer refuses to run as root
    # Not in pytest's own folder: that is closed to other users.
    with tempfile.TemporaryDirectory(prefix="callboard-pgbouncer-") as folder:
        users = Path(folder) / "userlist.txt"
        users.write_text(f'"{server["user"]}" "{_PASSWORD}"\n')
        configuration = Path(folder) / "pgbouncer.ini"
        with configuration.open("w") as file:
            _adapt(server, port, users).write(file)
        Path(folder).chmod(0o755)
        identity: dict[str, Any] = (
            {"user": owner.st_uid, "group": owner.st_gid, "extra_groups": []} if os.geteuid() == 0 else {}
        )
        process = subprocess.Popen(
            [BINARY, "-q", str(configuration)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **identity
        )
        try:
            through = f"postgresql://{server['user']}:{quote(_PASSWORD)}@127.0.0.1:{port}/{server['dbname']}"
            eventually(lambda: _answers(through), timeout=10, what="PgBouncer answers")
            yield through
        finally:
            process.terminate()  # at once: PgBouncer waits for its clients only on SIGINT
            process.wait(10)


def _adapt(server: Mapping[str, Any], port: int, users: Path) -> ConfigParser:
    """Returns the configuration of deploy/, for this server and a free port."""
    configuration = ConfigParser(interpolation=None)
    configuration.read_string(SHIPPED.read_text())
    [name] = configuration["databases"]
    configuration.remove_option("databases", name)
    configuration["databases"][server["dbname"]] = f"host={server['host']} port={server.get('port', 5432)}"
    configuration["pgbouncer"].update(listen_port=str(port), auth_file=str(users))
    return configuration


def _answers(url: str) -> bool:
    try:
        psycopg.connect(url, connect_timeout=2).close()
    except psycopg.OperationalError:
        return False
    return True
