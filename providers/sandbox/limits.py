"""The limits of a command."""

from dataclasses import dataclass

_MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Limits:
    """In bytes, except seconds, open_files and processes. File_size and open_files apply to each file and process;
    memory to each process and to all of them together; processes to all, with their threads; disk to the whole
    folder."""

    seconds: float = 60.0
    memory: int = 2048 * _MIB
    file_size: int = 256 * _MIB
    disk: int = 1024 * _MIB
    open_files: int = 256
    processes: int = 128
    output: int = _MIB
