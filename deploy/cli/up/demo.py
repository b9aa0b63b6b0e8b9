"""CALLBOARD_DEMO_PROVIDERS=1: the tests' own servers stand in for Leonardo, Midjourney and OpenRouter, so that the
remote providers can be tried without a key."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from deploy.cli.up.die_with_parent import build_command
from deploy.cli.up.service import ROOT

_LAST_VARIABLE = "CALLBOARD_DOWNLOAD_TRUSTED_HOSTS"


@contextmanager
def run_demo_providers(wanted: bool) -> Iterator[None]:
    """Starts the servers and sets the environment variables that they print; processes started later inherit them."""
    if not wanted:
        yield
        return
    with subprocess.Popen(
        build_command(["-m", "tests.providers.servers"]),
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        process_group=0,
    ) as servers:
        try:
            for line in servers.stdout or ():
                name, _, value = line.strip().partition("=")
                os.environ[name] = value
                if name == _LAST_VARIABLE:
                    break
            yield
        finally:
            servers.terminate()
