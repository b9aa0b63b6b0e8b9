"""Docker and podman: a command in a container that an engine runs."""

import os
import shutil
from collections.abc import Sequence
from functools import cache

from providers.sandbox.engines import ask, make_environment
from providers.sandbox.errors import CommandNotFound, CommandRefused, SandboxFailed
from providers.sandbox.limits import Limits

WORKSPACE = "/workspace"
_TEMPORARY = ("--tmpfs", "/tmp:size=64m")  # noqa: S108
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


@cache
def find_problem(engine: str, image: str | None) -> str | None:
    """Returns why the engine cannot be used here, or None."""
    if image is None:
        return f"{engine} needs an image: set CALLBOARD_SANDBOX_IMAGE"
    if shutil.which(engine) is None:
        return f"{engine} is not installed"
    code, answer = ask([engine, "info"], make_environment())
    return None if code == 0 else f"the engine of {engine} does not answer: {answer.strip()[-300:]}"


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
