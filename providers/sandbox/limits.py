"""What a command may use."""

from dataclasses import dataclass

_MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Limits:
    """Bytes, unless the name says otherwise. Memory, file size and open files hold for each process."""

    seconds: float = 60.0
    memory: int = 2048 * _MIB
    file_size: int = 256 * _MIB
    open_files: int = 256
    processes: int = 128
    output: int = _MIB
