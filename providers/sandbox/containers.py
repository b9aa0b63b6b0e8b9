"""Docker and podman: a command in a container that an engine runs."""

import json
import os
import shutil
import subprocess
import time
from collections.abc import Mapping, Sequence
from functools import cache

from providers.sandbox.errors import CommandNotFound, CommandRefused, SandboxFailed
from providers.sandbox.limits import Limits

ENGINES = ("docker", "podman")
WORKSPACE = "/workspace"
_OWN_VARIABLES = (  # what the engine's client needs; the command gets none of it
    "PATH", "HOME", "XDG_RUNTIME_DIR", "DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_CONFIG", "DOCKER_CERT_PATH",
    "DOCKER_TLS_VERIFY", "CONTAINER_HOST",
)  # fmt: skip
_TEMPORARY = ("--tmpfs", "/tmp:size=64m")  # noqa: S108
_ANSWER_SECONDS = 10.0  # for the engine to answer
_KILL_EVERY = 0.1
_NOT_MADE, _NOT_EXECUTED, _NOT_FOUND = 125, 126, 127  # exit codes of `docker run` itself


def build_command(
    engine: str, image: str, name: str, command: Sequence[str], workspace: str, folders: Sequence[str], limits: Limits
) -> list[str]:
    """Builds the `run` command. There is no `--rm`: the supervisor asks for the reason of the end, then removes it."""
    mounts = [f"{workspace}:{WORKSPACE}", *(f"{folder}:{folder}:ro" for folder in folders)]
    return [
        engine, "run", "--name", name, "--label", "callboard=sandbox", "--init", "--pull", "missing",
        "--network", "none", "--memory", str(limits.memory), "--memory-swap", str(limits.memory),
        "--pids-limit", str(limits.processes), "--ulimit", f"fsize={limits.file_size}",
        "--ulimit", f"nofile={limits.open_files}", "--ulimit", "core=0", "--read-only", *_TEMPORARY,
        "--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--user", f"{os.getuid()}:{os.getgid()}",
        *(part for mount in mounts for part in ("--volume", mount)), "--workdir", WORKSPACE,
        "--env", f"HOME={WORKSPACE}", "--env", "TMPDIR=/tmp", "--entrypoint", command[0] if command else "", image,
        *command[1:],
    ]  # fmt: skip


def make_environment() -> dict[str, str]:
    return {name: os.environ[name] for name in _OWN_VARIABLES if name in os.environ}


@cache
def find_problem(engine: str, image: str | None) -> str | None:
    """Returns why the engine cannot be used here, or None."""
    if image is None:
        return f"{engine} needs an image: set CALLBOARD_SANDBOX_IMAGE"
    if shutil.which(engine) is None:
        return f"{engine} is not installed"
    code, answer = _ask([engine, "info"], make_environment())
    return None if code == 0 else f"the engine of {engine} does not answer: {answer.strip()[-300:]}"


def find_exceeded(engine: str, name: str, environment: Mapping[str, str]) -> str:
    """Returns "memory" if the kernel has killed the container for its memory, else ""."""
    code, answer = _ask([engine, "inspect", "--format", "{{.State.OOMKilled}}", name], environment)
    return "memory" if code == 0 and answer.strip() == "true" else ""


def kill_container(engine: str, name: str, seconds: float, environment: Mapping[str, str] | None = None) -> list[int]:
    """Kills and removes a container. Returns the pid of its first process if it still runs, or [] if it is gone."""
    environment = make_environment() if environment is None else environment
    deadline = time.monotonic() + seconds
    while True:
        _ask([engine, "rm", "--force", "--volumes", name], environment)
        left = _find_pids(engine, name, environment)
        if not left or time.monotonic() >= deadline:
            return left
        time.sleep(_KILL_EVERY)


def read_failure(name: str, exit_code: int, output: str) -> Exception | None:
    """Returns the error if the engine, not the command, has ended with this output."""
    if exit_code not in (_NOT_MADE, _NOT_EXECUTED, _NOT_FOUND):
        return None
    if not any(line.startswith(("docker: ", "Error: ")) for line in output.splitlines()):
        return None  # a shell in the container uses these codes as well
    text = output.strip()[-500:]
    if exit_code == _NOT_FOUND:
        return CommandNotFound(f"There is no command {name!r} in the image: {text}")
    if exit_code == _NOT_EXECUTED:
        return CommandRefused(f"{name!r} cannot be started: {text}")
    return SandboxFailed(f"The container of {name!r} could not be made: {text}")


def _find_pids(engine: str, name: str, environment: Mapping[str, str]) -> list[int]:
    code, answer = _ask([engine, "inspect", "--format", "{{json .State}}", name], environment)
    if code != 0:  # there is none; or no answer, and then nobody knows
        return [] if "no such" in answer.lower() else [0]
    state = json.loads(answer)
    return [int(state.get("Pid", 0))] if state.get("Running") else []


def _ask(command: Sequence[str], environment: Mapping[str, str]) -> tuple[int, str]:
    try:
        ended = subprocess.run(
            command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            timeout=_ANSWER_SECONDS, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as failure:
        return -1, str(failure)
    return ended.returncode, ended.stdout.decode(errors="replace")
