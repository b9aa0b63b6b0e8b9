"""The memory that processes use together."""

from contextlib import suppress
from resource import getpagesize


def measure_memory(pids: list[int], enough: int) -> int:
    """Returns the resident bytes of these processes. The cheap sum counts shared pages for each of them; only if it is
    above `enough` each page is counted once."""
    total = sum(_read_resident(pid) for pid in pids)
    return total if total <= enough else sum(_read_proportional(pid) for pid in pids)


def _read_resident(pid: int) -> int:
    with suppress(OSError), open(f"/proc/{pid}/statm") as file:  # noqa: PTH123
        return int(file.read().split()[1]) * getpagesize()
    return 0


def _read_proportional(pid: int) -> int:
    with suppress(OSError), open(f"/proc/{pid}/smaps_rollup") as file:  # noqa: PTH123
        for line in file:
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    return _read_resident(pid)  # it cannot be read, or has just ended
