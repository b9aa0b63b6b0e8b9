"""Postgres servers that hosts reach over TCP, with replicas: the wheel's programs, on data folders of their own."""

import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import psycopg

from state.database.embedded.account import allow_access, choose_account, find_binaries
from tests.support.eventually import eventually
from tests.support.ports import find_free_port

_SETTINGS = """
max_connections = 150
fsync = off
unix_socket_directories = '{folder}'
log_line_prefix = '%m [%p] %b '
"""
_RULES = "local all,replication all trust\nhost all,replication all all trust\n"


class Server:
    """`through`: a command that starts the server's own, such as one that enters a network. The folder is not pytest's:
    Postgres does not run as root, and those are closed to others."""

    def __init__(
        self, folder: Path, address: str = "127.0.0.1", port: int | None = None, through: Sequence[str] = ()
    ) -> None:
        self.address, self.port = address, port or find_free_port()
        self._folder, self._data = folder, folder / "data"
        self._through = through
        self._account, self._binaries = choose_account(folder), find_binaries()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Through its socket in a folder, which all networks of this machine reach."""
        return f"postgresql://postgres@/postgres?host={self._folder}&port={self.port}"

    @property
    def log(self) -> str:
        return (self._folder / "log").read_text()

    def initialize(self) -> None:
        self._prepare()
        self._run("initdb", "-D", str(self._data), "-A", "trust", "-U", "postgres", "-E", "UTF8", "--no-sync")
        (self._data / "pg_hba.conf").write_text(_RULES)
        with (self._data / "postgresql.conf").open("a") as settings:
            settings.write(_SETTINGS.format(folder=self._folder))

    def copy(self, primary: "Server") -> None:
        """Becomes a replica, which follows the primary when it is started."""
        self._prepare()
        self._run("pg_basebackup", "-D", str(self._data), "-d", primary.url, "-R", "-X", "stream", "-c", "fast", "-N")
        with (self._data / "postgresql.conf").open("a") as settings:
            settings.write(_SETTINGS.format(folder=self._folder))

    def _prepare(self) -> None:
        self._folder.mkdir(mode=0o755, exist_ok=True)
        self._account.give(self._folder)
        allow_access(self._account, self._data, self._binaries)

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(self._binaries / program), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd="/", **self._account.switch())
        assert done.returncode == 0, done.stderr

    def start(self) -> "Server":
        command = [str(self._binaries / "postgres"), "-D", str(self._data), "-p", str(self.port)]
        command += ["-c", f"listen_addresses={self.address}"]
        options: dict[str, Any] = self._account.switch()
        if self._through:  # the way in needs root's rights, which Postgres does not take
            as_account = ["setpriv", f"--reuid={self._account.uid}", f"--regid={self._account.gid}", "--clear-groups"]
            command, options = [*self._through, *as_account, "--", *command], {}
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log, cwd="/", **options)
        eventually(self._answers, what="the server answers")
        return self

    def _answers(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, self.log
        with suppress(psycopg.OperationalError):
            psycopg.connect(self.url).close()
            return True
        return False

    def execute(self, text: str) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.url, autocommit=True) as connection:
            done = connection.execute(text)
            return done.fetchall() if done.description else []

    def wait_for(self, condition: str) -> None:
        eventually(lambda: self.execute(condition) == [(True,)], what=condition)

    def stop_sending(self) -> None:
        """From now on nothing reaches a replica, not even what is in buffers of the network."""
        for (pid,) in self.execute("SELECT pid FROM pg_stat_replication"):
            psutil.Process(pid).suspend()

    def promote(self) -> None:
        self.wait_for("SELECT pg_promote()")

    def kill(self) -> None:
        """Everything at once, as when the power goes."""
        if self._process is not None:
            with suppress(psutil.NoSuchProcess):
                postmaster = psutil.Process(self._process.pid)
                everybody = [postmaster, *postmaster.children(recursive=True)]
                for each in everybody:
                    with suppress(psutil.NoSuchProcess):
                        each.suspend()  # the others would see that one is gone
                for each in everybody:
                    with suppress(psutil.NoSuchProcess):
                        each.kill()
            self._process.wait(30)
            self._process = None
