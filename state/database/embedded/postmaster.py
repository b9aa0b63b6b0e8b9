"""The running server, by what it writes about itself into its data folder."""

import socket
import stat
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import psutil

_SUPERUSER = "postgres"
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
        """None when there is no file, or nothing in it. While a server starts it lacks its last lines."""
        try:
            lines = [line.strip() for line in (data / "postmaster.pid").read_text().splitlines()]
            pid, _, _, port, folder, _, _, status, *_ = [*lines, *[""] * 8]
            return cls(data, int(pid), port, Path(folder), status == "ready")
        except (FileNotFoundError, ValueError):
            return None

    def url(self, database: str = _SUPERUSER) -> str:
        return f"postgresql://{_SUPERUSER}@/{database}?host={quote(str(self.socket_folder), safe='/')}&port={self.port}"

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
        """True when a process listens, in whatever pid namespace."""
        with socket.socket(socket.AF_UNIX) as attempt:
            attempt.settimeout(_CONNECT_SECONDS)
            try:
                attempt.connect(str(self._socket))
            except TimeoutError:
                return True  # too busy to take us
            except OSError:
                return False
            return True

    def process(self) -> psutil.Process | None:
        """None when the pid belongs to nobody, to a zombie, to another program, or to another pid namespace."""
        try:
            process = psutil.Process(self.pid)
            if process.name() != "postgres" or process.status() == psutil.STATUS_ZOMBIE:
                return None
            return process if self._works_here(process) else None
        except (psutil.NoSuchProcess, psutil.ZombieProcess, ValueError):
            return None

    def _works_here(self, process: psutil.Process) -> bool:
        """By its working folder, which follows when the project is moved."""
        try:
            return self.data.samefile(process.cwd())
        except psutil.AccessDenied:
            return str(self.data) in process.cmdline()
        except OSError:
            return False
