"""The image and the compose file: checked by their schemas, and run step by step without an engine."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from importlib.resources import files
from pathlib import Path
from typing import Any

import httpx2
import jsonschema  # type: ignore[import-untyped]
import pytest
import yaml

from state.settings import Settings
from tests.deploy.files import DEPLOY, ROOT, list_queues, read_environment
from tests.deploy.image import DOCKERFILE, find_last, read_environment_of, read_stages
from tests.deploy.postgres import PASSWORDS, OwnPostgres, open_servers
from tests.deploy.stage import Stage, end, find_first, needs_stage
from tests.support.eventually import eventually
from tests.support.ports import find_free_port

COMPOSE = DEPLOY / "docker" / "compose.yml"
SERVICES: dict[str, Any] = yaml.safe_load(COMPOSE.read_text())["services"]
HADOLINT = shutil.which("hadolint", path=f"{Path(sys.executable).parent}:{os.environ.get('PATH', '')}")


@pytest.mark.skipif(HADOLINT is None, reason="there is no hadolint for this system")
def test_hadolint_finds_nothing() -> None:
    checked = subprocess.run([str(HADOLINT), str(DOCKERFILE)], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout


def test_the_compose_file_fits_its_schema() -> None:
    schema = files("check_jsonschema") / "builtin_schemas" / "vendor" / "compose-spec.json"
    document = yaml.safe_load(COMPOSE.read_text())
    jsonschema.validate(document, json.loads(schema.read_text()))
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**document, "services": {"a": {"commands": []}}}, json.loads(schema.read_text()))


def test_every_variable_is_known() -> None:
    asked = set(re.findall(r"\$\{(\w+)", COMPOSE.read_text()))
    assert asked == read_environment(DEPLOY / "docker" / "env.example").keys()
    assert set(re.findall(r"\b(CALLBOARD_\w+)", (DEPLOY / "postgres" / "roles.sql").read_text())) == PASSWORDS.keys()
    known = {f"CALLBOARD_{name.upper()}" for name in Settings.model_fields}
    used = {name for service in SERVICES.values() for name in service.get("environment", {})}
    assert used - known - PASSWORDS.keys() == {"POSTGRES_PASSWORD"}
    assert PASSWORDS.keys() <= SERVICES["postgres"]["environment"].keys()


def test_workers_take_all_queues_and_get_their_grace_period() -> None:
    workers = [service for service in SERVICES.values() if "dramatiq" in service.get("command", [])]
    queues = [name for each in workers for name in each["command"][each["command"].index("--queues") + 1 :]]
    assert sorted(queues) == sorted(list_queues())
    for each in workers:
        assert each["stop_grace_period"] == f"{int(each['environment']['CALLBOARD_GRACE_SECONDS']) + 10}s"


def test_what_starts_waits_for_what_it_needs() -> None:
    for name in ("server", "worker", "worker-media"):
        assert SERVICES[name]["depends_on"] == {
            "postgres": {"condition": "service_healthy"},
            "migrate": {"condition": "service_completed_successfully"},
        }
        assert SERVICES[name]["read_only"]
        assert SERVICES[name]["cap_drop"] == ["ALL"]


@pytest.fixture
def own_postgres() -> Iterator[OwnPostgres]:
    with open_servers() as servers:
        server = servers.make("primary")
        server.initialize()
        server.start()
        server.make_roles()
        yield server


class Containers:
    """The services of the compose file, on a stage each. Their Postgres is `server`."""

    def __init__(self, installed: Path, server: OwnPostgres, folder: Path, stack: ExitStack) -> None:
        self._installed, self._server, self._folder, self._stack = installed, server, folder, stack
        self._data = folder / "contents"
        self._data.mkdir()

    def start(self, name: str, command: list[str] | None = None, **settings: str) -> "subprocess.Popen[bytes]":
        last = read_stages()[1]
        service = SERVICES[name]
        command = command or service.get("command") or find_last(last, "CMD").words
        uid, gid = map(int, find_last(last, "USER").value.split(":"))
        environment = read_environment_of(last)
        for file in service.get("env_file", []):
            environment |= {"CALLBOARD_LOG_LEVEL": read_environment(DEPLOY / "docker" / file)["CALLBOARD_LOG_LEVEL"]}
        environment |= {key: self._fill(value) for key, value in service["environment"].items()} | settings
        root = self._folder / f"root-{len(list(self._folder.iterdir()))}"
        root.mkdir()
        stage = Stage(self._installed, self._server.folder, root, self._data, environment["CALLBOARD_DATA_DIR"])
        process = stage.start(
            [*find_last(last, "ENTRYPOINT").words, *command],
            self._folder / f"{name}.log",
            uid=uid,
            gid=gid,
            environment=environment,
            setup=self._make_user(last),
            own_pids=True,
        )
        self._stack.callback(end, process)
        return process

    def read_log(self, name: str) -> str:
        return (self._folder / f"{name}.log").read_text()

    def _fill(self, value: str) -> str:
        filled = re.sub(r"\$\{(\w+):\?\}", lambda found: PASSWORDS[found[1]], value)
        return filled.replace("@postgres/callboard", "@/callboard?host=/run/postgresql")

    @staticmethod
    def _make_user(stage: list[Any]) -> str:
        """Returns the commands of RUN that need no network: those after the packages."""
        commands = find_last(stage, "RUN").value.split("&&")
        return "set -e;" + ";".join(each for each in commands if not re.match(r"\s*(apt-get|rm) ", each))


@needs_stage
@pytest.mark.skipif(shutil.which("tini") is None, reason="there is no tini (Debian, Ubuntu: apt install tini)")
def test_from_nothing_to_a_task_that_is_done(installed: Path, own_postgres: OwnPostgres, tmp_path: Path) -> None:
    """The roles, the migration, the first key, server and workers: the real commands as the image's user, each as the
    first process of a pid namespace, on a read-only root, with a login of its own."""
    assert not list(installed.glob("lib/*/site-packages/pytest*"))
    sql = list(installed.glob("lib/*/site-packages/state/sql/*.sql"))
    assert len(sql) == len(list((ROOT / "state" / "sql").glob("*.sql")))
    port, metrics = str(find_free_port()), str(find_free_port())
    with ExitStack() as stack:
        containers = Containers(installed, own_postgres, tmp_path, stack)
        assert containers.start("migrate").wait(100) == 0, containers.read_log("migrate")
        made = containers.start("migrate", ["callboard", "keys", "create", "ops", "--role", "operator", "--json"])
        assert made.wait(60) == 0, containers.read_log("migrate")
        key = re.findall(r"cbk_\w+", containers.read_log("migrate"))[-1]

        last = read_stages()[1]
        server = containers.start("server", [port if word == "8000" else word for word in find_last(last, "CMD").words])
        worker = containers.start("worker-media", CALLBOARD_METRICS_PORT=metrics, CALLBOARD_GRACE_SECONDS="1")
        is_healthy = find_last(last, "HEALTHCHECK").words
        eventually(lambda: _probe(is_healthy, "8000", port), what="the server is healthy")
        eventually(lambda: _probe(SERVICES["worker-media"]["healthcheck"]["test"][1:], "9464", metrics))

        with httpx2.Client(
            base_url=f"http://127.0.0.1:{port}/api/v1", headers={"Authorization": f"Bearer {key}"}, trust_env=False
        ) as client:

            def submit(**params: object) -> str:
                body = {"actor": "media_generation", "payload": {"prompt": "a fox", "params": params}}
                accepted = client.post("/tasks", json=body)
                assert accepted.status_code == 202, accepted.text
                return str(accepted.json()["task_id"])

            def get(task_id: str) -> Any:
                return client.get(f"/tasks/{task_id}").json()

            quick = submit(steps=2, step_seconds=0, width=64, height=64)
            done = eventually(lambda: (task := get(quick))["finished_at"] and task)
            assert done["status"] == "completed", done
            picture = client.get(done["result"]["urls"][0].removeprefix("/api/v1"))
            assert picture.content.startswith(b"\x89PNG")
            slow = submit(steps=600, step_seconds=0.1)
            eventually(lambda: get(slow)["status"] == "running")
            find_first(worker).send_signal(signal.SIGTERM)
            assert worker.wait(60) == 0, containers.read_log("worker-media")
            released = get(slow)
            assert (released["status"], released["attempt"]) == ("queued", 0)
        find_first(server).send_signal(signal.SIGTERM)
        assert server.wait(60) in (0, 128 + signal.SIGTERM), containers.read_log("server")


def _probe(command: list[str], port: str, own_port: str) -> bool:
    words = [word.replace(port, own_port) for word in command]
    return subprocess.run([sys.executable, *words[1:]], capture_output=True).returncode == 0
