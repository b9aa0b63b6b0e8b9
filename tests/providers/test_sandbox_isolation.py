"""What a command in bubblewrap sees and can do, and which kind of sandbox a setting gives."""

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from providers.sandbox import bubblewrap, containers
from providers.sandbox.errors import CommandNotFound, CommandRefused, IsolationMissing, SandboxFailed
from providers.sandbox.kinds import Box, choose_box
from providers.sandbox.limits import Limits
from providers.sandbox.sandbox import Result, Sandbox
from tests.providers.boxes import BUBBLEWRAP, STUBBORN, all_gone, find_descendants, needs_bubblewrap, python
from tests.support.eventually import eventually
from tests.support.users import NOBODY, find_python, needs_nobody

ROOT = Path(__file__).parents[2]

Start = Callable[..., Sandbox]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    started: list[Sandbox] = []

    def start(*command: str, box: Box = BUBBLEWRAP, **limits: Any) -> Sandbox:
        started.append(Sandbox(command, Limits(**limits), tmp_path / "workspaces", box=box))
        started[-1].begin()
        return started[-1]

    yield start
    for sandbox in started:
        sandbox.kill()


def finish(sandbox: Sandbox) -> Result:
    eventually(lambda: (sandbox.read(0.05), sandbox.ended)[1])
    return sandbox.result()


def test_it_is_used_wherever_it_works() -> None:
    """Otherwise a mistake in our options would look like a machine without bubblewrap, and these tests be skipped."""
    program = shutil.which("bwrap")
    if program is None:
        pytest.skip("bubblewrap is not installed")
    plain = [program, "--unshare-all", "--ro-bind", "/", "/", "--proc", "/proc", "true"]
    works = subprocess.run(plain, capture_output=True, check=False).returncode == 0
    assert (bubblewrap.find_problem() is None) == works


@needs_bubblewrap
def test_it_sees_the_system_and_its_folder_only(start: Start, tmp_path: Path) -> None:
    outside = tmp_path / "secret"
    outside.write_text("secret")
    look = f"pwd; ls -A /; ls -A /root /home /run /var {ROOT}; cat {outside}; cat /etc/shadow"
    result = finish(start("sh", "-c", look, box=Box("bubblewrap")))
    assert result.kind == "bubblewrap"
    assert result.output.startswith("/workspace\n")
    assert "secret\n" not in result.output
    assert "root:" not in result.output
    assert result.output.count("No such file or directory") >= 6


