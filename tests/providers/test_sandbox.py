"""Commands in sandboxes: real processes, real limits, and no process is left at the end."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from providers.sandbox.errors import CommandNotFound, CommandRefused, SandboxFailed
from providers.sandbox.limits import Limits
from providers.sandbox.sandbox import Result, Sandbox
from tests.support.eventually import eventually

ROOT = Path(__file__).parents[2]
MIB = 1024 * 1024

Start = Callable[..., Sandbox]
Run = Callable[..., Result]

# Each writes its pid and waits: in the group, and as a grandchild that has left group, session and parent.
ESCAPES = """
import os, time
def told(name):
    with open(os.environ["HOME"] + "/" + name, "w") as out:
        out.write(str(os.getpid()))
    os.rename(os.environ["HOME"] + "/" + name, os.environ["HOME"] + "/" + name + ".pid")
if os.fork() == 0:
    os.setsid()
    if os.fork():
        os._exit(0)
    told("far")
    time.sleep(300)
if os.fork() == 0:
    told("near")
    time.sleep(300)
told("first")
time.sleep(300)
"""
# A new process every moment; the one before is gone.
HOPS = """
import os, time
if os.fork():
    time.sleep(300)
open(os.environ["HOME"] + "/hops.pid", "w").close()
while True:
    if os.fork():
        os._exit(0)
    os.setsid()
"""


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    started: list[Sandbox] = []

    def start(*command: str, **limits: Any) -> Sandbox:
        started.append(Sandbox(command, Limits(**limits), tmp_path / "workspaces"))
        return started[-1]

    yield start
    for sandbox in started:
        sandbox.kill()


@pytest.fixture
def run(start: Start) -> Run:
    def run(*command: str, **limits: Any) -> Result:
        sandbox = start(*command, **limits)
        eventually(lambda: (sandbox.read(0.05), sandbox.ended)[1], timeout=20)
        return sandbox.result()

    return run


def python(code: str) -> tuple[str, ...]:
    return (sys.executable, "-c", code)


def find_processes(workspace: str) -> list[int]:
    """Returns the processes of a sandbox, its supervisor included."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get("HOME") == workspace and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process.pid)
        except psutil.Error:
            continue
    return found


def written(sandbox: Sandbox, *names: str) -> list[int]:
    files = [Path(sandbox.workspace, f"{name}.pid") for name in names]
    eventually(lambda: all(file.exists() for file in files), what="the processes are there")
    return [int(file.read_text() or 0) for file in files]


def gone(sandbox: Sandbox) -> None:
    eventually(lambda: not find_processes(sandbox.workspace), timeout=5, what="no process is left")
    eventually(lambda: not Path(sandbox.workspace).exists(), timeout=5, what="the workspace is removed")


def test_output_exit_code_and_time(run: Run) -> None:
    result = run("sh", "-c", "echo out; echo err >&2; pwd; exit 3")
    assert (result.exit_code, result.truncated, result.timed_out) == (3, False, False)
    assert result.output.splitlines()[:2] == ["out", "err"]
    assert not Path(result.output.splitlines()[2]).exists()  # the workspace is removed
    assert 0 <= result.seconds < 5


def test_a_signal_is_a_negative_exit_code(run: Run) -> None:
    assert run("sh", "-c", "kill -TERM $$").exit_code == -signal.SIGTERM


def test_output_comes_while_it_runs(start: Start) -> None:
    sandbox = start("sh", "-c", "echo first; sleep 300")
    text: list[str] = []

    def has_first() -> bool:
        text.append(sandbox.read(0.05))
        return "first" in "".join(text)

    eventually(has_first)
    assert not sandbox.ended


def test_bytes_that_are_no_text_are_replaced(run: Run) -> None:
    assert run("printf", r"a\000b\377c\303\244").output == "a\ufffdb\ufffdc\u00e4"


def test_output_over_the_limit_is_cut_in_the_middle(run: Run) -> None:
    result = run(*python("print('begin'); print('x' * 3_000_000); print('end')"), output=10_000)
    assert result.truncated
    assert result.exit_code == 0
    assert len(result.output) < 10_100
    assert result.output.startswith("begin")
    assert result.output.endswith("end\n")
    assert "bytes cut out" in result.output


