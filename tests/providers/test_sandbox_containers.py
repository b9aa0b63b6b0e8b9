"""Docker and podman, against a program that answers like docker's command line (tests/providers/fake_docker.py); no
engine is needed, and no isolation is shown here."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from providers.sandbox import containers
from providers.sandbox.engines import ENGINES
from providers.sandbox.errors import CommandNotFound, IsolationMissing, SandboxFailed
from providers.sandbox.kinds import Box, choose_box
from providers.sandbox.leftovers import Remains, kill_leftovers
from providers.sandbox.limits import Limits
from providers.sandbox.processes import Process
from providers.sandbox.sandbox import Result, Sandbox
from tests.support.eventually import eventually

DOCKER = Box("docker", image="debian", folders=("/opt/tools",))


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Puts the program first on the path, as docker and as podman."""
    programs, folder = tmp_path / "bin", tmp_path / "engine"
    programs.mkdir()
    folder.mkdir()
    for name in ENGINES:
        program = programs / name
        program.write_text(f"#!{sys.executable}\nimport runpy\nrunpy.run_path({str(_FAKE)!r}, run_name='__main__')\n")
        program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    monkeypatch.setenv("DOCKER_HOST", f"fake://{folder}")
    monkeypatch.setenv("LEONARDO_API_KEY", "secret")
    containers.find_problem.cache_clear()
    yield folder
    containers.find_problem.cache_clear()


_FAKE = Path(__file__).with_name("fake_docker.py")


def start(tmp_path: Path, *command: str, box: Box = DOCKER, **limits: Any) -> Sandbox:
    sandbox = Sandbox(command, Limits(**limits), tmp_path / "workspaces", box=box, name="sb_1")
    sandbox.begin()
    return sandbox


def finish(sandbox: Sandbox) -> Result:
    eventually(lambda: (sandbox.read(0.05), sandbox.ended)[1])
    try:
        return sandbox.result()
    finally:
        sandbox.kill()


def test_the_command_line() -> None:
    command = containers.build_command(
        "docker", "debian:12", "callboard-sb_1", ["make", "-j", "all"], "/data/w", ["/opt/tools"], Limits(memory=1000)
    )
    text = " ".join(command)
    for part in (
        "docker run --name callboard-sb_1",
        "--network none",
        "--memory 1000 --memory-swap 1000",
        "--pids-limit 128",
        "--read-only",
        "--cap-drop ALL",
        "--security-opt no-new-privileges",
        "--volume /data/w:/workspace",
        "--volume /opt/tools:/opt/tools:ro",
        "--workdir /workspace",
        "--tmpfs /tmp:size=64m",
    ):
        assert part in text
    assert command[-5:] == ["--entrypoint", "make", "debian:12", "-j", "all"]


def test_an_engine_that_answers_is_chosen(engine: Path) -> None:
    for kind in ("docker", "podman"):
        assert choose_box(kind, "debian", []) == Box(kind, "debian")
    with pytest.raises(IsolationMissing, match="CALLBOARD_SANDBOX_IMAGE"):
        choose_box("docker", None, [])
    (engine / "down").touch()
    containers.find_problem.cache_clear()
    with pytest.raises(IsolationMissing, match="Cannot connect to the Docker daemon"):
        choose_box("podman", "debian", [])


def test_a_command_and_its_result(engine: Path, tmp_path: Path) -> None:
    result = finish(start(tmp_path, "sh", "-c", "echo hello > made; cat made; env; exit 3"))
    assert (result.exit_code, result.kind, result.limit) == (3, "docker", None)
    assert result.output.startswith("hello\n")
    assert "secret" not in result.output
    assert not list(engine.glob("*.container"))  # removed
    options = json.loads((engine / "callboard-sb_1.options").read_text())
    assert options["--network"] == ["none"]


def test_ends_of_the_engine_and_of_the_command(engine: Path, tmp_path: Path) -> None:
    with pytest.raises(CommandNotFound, match="no-such-program"):
        finish(start(tmp_path, "no-such-program"))
    with pytest.raises(SandboxFailed, match="pull access denied"):
        finish(start(tmp_path, "true", box=Box("docker", image="missing")))
    assert finish(start(tmp_path, "sh", "-c", "exit 127")).exit_code == 127
    assert finish(start(tmp_path, "sh", "-c", "kill -9 $$")).exit_code == -9
    assert finish(start(tmp_path, "sh", "-c", "kill -9 $$", box=Box("docker", image="small"))).limit == "memory"
    late = finish(start(tmp_path, "sleep", "300", seconds=0.5))
    assert (late.timed_out, late.limit) == (True, "time")
    assert not list(engine.glob("*.container"))


def get_pid(engine: Path) -> int:
    container = engine / "callboard-sb_1.container"
    eventually(lambda: container.exists() and container.read_text(), what="the container runs")
    return int(json.loads(container.read_text())["Pid"])


def test_killing_means_the_container(engine: Path, tmp_path: Path) -> None:
    sandbox = start(tmp_path, "sleep", "300")
    pid = get_pid(engine)
    assert sandbox.kill()[1] == []
    eventually(lambda: not psutil.pid_exists(pid), timeout=5)


def test_a_container_of_a_lost_supervisor_is_found_by_its_name(engine: Path, tmp_path: Path) -> None:
    sandbox = start(tmp_path, "sleep", "300")
    pid = get_pid(engine)
    for process in [*psutil.Process(sandbox.supervisor.pid).children(), psutil.Process(sandbox.supervisor.pid)]:
        process.kill()
    remains = Remains(Process(999_999, 1), sandbox.workspace, "docker", sandbox.container)
    assert kill_leftovers(remains, 5) == (0, [])
    assert not list(engine.glob("*.container"))
    eventually(lambda: not psutil.pid_exists(pid), timeout=5)
    sandbox.kill()


def test_a_container_that_cannot_be_killed_is_a_survivor(engine: Path, tmp_path: Path) -> None:
    sandbox = start(tmp_path, "sleep", "300")
    pid = get_pid(engine)
    (engine / "unkillable").touch()
    try:
        remains = Remains(Process(999_999, 1), "/nowhere", "docker", sandbox.container)
        assert [each.pid for each in kill_leftovers(remains, 0.2)[1]] == [pid]
    finally:
        (engine / "unkillable").unlink()
        assert sandbox.kill()[1] == []
