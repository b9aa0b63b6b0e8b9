"""A server that listens on all addresses, reached through one that is not loopback."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

_UNSHARE = ["unshare", "--net", *([] if os.geteuid() == 0 else ["--map-root-user"])]


def test_plain_uvicorn_on_all_addresses_answers_only_this_machine(database_url: str, tmp_path: Path) -> None:
    """In a network of its own, so that nothing reaches a real one."""
    try:
        subprocess.run([*_UNSHARE, "true"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("this user may not make a network of its own (unshare --net)")
    command = [*_UNSHARE, sys.executable, "-m", "tests.guard.own_network", str(tmp_path)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert ran.returncode == 0, ran.stderr + (tmp_path / "http.log").read_text()
    assert json.loads(ran.stdout.splitlines()[-1]) == {
        "local": "200",
        "local unix": "200",
        "other address": "403 local-only",
        "other address, named localhost": "403 local-only",
        "other address, page": "403 local-only",
        "other address, unknown path": "403 local-only",
        "from another address": "403 local-only",
        "to another address": "403 local-only",
        "says it is local": "403 local-only",
        "through a local proxy": "403 local-only",
        "through a local proxy, unix": "403 local-only",
        "proxy that names the scheme": "403 local-only",
        "rebound name": "421 misdirected-request",
        "other address, key": "200",
        "other address, no key": "401 unauthorized",
        "local, no key": "401 unauthorized",
    }
