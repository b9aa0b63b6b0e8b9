"""The end of a sandbox: no process is left, whatever the command, its supervisor or its worker does."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from providers.sandbox.errors import SandboxFailed
from providers.sandbox.leftovers import Remains, kill_leftovers
from providers.sandbox.limits import Limits
from providers.sandbox.processes import Process
from providers.sandbox.sandbox import Sandbox
from tests.providers.sandboxes import ESCAPES, HOPS, Start, find_processes, gone, python, written
from tests.support.eventually import eventually

ROOT = Path(__file__).parents[2]
MIB = 1024 * 1024


def test_what_the_command_leaves_behind_ends_with_it(start: Start) -> None:
    sandbox = start("sh", "-c", "setsid sleep 300 & echo done")
    eventually(lambda: (sandbox.read(0.05), sandbox.ended)[1], timeout=10)
    assert sandbox.result().output == "done\n"
    assert sandbox.kill()[0] == 1
    gone(sandbox)


def test_killing_means_every_descendant(start: Start) -> None:
    sandbox = start(*python(ESCAPES))
    pids = written(sandbox, "first", "near", "far")
    assert os.getsid(pids[2]) != os.getsid(pids[0])
    assert sandbox.kill() == (3, [])
    assert not any(psutil.pid_exists(pid) for pid in pids)
    assert sandbox.kill() == (3, [])
    gone(sandbox)


def test_who_forks_all_the_time_does_not_escape(start: Start) -> None:
    sandbox = start(*python(HOPS))
    written(sandbox, "hops")
    killed, survivors = sandbox.kill()
    assert killed >= 1
    assert survivors == []
    gone(sandbox)


def test_a_box_can_be_killed_before_it_has_begun(start: Start) -> None:
    sandbox = start("sleep", "300")
    assert sandbox.kill()[1] == []
    gone(sandbox)


def test_folders_that_protect_themselves_are_removed(start: Start, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir(mode=0o500)
    sandbox = start("sh", "-c", f"mkdir -p a/b && touch a/b/c && ln -s {outside} a/link && chmod 500 a/b a")
    eventually(lambda: (sandbox.read(0.05), sandbox.ended)[1], timeout=10)
    gone(sandbox)
    assert outside.stat().st_mode & 0o777 == 0o500


PARENT = """
import sys, os, time
from pathlib import Path
from providers.sandbox.sandbox import Sandbox
from providers.sandbox.limits import Limits
sandbox = Sandbox([sys.executable, "-c", sys.argv[1]], Limits(), Path(sys.argv[2]))
sandbox.begin()
while len(list(Path(sandbox.workspace).glob("*.pid"))) < 3:
    sandbox.read(0.05)
print(sandbox.workspace, *(file.read_text() for file in Path(sandbox.workspace).glob("*.pid")), flush=True)
sys.stdin.readline()
os.execv(sys.executable, [sys.executable, "-c", "print('another', flush=True); input()"])
"""


@pytest.mark.parametrize("how", ["killed", "replaced"])
def test_the_supervisor_ends_everything_when_its_worker_is_gone(tmp_path: Path, how: str) -> None:
    command = [sys.executable, "-c", PARENT, ESCAPES, str(tmp_path)]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdin is not None
        assert parent.stdout is not None
        try:
            workspace, *pids = parent.stdout.readline().split()
            assert len(pids) == 3
            if how == "killed":
                parent.kill()
            else:
                parent.stdin.write("go\n")
                parent.stdin.flush()
                assert parent.stdout.readline() == "another\n"
            eventually(lambda: not any(psutil.pid_exists(int(pid)) for pid in pids), timeout=5)
            eventually(lambda: not find_processes(workspace) and not Path(workspace).exists(), timeout=5)
        finally:
            parent.kill()


def test_a_worker_that_dies_over_its_order_leaves_nothing(tmp_path: Path) -> None:
    workspace = tmp_path / "box"
    workspace.mkdir()
    command = [sys.executable, "-m", "providers.sandbox.supervisor", str(workspace)]
    subprocess.run(command, cwd=ROOT, input=b'{"command": ["touch", ', timeout=10, check=True)
    eventually(lambda: not workspace.exists(), timeout=5)


def test_a_command_whose_supervisor_is_killed_does_not_get_away(start: Start) -> None:
    sandbox = start(*python("import time; time.sleep(300)"))
    os.kill(sandbox.supervisor.pid, signal.SIGKILL)
    eventually(lambda: (sandbox.read(0.05), sandbox.ended)[1], timeout=10)
    with pytest.raises(SandboxFailed, match="supervisor"):
        sandbox.result()
    gone(sandbox)


def test_a_command_whose_supervisor_is_stopped_is_killed_all_the_same(start: Start) -> None:
    sandbox = start(*python(ESCAPES))
    written(sandbox, "first", "near", "far")
    os.kill(sandbox.supervisor.pid, signal.SIGSTOP)
    assert sandbox.kill() == (4, [])  # the supervisor among them
    gone(sandbox)


@pytest.mark.parametrize("how", ["killed", "forgotten"])
def test_a_command_that_was_not_begun_is_never_run(tmp_path: Path, how: str) -> None:
    """The worker dies, or loses its task, after it has written the row and before it starts the command."""
    proof = tmp_path / "proof"
    sandbox = Sandbox(["touch", str(proof)], Limits(), tmp_path / "workspaces")
    supervisor = psutil.Process(sandbox.supervisor.pid)
    if how == "killed":
        assert sandbox.kill() == (0, [])
    else:
        sandbox.close()
    eventually(lambda: not supervisor.is_running(), timeout=5, what="the supervisor has ended")
    gone(sandbox)
    assert not proof.exists()


OWN = """
import subprocess
from providers.sandbox.descendants import kill_descendants
child = subprocess.Popen(["sleep", "300"])
kill_descendants(lambda: child.poll() is None, 0)
print(child.wait(60))
"""


def test_who_comes_too_late_to_kill_tries_once(tmp_path: Path) -> None:
    """On a busy machine the search alone can take all the time there is."""
    own = subprocess.run([sys.executable, "-c", OWN], cwd=ROOT, capture_output=True, text=True, timeout=90, check=True)
    assert own.stdout == "-9\n"
    home = tmp_path / "sandbox-box"
    with subprocess.Popen(["sleep", "300"], env={**os.environ, "HOME": str(home)}) as left:
        try:
            eventually(lambda: find_processes(str(home)) == [left.pid], what="it is found by its variable")
            kill_leftovers(Remains(Process(999_999, 1), str(home), "process"), 0)
            assert left.wait(60) == -signal.SIGKILL
        finally:
            left.kill()
