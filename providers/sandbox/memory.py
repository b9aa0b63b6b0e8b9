"""The memory that processes use together."""

from contextlib import suppress
from resource import getpagesize


def measure_memory(pids: list[int], enough: int, files: int = 0) -> int:
    """Returns the resident bytes of these processes, and those of `files` in memory that they have open. The cheap sum
    counts shared pages for each of them; only if it is above `enough` each page is counted once."""
    total = files + sum(_read_resident(pid) for pid in pids)
    if total <= enough:
        return total
    mapped = [_read_proportional(pid) for pid in pids]
    return sum(each for each, _ in mapped) + max(files - sum(shared for _, shared in mapped), 0)


def _read_resident(pid: int) -> int:
    with suppress(OSError), open(f"/proc/{pid}/statm") as file:  # noqa: PTH123
        return int(file.read().split()[1]) * getpagesize()
    return 0


def _read_proportional(pid: int) -> tuple[int, int]:
    """Returns the bytes, and those of files in memory among them."""
    with suppress(OSError), open(f"/proc/{pid}/smaps_rollup") as file:  # noqa: PTH123
        found = {words[0]: int(words[1]) * 1024 for words in map(str.split, file) if words[0].startswith("Pss")}
        if "Pss:" in found:
            return found["Pss:"], found.get("Pss_Shmem:", 0)
    return _read_resident(pid), 0  # it cannot be read, or has just ended
