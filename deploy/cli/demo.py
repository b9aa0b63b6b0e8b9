"""CALLBOARD_DEMO_PROVIDERS=1: Leonardo, Midjourney and OpenRouter played by the tests' own servers, on this machine, so
that everybody can see the remote paths without a key."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_TETHER = Path(__file__).with_name("tether.py")
_ROOT = Path(__file__).parents[2]
_LAST_LINE = "CALLBOARD_DOWNLOAD_TRUSTED_HOSTS"


@contextmanager
def demo_providers(wanted: bool) -> Iterator[None]:
    """They say how to be reached, and what we start next inherits it."""
    if not wanted:
        yield
        return
    with subprocess.Popen(
        [sys.executable, "-S", str(_TETHER), str(os.getpid()), "-m", "tests.providers.servers"],
        cwd=_ROOT,
        stdout=subprocess.PIPE,
        text=True,
        process_group=0,
    ) as servers:
        try:
            for line in servers.stdout or ():
                name, _, value = line.strip().partition("=")
                os.environ[name] = value
                if name == _LAST_LINE:
                    break
            yield
        finally:
            servers.terminate()
