"""A folder in memory for the databases of the tests: creating and deleting their thousands of files on a disk costs a
fifth of the whole run."""

import os
import shutil

_FOLDER = "/dev/shm"
_ENOUGH = 8 * 1024**3  # bytes; containers often have 64 MB there


def find_memory_folder() -> str | None:
    """Returns None if the usual folder for temporary files has to do."""
    if os.access(_FOLDER, os.W_OK) and shutil.disk_usage(_FOLDER).free > _ENOUGH:
        return _FOLDER
    return None
