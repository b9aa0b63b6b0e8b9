"""A process is dead only if the kernel proves it."""

import os
import platform
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from state.workers import processes
from state.workers.identity import Identity, Sibling, is_dead
from state.workers.processes import find_start_ticks, is_gone, list_descendants, read_stat
from tests.support.eventually import eventually

# The first thread ends, as code in C may make it; the process goes on with the others.
OUTLIVED = """
import ctypes, platform, threading
threading.Thread(target=threading.Event().wait, args=(60,)).start()
print("started", flush=True)
ctypes.CDLL(None).syscall(60 if platform.machine() == "x86_64" else 93, 0)
"""


@pytest.fixture
def sleeper(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process whose name looks like the rest of its line in /proc."""
    program = tmp_path / "a) Z 1 (b"
    shutil.copy(shutil.which("sleep") or "sleep", program)
    with subprocess.Popen([program, "60"]) as process:
        try:
            eventually(lambda: Path(f"/proc/{process.pid}/comm").read_text().startswith("a) Z"))
            yield process
        finally:
            process.kill()


def hide(monkeypatch: pytest.MonkeyPatch) -> None:
    def hidden(pid: int) -> processes.ProcessStat:
        raise FileNotFoundError(f"/proc/{pid}/stat")

    monkeypatch.setattr(processes, "read_stat", hidden)


def test_a_command_name_may_contain_anything(sleeper: subprocess.Popen[bytes]) -> None:
    stat = eventually(lambda: (found := read_stat(sleeper.pid)).state == "S" and found)
    assert stat.threads == 1
    assert stat.start_ticks >= read_stat(os.getpid()).start_ticks
    assert not is_gone(sleeper.pid, stat.start_ticks)


def test_a_pid_that_was_used_again_is_another_process(sleeper: subprocess.Popen[bytes]) -> None:
    ticks = read_stat(sleeper.pid).start_ticks
    assert is_gone(sleeper.pid, ticks - 1)
    assert not is_gone(sleeper.pid, None)  # a worker that did not say: its pid lives


def test_a_process_that_has_ended_is_gone_also_before_its_parent_knows(sleeper: subprocess.Popen[bytes]) -> None:
    ticks = read_stat(sleeper.pid).start_ticks
    sleeper.send_signal(signal.SIGKILL)
    eventually(lambda: read_stat(sleeper.pid).state == "Z")
    assert is_gone(sleeper.pid, ticks)
    assert is_gone(sleeper.pid, None)
    sleeper.wait()
    assert is_gone(sleeper.pid, ticks)


def test_a_stopped_process_is_not_gone(sleeper: subprocess.Popen[bytes]) -> None:
    ticks = read_stat(sleeper.pid).start_ticks
    sleeper.send_signal(signal.SIGSTOP)
    eventually(lambda: read_stat(sleeper.pid).state == "T")
    assert not is_gone(sleeper.pid, ticks)


@pytest.mark.skipif(platform.machine() not in ("x86_64", "aarch64"), reason="the number of the system call")
def test_a_process_whose_first_thread_has_ended_is_not_gone() -> None:
    with subprocess.Popen([sys.executable, "-c", OUTLIVED], stdout=subprocess.PIPE) as process:
        try:
            ticks = read_stat(process.pid).start_ticks
            eventually(lambda: read_stat(process.pid).state == "Z")
            assert not is_gone(process.pid, ticks)
        finally:
            process.kill()


def test_if_proc_is_hidden_only_the_kernel_proves_that_a_process_is_dead(
    sleeper: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    ticks = read_stat(sleeper.pid).start_ticks
    hide(monkeypatch)
    assert not is_gone(sleeper.pid, ticks)
    assert not is_gone(sleeper.pid, ticks + 1)  # no proof
    assert find_start_ticks(sleeper.pid) is None
    sleeper.kill()
    sleeper.wait()
    assert is_gone(sleeper.pid, ticks)


def test_a_proc_of_another_pid_namespace_proves_nothing(
    sleeper: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    ticks = read_stat(sleeper.pid).start_ticks
    own = os.getpid()
    monkeypatch.setattr(os, "getpid", lambda: own + 1)
    with pytest.raises(FileNotFoundError):
        read_stat(sleeper.pid)
    assert not is_gone(sleeper.pid, ticks + 1)


def test_a_process_of_another_user_lives_unless_its_start_time_is_another(
    sleeper: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_pid: int, _signal: int) -> None:
        raise PermissionError

    ticks = read_stat(sleeper.pid).start_ticks
    with monkeypatch.context() as patched:
        patched.setattr(os, "kill", refuse)
        assert not is_gone(sleeper.pid, ticks)
        assert is_gone(sleeper.pid, ticks - 1)
        hide(patched)
        assert not is_gone(sleeper.pid, ticks - 1)


def test_a_worker_with_our_own_pid_was_replaced_by_us() -> None:
    me = Identity.of_this_process()
    assert is_dead(Sibling("one that this process was before", me.pid, me.start_ticks))


def test_an_identity_has_a_start_time_that_no_clock_step_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    before = Identity.of_this_process()
    stepped = psutil.Process().create_time() + 2
    monkeypatch.setattr(psutil.Process, "create_time", lambda _self: stepped)
    after = Identity.of_this_process()
    assert (after.start_ticks, after.boot_id) == (before.start_ticks, before.boot_id)
    assert before.start_ticks is not None


def test_descendants_are_found_whichever_thread_has_started_them() -> None:
    with subprocess.Popen(["sh", "-c", "sleep 60 & sleep 60 & wait"]) as shell:
        started: list[subprocess.Popen[bytes]] = []
        thread = threading.Thread(target=lambda: started.append(subprocess.Popen(["sleep", "60"])))
        thread.start()
        thread.join()
        [other] = started
        try:
            eventually(lambda: len(list_descendants(shell.pid)) == 2)
            expected = {child.pid for child in psutil.Process().children(recursive=True)}
            assert {shell.pid, other.pid} < set(list_descendants(os.getpid())) == expected
        finally:
            for pid in list_descendants(shell.pid):
                os.kill(pid, signal.SIGKILL)
            other.kill()
            other.wait()
    assert list_descendants(shell.pid) == []
