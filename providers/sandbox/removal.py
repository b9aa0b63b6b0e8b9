"""Removes the folders that commands have left."""

import os
import shutil
from contextlib import suppress


def remove_tree(path: str) -> None:
    for folder, names, _ in os.walk(path):
        for name in names:
            below = os.path.join(folder, name)  # noqa: PTH118
            if not os.path.islink(below):  # noqa: PTH114
                with suppress(OSError):
                    os.chmod(below, 0o700)  # noqa: PTH101  (some programs protect their folders)
    shutil.rmtree(path, ignore_errors=True)