def test_the_environment_is_scrubbed(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENROUTER_API_KEY", "sk-very-secret")
    result = run("env")
    values = dict(line.split("=", 1) for line in result.output.splitlines())
    assert set(values) <= {"PATH", "HOME", "LANG", "TMPDIR", "PWD", "SHLVL", "_"}
    assert values["TMPDIR"].startswith(values["HOME"])


def test_it_inherits_no_descriptor_of_ours(run: Run) -> None:
    reader, writer = os.pipe()
    os.set_inheritable(writer, True)
    try:
        result = run(*python("import os; print(sorted(int(fd) for fd in os.listdir('/proc/self/fd')))"))
    finally:
        os.close(reader)
        os.close(writer)
    assert result.output.strip() == "[0, 1, 2, 3]"  # 3: the listing itself


def test_time_limit(start: Start) -> None:
    sandbox = start(*python(ESCAPES), seconds=1.0)
    pids = written(sandbox, "first", "near", "far")
    eventually(lambda: (sandbox.read(0.05), sandbox.ended)[1], timeout=10)
    result = sandbox.result()
    assert (result.timed_out, result.exit_code) == (True, -signal.SIGKILL)
    assert 1.0 <= result.seconds < 3
    assert not any(psutil.pid_exists(pid) for pid in pids)


def test_memory_limit(run: Run) -> None:
    result = run(*python("x = bytearray(400_000_000)"), memory=300 * MIB)
    assert result.exit_code == 1
    assert "MemoryError" in result.output


def test_file_size_limit(run: Run) -> None:
    result = run("dd", "if=/dev/zero", "of=big", "bs=1M", "count=5", file_size=2 * MIB)
    assert result.exit_code == -signal.SIGXFSZ


def test_open_files_limit(run: Run) -> None:
    result = run(*python("keep = [open('/dev/null') for _ in range(100)]"), open_files=32)
    assert "Too many open files" in result.output


def test_processes_limit(start: Start) -> None:
    sandbox = start(
        *python("import os, time\nfor _ in range(40):\n if not os.fork(): break\ntime.sleep(300)"), processes=20
    )
    eventually(lambda: (sandbox.read(0.05), sandbox.ended)[1], timeout=10)
    result = sandbox.result()
    assert result.exit_code == -signal.SIGKILL
    assert "more than 20 processes" in result.output
    gone(sandbox)


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


def test_a_command_that_kills_its_supervisor_does_not_get_away(start: Start) -> None:
    sandbox = start(*python("import os, time; os.kill(os.getppid(), 9); time.sleep(300)"))
    eventually(lambda: (sandbox.read(0.05), sandbox.ended)[1], timeout=10)
    with pytest.raises(SandboxFailed, match="supervisor"):
        sandbox.result()
    gone(sandbox)


def test_a_command_that_stops_its_supervisor_is_killed_all_the_same(start: Start) -> None:
    sandbox = start(*python(f"import os; os.kill(os.getppid(), {int(signal.SIGSTOP)})\n{ESCAPES}"))
    written(sandbox, "first", "near", "far")
    assert sandbox.kill() == (4, [])  # the supervisor among them
    gone(sandbox)


def test_a_command_that_does_not_exist(run: Run) -> None:
    with pytest.raises(CommandNotFound, match="no-such-program") as refused:
        run("no-such-program", "--help")
    assert refused.value.category == "permanent"


@pytest.mark.parametrize("command", ["/etc/passwd", "/etc", ""])
def test_a_command_that_cannot_be_started(run: Run, tmp_path: Path, command: str) -> None:
    with pytest.raises((CommandRefused, CommandNotFound)) as refused:
        run(command)
    assert refused.value.category == "permanent"
    assert list((tmp_path / "workspaces").iterdir()) == []


def test_a_long_argument_gets_through(run: Run) -> None:
    assert run(*python("import sys; print(len(sys.argv[1]))"), "x" * 120_000).output == "120000\n"
