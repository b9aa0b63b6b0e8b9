"""For worker processes of tests: a wall clock that is wrong by as many seconds as a file says, and is stepped when the
file changes."""

import os
import struct
import time
from pathlib import Path

VARIABLE = "CALLBOARD_TEST_WRONG_CLOCK"  # the path of the file

_right_time, _right_time_ns = time.time, time.time_ns


def write_error(path: Path, seconds: float) -> None:
    path.write_bytes(struct.pack("d", seconds))


def _read_error() -> float:
    seconds: float = struct.unpack("d", Path(os.environ[VARIABLE]).read_bytes())[0]
    return seconds


def _time() -> float:
    return _right_time() + _read_error()


def _time_ns() -> int:
    return _right_time_ns() + int(_read_error() * 1_000_000_000)


if VARIABLE in os.environ:
    time.time, time.time_ns = _time, _time_ns
