"""One Postgres server on one data folder. Its processes hold the folder's lock for their whole life."""

import signal
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psutil

from state.database.embedded.access import asks_for_passwords
from state.database.embedded.filelock import FileLock, wait_until
from state.database.embedded.launch import initialize, launch
from state.database.embedded.postmaster import Postmaster
from state.database.embedded.socketfolder import is_private, remove_socket_folder
from state.errors import NotReady

_START_SECONDS = 300.0  # with the recovery after a crash
_RESTART_SECONDS = 5.0  # a server that cannot be reached for this long is stopped
_UNREACHABLE_SECONDS = 30.0  # if it cannot be stopped, we give up; children of a killed server need a moment to end
_STOP_SECONDS = 30.0
_POLL = 0.02


class PostgresServer:
    def __init__(self, data: Path) -> None:
        self.data = data.resolve()
        self.log = self.data / "log"
        self._lock = self.data.with_name(f"{self.data.name}.lock")

    def initialize(self) -> None:
        """Creates the database unless there is one."""
        with FileLock(self._lock) as lock:
            if lock.try_exclusive():
                initialize(self.data, lock)

    def start(self, is_unused: Callable[[], bool]) -> Postmaster:
        """Starts the server unless it runs already. `is_unused` returns whether no other process uses it."""
        deadline = time.monotonic() + _START_SECONDS
        while time.monotonic() < deadline:
            with FileLock(self._lock) as lock:
                free = lock.try_exclusive()
                other = self._find_without_lock() if free else None
                launched = free and other is None
                if launched:
                    launch(self.data, lock, remove_lock_files=lock.is_marked or is_unused())
            running = other or self._wait_ready(launched)
            if running is None:  # it has ended meanwhile
                continue
            if not asks_for_passwords(self.data):
                self._stop_unsafe(is_unused)
            elif other is not None and other.process() and is_unused():
                self.stop()
            elif running.is_ready:
                return running
            else:
                time.sleep(_POLL)
        raise NotReady(f"The embedded Postgres is still starting (see {self.log})")

    def _stop_unsafe(self, is_unused: Callable[[], bool]) -> None:
        """A server that an earlier release has started trusts everybody who reaches it. The next start changes that."""
        if not is_unused():
            raise NotReady(
                f"The embedded Postgres in {self.data} was started by an earlier release of Callboard, whose processes "
                "still use it. Stop them first (Ctrl-C in `callboard up`)."
            )
        self.stop()

    def _find_without_lock(self) -> Postmaster | None:
        """Finds a server that an earlier release has started, which does not hold the lock. It is left alone while
        other processes use it, and if its process cannot be seen: then it is found by its socket."""
        running = Postmaster.read(self.data)
        if running is not None and (running.process() or self._is_reachable(running)):
            return running
        return None

    def _wait_ready(self, launched: bool) -> Postmaster | None:
        """Returns None if the server has ended meanwhile."""
        begun = reached = time.monotonic()
        while self._is_locked():
            running = Postmaster.read(self.data)
            now = time.monotonic()
            if running is None or not running.is_ready:
                reached = now
            elif self._is_reachable(running):
                return running
            elif now - reached > _RESTART_SECONDS and running.process():
                self.stop()
            if now - reached > _UNREACHABLE_SECONDS:
                raise NotReady(
                    f"{self.data} is in use by a Postgres that cannot be reached from here, perhaps in another "
                    "container. Stop it there first."
                )
            if now - begun > _START_SECONDS:
                raise NotReady(f"The embedded Postgres is still starting (see {self.log})")
            time.sleep(_POLL)
        if launched:
            raise NotReady(f"The embedded Postgres does not start: {self._read_reason()} (see {self.log})")
        return None

    def _is_reachable(self, running: Postmaster) -> bool:
        """Uses only a socket that no other user can have made."""
        try:
            folder = running.socket_folder
            safe = folder.samefile(self.data) or is_private(folder, self.data.stat().st_uid)
        except OSError:
            return False
        return safe and running.answers()

    def _is_locked(self) -> bool:
        with FileLock(self._lock) as lock:
            return not lock.try_shared()

    def _read_reason(self) -> str:
        try:
            lines = self.log.read_text(errors="replace").splitlines()
        except OSError:
            return "it has written no log"
        fatal = [number for number, line in enumerate(lines) if "FATAL:" in line or "PANIC:" in line]
        around = fatal[-1] if fatal else len(lines) - 1
        return " ".join(lines[max(around - 1, 0) : around + 2])  # with the reason before it, or the hint after it

    def is_running(self) -> bool:
        """Returns False also if its socket was deleted, because then it cannot be reached any more."""
        running = Postmaster.read(self.data)
        if running is not None and running.is_ready and not running.has_socket:
            return False
        return (self._lock.exists() and self._is_locked()) or (running is not None and running.process() is not None)

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """Stops the server, and returns when all its processes have ended. Does nothing if it runs in another pid
        namespace. SIGINT rolls back running transactions; SIGQUIT ends it as if it had crashed."""
        running = Postmaster.read(self.data)
        if running is None:
            return

        def has_ended() -> bool:
            return running.process() is None and not self._is_locked()

        for number in (how, signal.SIGQUIT, signal.SIGKILL):
            process = running.process()
            if process is None:
                return
            with suppress(psutil.NoSuchProcess):
                process.send_signal(number)
            if wait_until(has_ended, _STOP_SECONDS):
                break
        with suppress(OSError):
            remove_socket_folder(running.socket_folder)
