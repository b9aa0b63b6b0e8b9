"""A PostgreSQL of the distribution (Debian, Ubuntu: apt install postgresql): an older release than the wheel's, and
without pgvector."""

import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

from state.database.embedded.account import choose_account
from tests.support.eventually import eventually


def find_binaries() -> Path | None:
    """Returns the folder of the programs of the oldest release that is installed, if there is one without pgvector."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parents[1].name))
    bare = [path.parent for path in found if not _has_vector(int(path.parents[1].name))]
    return bare[0] if bare else None


def _has_vector(release: int) -> bool:
    return Path(f"/usr/share/postgresql/{release}/extension/vector.control").exists()


@contextmanager
def start_debian_postgres(binaries: Path) -> Iterator[str]:
    """Yields the URL of an empty database."""
    with tempfile.TemporaryDirectory(prefix="callboard-debian-", ignore_cleanup_errors=True) as folder:
        account = choose_account(Path(folder))
        account.give(Path(folder))
        data = Path(folder) / "data"
        command = [str(binaries / "initdb"), "-D", str(data), "-A", "trust", "-U", "postgres", "-E", "UTF8"]
        subprocess.run([*command, "--no-sync"], check=True, capture_output=True, cwd=folder, **account.switch())
        server = subprocess.Popen(
            [str(binaries / "postgres"), "-D", str(data), "-k", folder, "-c", "listen_addresses=", "-F"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=folder,
            **account.switch(),
        )
        url = f"postgresql://postgres@/postgres?host={folder}"
        try:
            eventually(lambda: _answers(url), what="the server answers")
            yield url
        finally:
            server.terminate()
            server.wait(30)


def _answers(url: str) -> bool:
    try:
        psycopg.connect(url).close()
    except psycopg.OperationalError:
        return False
    return True
