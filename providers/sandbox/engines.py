"""The engines of containers, asked by their command lines. The supervisor uses this, so it must load fast."""

import json
import os
import subprocess
import time
from collections.abc import Mapping, Sequence

ENGINES = ("docker", "podman")
_OWN_VARIABLES = (  # what the engine's client needs; the command gets none of it
    "PATH", "HOME", "XDG_RUNTIME_DIR", "DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_CONFIG", "DOCKER_CERT_PATH",
    "DOCKER_TLS_VERIFY", "CONTAINER_HOST",
)  # fmt: skip
_ANSWER_SECONDS = 10.0  # for the engine to answer
_KILL_EVERY = 0.1


def make_environment() -> dict[str, str]:
    return {name: os.environ[name] for name in _OWN_VARIABLES if name in os.environ}


def find_exceeded(engine: str, name: str, environment: Mapping[str, str]) -> str:
    """Returns "memory" if the kernel has killed the container for its memory, else ""."""
    code, answer = ask([engine, "inspect", "--format", "{{.State.OOMKilled}}", name], environment)
    return "memory" if code == 0 and answer.strip() == "true" else ""


def kill_container(engine: str, name: str, seconds: float, environment: Mapping[str, str] | None = None) -> list[int]:
    """Kills and removes a container. Returns the pid of its first process if it still runs, or [] if it is gone."""
    environment = make_environment() if environment is None else environment
    deadline = time.monotonic() + seconds
    while True:
        ask([engine, "rm", "--force", "--volumes", name], environment)
        left = _find_pids(engine, name, environment)
        if not left or time.monotonic() >= deadline:
            return left
        time.sleep(_KILL_EVERY)


def _find_pids(engine: str, name: str, environment: Mapping[str, str]) -> list[int]:
    code, answer = ask([engine, "inspect", "--format", "{{json .State}}", name], environment)
    if code != 0:  # there is none; or no answer, and then nobody knows
        return [] if "no such" in answer.lower() else [0]
    state = json.loads(answer)
    return [int(state.get("Pid", 0))] if state.get("Running") else []


def ask(command: Sequence[str], environment: Mapping[str, str]) -> tuple[int, str]:
    try:
        ended = subprocess.run(
            command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            timeout=_ANSWER_SECONDS, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as failure:
        return -1, str(failure)
    return ended.returncode, ended.stdout.decode(errors="replace")
