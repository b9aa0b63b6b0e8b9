"""A timer of the kernel that kills this process when its leases end. It needs no thread of the process, so it also
works while code holds the interpreter's lock in one long call, and while the process is stopped. If threads can run,
the watchdog acts first."""

import ctypes
import signal
import sys
import time

from broker.execution.clocks import boot_time

_SIGEV_SIGNAL = 0
_BEFORE = 0.2  # seconds: the process is gone when the lease ends, not a moment later


class _Event(ctypes.Structure):  # sigevent
    _fields_ = (
        ("value", ctypes.c_void_p),
        ("signal", ctypes.c_int),
        ("notify", ctypes.c_int),
        ("rest", ctypes.c_char * 48),
    )


class _Time(ctypes.Structure):  # timespec
    _fields_ = (("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long))


class _Setting(ctypes.Structure):  # itimerspec
    _fields_ = (("interval", _Time), ("value", _Time))


class LeaseTimer:
    """Works on Linux only. The kernel removes the timer when the process becomes another program."""

    def __init__(self) -> None:
        self._libc = ctypes.CDLL(None)
        self._timer = self._create() if sys.platform == "linux" else None
        self.until: float | None = None

    def advance(self, until: float) -> None:
        """Sets the timer to this time, unless it is set to an earlier one."""
        if self.until is None or until < self.until:
            self.set(until)

    def set(self, until: float | None) -> None:
        """Sets the time at which the process is killed, on the boot clock; None means never."""
        if self._timer is None or until == self.until:
            return
        # The timer does not count time in which the machine is suspended: the watchdog stops the code afterwards.
        left = 0.0 if until is None else max(until - _BEFORE - boot_time(), 0.001)
        seconds = int(left)
        setting = _Setting(_Time(0, 0), _Time(seconds, int((left - seconds) * 1e9)))
        if self._libc.timer_settime(self._timer, 0, ctypes.byref(setting), None) == 0:
            self.until = until

    def _create(self) -> ctypes.c_void_p | None:
        """Returns None if the C library has no such timers."""
        event = _Event(None, signal.SIGKILL, _SIGEV_SIGNAL, b"")
        timer = ctypes.c_void_p()
        try:
            failed = self._libc.timer_create(time.CLOCK_MONOTONIC, ctypes.byref(event), ctypes.byref(timer))
        except AttributeError:
            return None
        return None if failed else timer
