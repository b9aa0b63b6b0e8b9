"""A small disk in memory, which can be filled to its last byte. Only root may mount one."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_STEP = 1 << 20


class Disk:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._ballast = folder / "ballast"

    def fill(self) -> None:
        with self._ballast.open("ab", buffering=0) as ballast:
            for step in (_STEP, 4096):
                with suppress(OSError):
                    while ballast.write(bytes(step)):
                        pass

    def free(self) -> None:
        self._ballast.unlink(missing_ok=True)


@contextmanager
def mount_disk(folder: Path, megabytes: int) -> Iterator[Disk | None]:
    """Yields None where that is not permitted."""
    command = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=0755", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(command, capture_output=True, check=False).returncode != 0:
        yield None
        return
    try:
        yield Disk(folder)
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)
