"""Commands in sandboxes: output, environment, limits and refusals, with real processes."""

import os
import signal
from pathlib import Path

import psutil
import pytest

from providers.sandbox.errors import CommandNotFound, CommandRefused
from tests.providers.sandboxes import ESCAPES, Run, Start, gone, python, written
from tests.support.eventually import eventually

ROOT = Path(__file__).parents[2]
MIB = 1024 * 1024


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
    assert result.limit == "processes"
    assert result.exit_code != 0  # killed, or refused another process by its control group
    assert "more than 20 processes" in result.output
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
