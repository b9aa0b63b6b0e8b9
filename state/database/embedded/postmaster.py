"""The running server, as its data folder describes it."""

import socket
import stat
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import psutil

from state.database.embedded.access import passwords_of

_DATABASE = "postgres"
_CONNECT_SECONDS = 5.0


@dataclass(frozen=True)
class Postmaster:
    data: Path
    pid: int
    port: str
    socket_folder: Path
    is_ready: bool

    @classmethod
    def read(cls, data: Path) -> "Postmaster | None":
        """Returns None if there is no file or it is empty. While a server starts, the last lines are missing."""
        try:
            lines = [line.strip() for line in (data / "postmaster.pid").read_text().splitlines()]
            pid, _, _, port, folder, _, _, status, *_ = [*lines, *[""] * 8]
            return cls(data, int(pid), port, Path(folder), status == "ready")
        except (FileNotFoundError, ValueError):
            return None

    def url(self, role: str, database: str = _DATABASE) -> str:
        """The address for a role. libpq reads the role's password from the file that it names."""
        host, passwords = (quote(str(path), safe="/") for path in (self.socket_folder, passwords_of(self.data).path))
        return f"postgresql://{role}@/{database}?host={host}&port={self.port}&passfile={passwords}"

    @property
    def _socket(self) -> Path:
        return self.socket_folder / f".s.PGSQL.{self.port}"

    @property
    def has_socket(self) -> bool:
        try:
            return stat.S_ISSOCK(self._socket.lstat().st_mode)
        except OSError:
            return False

    def answers(self) -> bool:
        """Returns whether a process listens, in any pid namespace."""
        with socket.socket(socket.AF_UNIX) as attempt:
            attempt.settimeout(_CONNECT_SECONDS)
            try:
                attempt.connect(str(self._socket))
            except TimeoutError:
                return True  # too busy to accept the connection
            except OSError:
                return False
            return True

    def process(self) -> psutil.Process | None:
        """Returns None if the pid belongs to no process, a zombie, another program, or another pid namespace."""
        try:
            process = psutil.Process(self.pid)
            if process.name() != "postgres" or process.status() == psutil.STATUS_ZOMBIE:
                return None
            return process if self._works_here(process) else None
        except (psutil.NoSuchProcess, psutil.ZombieProcess, ValueError):
            return None

    def _works_here(self, process: psutil.Process) -> bool:
        """Compares the working folder, which stays right if the project is moved."""
        try:
            return self.data.samefile(process.cwd())
        except psutil.AccessDenied:
            return str(self.data) in process.cmdline()
        except OSError:
            return False
