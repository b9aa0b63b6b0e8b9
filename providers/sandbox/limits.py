"""The limits of a command."""

from dataclasses import dataclass

_MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Limits:
    """In bytes, except seconds, open_files and processes. Memory, file_size and open_files apply to each process."""

    seconds: float = 60.0
    memory: int = 2048 * _MIB
    file_size: int = 256 * _MIB
    open_files: int = 256
    processes: int = 128
    output: int = _MIB
