"""The clock by which a process knows that its leases have ended."""

import time

_BOOT_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)  # macOS counts suspended time by itself


def boot_time() -> float:
    """Seconds since boot. Also counts the time in which the machine was suspended: leases end meanwhile."""
    return time.clock_gettime(_BOOT_CLOCK)