@needs_bubblewrap
def test_its_environment_is_its_own(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENROUTER_API_KEY", "sk-very-secret")
    values = dict(line.split("=", 1) for line in finish(start("env")).output.splitlines())
    assert set(values) == {"PATH", "HOME", "LANG", "TMPDIR", "PWD"}
    assert (values["HOME"], values["TMPDIR"]) == ("/workspace", "/tmp")


@needs_bubblewrap
def test_it_writes_only_to_its_folder_and_to_small_memory_files(start: Start) -> None:
    result = finish(
        start(
            "sh",
            "-c",
            "touch ok && echo made; for f in /x /usr/x /etc/x /dev/x; do touch $f && echo escaped; done; "
            "for f in /tmp/x /dev/shm/x; do head -c 200000000 /dev/zero > $f && echo large; done",
        )
    )
    assert result.output.startswith("made\n")
    assert "escaped" not in result.output
    assert "large" not in result.output
    assert result.output.count("No space left on device") == 2


@needs_bubblewrap
def test_it_has_its_own_processes_and_no_network(start: Start) -> None:
    code = (
        "import os, socket\nprint(sorted(int(pid) for pid in os.listdir('/proc') if pid.isdigit()))\n"
        "print([name for _, name in socket.if_nameindex()])\nprint(socket.gethostname())\n"
        "try:\n socket.create_connection(('192.0.2.1', 80), 2)\nexcept OSError as error:\n print(error.strerror)"
    )
    pids, interfaces, host, error = finish(start(*python(code))).output.splitlines()
    assert pids == "[1, 2]"
    assert (interfaces, host, error) == ("['lo']", "sandbox", "Network is unreachable")


@needs_bubblewrap
def test_it_has_no_capability_and_gets_no_namespace(start: Start) -> None:
    result = finish(
        start("sh", "-c", "grep -E 'Cap(Eff|Prm|Bnd)|NoNewPrivs' /proc/self/status; unshare -Ur true || echo no")
    )
    values = [line.split()[-1] for line in result.output.splitlines() if ":\t" in line]
    assert values == ["0000000000000000"] * 3 + ["1"]
    assert result.output.endswith("no\n")


@needs_bubblewrap
def test_it_cannot_change_the_kernel(start: Start) -> None:
    """Root's files in /proc are root's also without capabilities. What core_pattern names is run outside."""
    code = (
        "import os\nfor path, _, names in os.walk('/proc/sys'):\n for name in names:\n"
        "  try: os.close(os.open(path + '/' + name, os.O_WRONLY)); print(path, name)\n  except OSError: pass\n"
        "for name in ('sysrq-trigger', 'irq/default_smp_affinity'):\n"
        " try: os.close(os.open('/proc/' + name, os.O_WRONLY)); print(name)\n except OSError: pass\nprint('done')"
    )
    assert finish(start(*python(code))).output == "done\n"


@needs_bubblewrap
def test_commands_that_cannot_be_started(start: Start) -> None:
    with pytest.raises(CommandNotFound, match="no-such-program"):
        finish(start("no-such-program"))
    with pytest.raises(CommandRefused, match="Permission denied"):
        finish(start("/etc/passwd"))
    with pytest.raises(CommandNotFound):  # the virtual environment of this project is not there
        finish(start(f"{ROOT}/.venv/bin/python", "-V"))
    with pytest.raises(SandboxFailed, match="bwrap"):
        finish(start("true", box=Box("bubblewrap", folders=("/no/such/folder",))))
    assert finish(start("sh", "-c", "echo 'bwrap: odd'; echo 2; exit 1")).exit_code == 1


@needs_bubblewrap
def test_nothing_is_left_of_it(start: Start) -> None:
    sandbox = start(*python(STUBBORN))
    eventually(lambda: {"far", "first"} <= {path.name for path in Path(sandbox.workspace).iterdir()})
    processes = find_descendants(sandbox.supervisor.pid)
    assert len(processes) == 4  # two of bubblewrap
    assert sandbox.kill()[1] == []
    assert all_gone(processes)


@needs_bubblewrap
def test_it_dies_with_its_supervisor(start: Start) -> None:
    sandbox = start(*python(STUBBORN))
    eventually(lambda: {"far", "first"} <= {path.name for path in Path(sandbox.workspace).iterdir()})
    processes = find_descendants(sandbox.supervisor.pid)
    psutil.Process(sandbox.supervisor.pid).kill()
    eventually(lambda: all_gone(processes), timeout=5, what="the kernel has killed them")


@needs_bubblewrap
@needs_nobody
def test_it_works_for_a_normal_user() -> None:
    """Runs the detection and a command as nobody."""
    code = (
        "import tempfile, subprocess\nfrom providers.sandbox import bubblewrap\nprint(bubblewrap.find_problem())\n"
        "with tempfile.TemporaryDirectory() as folder:\n"
        " print(subprocess.run(bubblewrap.build_command(['id', '-u'], folder, ()), capture_output=True).stdout)"
    )
    command = [*NOBODY, *(find_python() or []), "-c", code]
    ended = subprocess.run(command, cwd="/", capture_output=True, text=True, check=False)
    assert ended.stdout == "None\nb'65534\\n'\n", ended.stderr


@pytest.fixture
def nothing_installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    caches = (bubblewrap.find_problem, bubblewrap._find_options, containers.find_problem)
    monkeypatch.setenv("PATH", str(tmp_path))
    for cache in caches:
        cache.cache_clear()
    yield
    for cache in caches:
        cache.cache_clear()


@pytest.mark.usefixtures("nothing_installed")
@pytest.mark.parametrize(
    ("setting", "reason"),
    [
        ("isolated", "apt install bubblewrap"),
        ("bubblewrap", "apt install bubblewrap"),
        ("docker", "docker is not installed"),
        ("podman", "podman is not installed"),
    ],
)
def test_without_the_demanded_isolation_it_is_refused(setting: Any, reason: str) -> None:
    with pytest.raises(IsolationMissing, match=reason) as refused:
        choose_box(setting, "debian", [])
    assert refused.value.category == "permanent"
    assert f"CALLBOARD_SANDBOX={setting}" in str(refused.value)


@pytest.mark.usefixtures("nothing_installed")
def test_auto_takes_what_there_is() -> None:
    assert choose_box("auto", None, []).kind == "process"


def test_bubblewrap_that_does_not_work_does_not_count(
    nothing_installed: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It is installed, and the kernel forbids it namespaces."""
    program = tmp_path / "bwrap"
    program.write_text("#!/bin/sh\necho 'bwrap: Creating new namespace failed: Operation not permitted' >&2\nexit 1\n")
    program.chmod(0o755)
    with pytest.raises(IsolationMissing, match="Creating new namespace failed"):
        choose_box("isolated", None, [])
    assert choose_box("auto", None, []).kind == "process"


def test_a_machine_that_is_full_gets_no_weaker_box(
    nothing_installed: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A box that uses up all processes must not make the next one a plain process, for as long as the worker lives."""
    program = tmp_path / "bwrap"
    program.write_text("#!/bin/sh\necho 'bwrap: Can not fork: Resource temporarily unavailable' >&2\nexit 1\n")
    program.chmod(0o755)
    for _ in range(2):
        with pytest.raises(SandboxFailed, match="could not be tried now"):
            choose_box("auto", None, [])
    program.write_text("#!/bin/sh\n")
    assert choose_box("auto", None, []).kind == "bubblewrap"


@needs_bubblewrap
def test_the_best_kind_comes_first() -> None:
    assert choose_box("auto", None, [sys.base_prefix]) == Box("bubblewrap", None, (sys.base_prefix,))
    assert choose_box("process", None, []).kind == "process"
