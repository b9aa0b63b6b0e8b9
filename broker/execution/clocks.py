"""The clock that leases are measured with inside a process."""

import time

_BOOT_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)  # macOS: the monotonic clock does the same


def boot_time() -> float:
    """Returns the seconds since boot, including the time in which the machine was suspended: leases end then, too."""
    return time.clock_gettime(_BOOT_CLOCK)
