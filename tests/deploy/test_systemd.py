"""The units: valid, and their command lines run with their users, folders and limits."""

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx2
import pytest

from providers import settings as provider_settings
from state import get_task, submit
from state.settings import Settings
from state.tasks import catalog
from tests.deploy.files import read_environment
from tests.deploy.stage import Stage, end, move_url, needs_stage, open_stage
from tests.deploy.units import FOLDER, UNITS, Unit
from tests.support.eventually import eventually
from tests.support.observer import Observer
from tests.support.ports import find_free_port

_WORKER, _SERVER, _GROUP = 10001, 10002, 10003
_ENDED = (0, -signal.SIGTERM)  # uvicorn ends by the signal when it has closed everything: a success for systemd
_NOT_INSTALLED_HERE = "is not executable: No such file or directory"
_NEWER = "Unknown key 'DelegateSubgroup'"  # before systemd 254
needs_systemd = pytest.mark.skipif(
    shutil.which("systemd-analyze") is None, reason="there is no systemd (Debian, Ubuntu: apt install systemd)"
)


@needs_systemd
@pytest.mark.parametrize("name", UNITS)
def test_systemd_takes_the_units(name: str) -> None:
    checked = subprocess.run(["systemd-analyze", "verify", str(UNITS[name])], capture_output=True, text=True)
    said = [line for line in checked.stderr.splitlines() if _NOT_INSTALLED_HERE not in line and _NEWER not in line]
    assert [line for line in said if "callboard" in line] == []


