"""A Postgres of its own, set up as an administrator does it: logins by deploy/postgres/roles.sql, with passwords."""

import os
import shlex
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from state.database.embedded.account import allow_access, choose_account, find_binaries
from tests.deploy.files import DEPLOY
from tests.support.memory import find_memory_folder

ROLES = ("callboard_owner", "callboard_api", "callboard_worker", "callboard_reader")
PASSWORDS = {f"{role.upper()}_PASSWORD": f"{role}-of-the-tests" for role in ROLES}
_RULES = "local all,replication postgres trust\nlocal all all scram-sha-256\n"


class OwnPostgres:
    """A server on a data folder, in a folder of its own that holds its socket as well."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.data = folder / "data"
        self._account = choose_account(folder)

    def initialize(self, *settings: str) -> None:
        """Makes an empty database."""
        allow_access(self._account, self.data, find_binaries())
        self.run("initdb", "--pgdata", str(self.data), "--username=postgres", "--encoding=utf8", "--no-sync")
        with (self.data / "postgresql.conf").open("a") as config:
            config.write("\n".join(["", "fsync = off", "listen_addresses = ''", *settings, ""]))
        (self.data / "pg_hba.conf").write_text(_RULES)

    def start(self) -> None:
        sockets = shlex.quote(str(self.folder))
        options = f"-k {sockets}"
        self.run("pg_ctl", "start", "-w", "-D", str(self.data), "-l", str(self.folder / "log"), "-o", options)

    def stop(self, mode: str = "fast") -> None:
        self.run("pg_ctl", "stop", "-w", "-D", str(self.data), "-m", mode)

    def url(self, role: str, host: str = "", database: str = "callboard") -> str:
        password = f":{PASSWORDS[f'{role.upper()}_PASSWORD']}" if role in ROLES else ""
        return f"postgresql://{role}{password}@/{database}?host={host or self.folder}"

    def run(self, program: str, *arguments: str, database: str = "callboard") -> str:
        """Runs a program of Postgres as its administrator."""
        names = {"PGHOST": str(self.folder), "PGUSER": "postgres", "PGDATABASE": database}
        done = subprocess.run(
            [str(find_binaries() / program), *arguments],
            cwd="/",
            env={**os.environ, **PASSWORDS, **names},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            **self._account.switch(),
        )
        output: str = done.stdout
        assert done.returncode == 0, output
        return output

    def make_roles(self) -> None:
        """As an administrator does it. The script comes through a file that the account can read."""
        script = self.folder / "roles.sql"
        script.write_text((DEPLOY / "postgres" / "roles.sql").read_text())
        script.chmod(0o644)
        self.run("psql", "--no-psqlrc", "--quiet", "--file", str(script), database="postgres")


@contextmanager
def open_servers() -> Iterator["Servers"]:
    """Servers that end, and whose folders are removed, with the block."""
    with TemporaryDirectory(prefix="callboard-deploy-", dir=find_memory_folder()) as name:
        servers = Servers(Path(name))
        Path(name).chmod(0o711)
        try:
            yield servers
        finally:
            for each in servers.made:
                if (each.data / "postmaster.pid").exists():
                    with suppress(AssertionError):  # it is just ending
                        each.stop("immediate")


class Servers:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.made: list[OwnPostgres] = []

    def make(self, name: str) -> OwnPostgres:
        folder = self._folder / name
        folder.mkdir(mode=0o711)
        choose_account(folder).give(folder)
        self.made.append(OwnPostgres(folder))
        return self.made[-1]
