"""The account of Postgres is created once, although several processes find at the same moment that it is missing."""

import os
import pwd
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from uuid import uuid4

import pytest

CREATE = """
import sys
from state.database.embedded import account
print("ready", flush=True)
sys.stdin.readline()
found = account._find_or_create(sys.argv[1])
print(found.pw_uid, found.pw_gid, flush=True)
"""

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root creates accounts")


@pytest.fixture
def name() -> Iterator[str]:
    name = f"cbtest-{uuid4().hex[:8]}"
    yield name
    subprocess.run(["userdel", name], check=True, capture_output=True)


def test_processes_that_create_the_account_at_once_get_the_same_one(name: str) -> None:
    with ExitStack() as stack:
        creators = [
            stack.enter_context(
                subprocess.Popen(
                    [sys.executable, "-c", CREATE, name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
                )
            )
            for _ in range(6)
        ]
        for each in creators:
            assert each.stdout is not None
            assert each.stdout.readline() == "ready\n"
        with pytest.raises(KeyError):
            pwd.getpwnam(name)
        for each in creators:
            assert each.stdin is not None
            print(file=each.stdin, flush=True)
        answers = [each.communicate(timeout=60)[0] for each in creators]
    found = pwd.getpwnam(name)
    assert answers == [f"{found.pw_uid} {found.pw_gid}\n"] * 6