@needs_systemd
def test_users_and_folders_are_made(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    for program, name in (("systemd-sysusers", "sysusers.conf"), ("systemd-tmpfiles", "tmpfiles.conf")):
        create = ["--create"] if program == "systemd-tmpfiles" else []
        done = subprocess.run(
            [program, f"--root={tmp_path}", *create, str(FOLDER / name)], capture_output=True, text=True
        )
        if os.geteuid() == 0:
            assert done.returncode == 0, done.stderr
    if os.geteuid() != 0:
        pytest.skip("only root can make them")
    users = {line.split(":")[0] for line in (tmp_path / "etc" / "passwd").read_text().splitlines()}
    [group] = [line for line in (tmp_path / "etc" / "group").read_text().splitlines() if line.startswith("callboard:")]
    assert {"callboard-worker", "callboard-server"} <= users
    assert set(group.split(":")[3].split(",")) == {"callboard-worker", "callboard-server"}
    assert (tmp_path / "var/lib/callboard").stat().st_mode & 0o7777 == 0o2750
    assert (tmp_path / "etc/callboard").stat().st_mode & 0o7777 == 0o700
    for unit in ("callboard-worker@.service", "callboard-server.service"):
        assert Unit(unit).get("User") in users
        assert Unit(unit).get("Group") == "callboard"


def test_a_stop_takes_as_long_as_the_grace_period_and_ten_seconds() -> None:
    unit = Unit("callboard-worker@.service", "media")
    assert int(unit.get("TimeoutStopSec")) == int(unit.read_environment()["CALLBOARD_GRACE_SECONDS"]) + 10
    assert (unit.get("KillMode"), unit.get("Restart")) == ("mixed", "always")


def test_what_breaks_sandboxes_is_off_for_workers() -> None:
    unit = Unit("callboard-worker@.service")
    broken = {"ProtectKernelTunables", "ProtectKernelLogs", "ProtectHostname", "RestrictNamespaces", "SystemCallFilter"}
    assert broken & {key for key in unit.values if unit.values[key]} == set()


def test_all_variables_are_settings() -> None:
    known = {f"CALLBOARD_{name.upper()}" for name in Settings.model_fields}
    for settings in vars(provider_settings).values():
        if hasattr(settings, "model_fields"):
            prefix = settings.model_config["env_prefix"]
            known |= {f"{prefix}{name.upper()}" for name in settings.model_fields}
    used = {name for path in FOLDER.glob("*.env") for name in read_environment(path)}
    used |= {name for unit in UNITS for name in Unit(unit).read_environment()}
    assert used - known == set()
    assert len(used) > 8


@pytest.fixture
def stage(installed: Path, database_url: str) -> Iterator[Stage]:
    with open_stage(installed, database_url, "/var/lib/callboard", _WORKER) as opened:
        assert opened.data is not None
        os.chown(opened.data, _WORKER, _GROUP)
        opened.data.chmod(0o2750)
        yield opened


@needs_stage
@pytest.mark.skipif(shutil.which("bwrap") is None, reason="there is no bwrap (Debian, Ubuntu: apt install bubblewrap)")
def test_the_commands_run_as_the_units_say(
    stage: Stage, database_url: str, connection: Observer, tmp_path: Path
) -> None:
    """Another user each, hidden processes, a read-only system: the server shows what a worker of another user has made,
    commands are isolated, and SIGTERM to the first process ends all."""
    with ExitStack() as stack:

        def start(name: str, instance: str, uid: int, role: str, **settings: str) -> "subprocess.Popen[bytes]":
            unit = Unit(name, instance)
            environment = {
                **unit.read_environment(),
                "CALLBOARD_DATABASE_URL": move_url(database_url, role),
                **settings,
            }
            mode = "rw" if "ReadWritePaths" in unit.values else "ro"
            command = unit.build_command(environment)
            log = tmp_path / f"{uid}-{instance}.log"
            options = {"uid": uid, "gid": _GROUP, "environment": environment, "data_mode": mode}
            process = stage.start(command, log, **options)  # type: ignore[arg-type]
            stack.callback(end, process)
            return process

        migrated = start("callboard-migrate.service", "migrate", 10004, "postgres")
        assert migrated.wait(60) == 0
        one = {"CALLBOARD_PROCESSES": "1", "CALLBOARD_GRACE_SECONDS": "1"}
        media = start("callboard-worker@.service", "media", _WORKER, "callboard_worker", **one)
        agents = start("callboard-worker@.service", "agents", _WORKER, "callboard_worker", **one)
        port = find_free_port()
        server = start("callboard-server.service", "server", _SERVER, "callboard_api", CALLBOARD_PORT=str(port))

        catalog.load_actors()
        params = {"steps": 2, "step_seconds": 0, "width": 64, "height": 64}
        picture = submit("media_generation", {"prompt": "a fox", "params": params})
        command = {"agent_name": "command", "task_type": "run", "input": {"command": ["id", "-u"]}}
        ran = submit("agent", command)
        for task in (picture, ran):
            eventually(lambda task=task: get_task(task.task_id).finished, 60)  # type: ignore[misc]
        result = get_task(ran.task_id)
        assert result.status == "completed", result.error
        assert (result.result["sandbox"], result.result["exit_code"]) == ("bubblewrap", 0), result.result

        url = f"http://127.0.0.1:{port}"
        eventually(lambda: _answers(f"{url}/readyz"), what="the server is ready")
        [content] = get_task(picture.task_id).result["urls"]
        assert httpx2.get(url + content, trust_env=False).content.startswith(b"\x89PNG")

        slow = submit("media_generation", {"prompt": "a fox", "params": {"steps": 600, "step_seconds": 0.1}})
        eventually(lambda: get_task(slow.task_id).status == "running")
        for process in (media, agents, server):
            process.terminate()
        assert (media.wait(30), agents.wait(30)) == (0, 0)
        assert server.wait(int(Unit("callboard-server.service").get("TimeoutStopSec"))) in _ENDED
        left = get_task(slow.task_id)
        assert (left.status, left.attempt) == ("queued", 0), left  # released: no attempt is counted
        assert connection.fetch_one("SELECT count(*) AS n FROM callboard.workers WHERE stopped_at IS NULL")["n"] == 0
        assert connection.execute("SELECT * FROM admin.invariants").fetchall() == []


def _answers(url: str) -> bool:
    try:
        return httpx2.get(url, trust_env=False).status_code == 200
    except httpx2.TransportError:
        return False
