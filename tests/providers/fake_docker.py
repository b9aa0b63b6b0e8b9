"""A program that answers like the command line of docker, as far as sandboxes use it. It is no engine: it runs the
command as a plain process and keeps a file for each "container". It shows which commands are sent and
what is made of the answers, not that docker isolates anything."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

FOLDER = Path(os.environ.get("DOCKER_HOST", "").removeprefix("fake://"))
WITH_VALUE = (
    "--name",
    "--label",
    "--pull",
    "--network",
    "--memory",
    "--memory-swap",
    "--pids-limit",
    "--ulimit",
    "--tmpfs",
    "--cap-drop",
    "--security-opt",
    "--user",
    "--volume",
    "--workdir",
    "--env",
    "--entrypoint",
)


def run(arguments: list[str]) -> int:
    options: dict[str, list[str]] = {}
    while arguments[0].startswith("--"):
        name = arguments.pop(0)
        options.setdefault(name, []).append(arguments.pop(0) if name in WITH_VALUE else "")
    image, *rest = arguments
    if image == "missing":
        print("docker: Error response from daemon: pull access denied for missing", file=sys.stderr)
        return 125
    [name], [entrypoint] = options["--name"], options["--entrypoint"]
    workspace = next(each.split(":")[0] for each in options["--volume"] if each.split(":")[1] == "/workspace")
    environment = dict(each.split("=", 1) for each in options["--env"])
    (FOLDER / f"{name}.options").write_text(json.dumps(options))
    try:
        process = subprocess.Popen(
            [entrypoint, *rest], cwd=workspace, env={"PATH": os.defpath, **environment}, start_new_session=True
        )
    except FileNotFoundError:
        print(f'docker: Error response from daemon: exec: "{entrypoint}": executable file not found', file=sys.stderr)
        return 127
    container = FOLDER / f"{name}.container"
    container.write_text(json.dumps({"Running": True, "Pid": process.pid, "OOMKilled": image == "small"}))
    # The container goes on without its client; the program ends with it all the same, as the engine keeps its state.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    code = process.wait()
    if container.exists():
        container.write_text(json.dumps({"Running": False, "Pid": 0, "OOMKilled": image == "small"}))
    return 128 - code if code < 0 else code


def read(name: str) -> "dict[str, object] | None":
    try:
        state: dict[str, object] = json.loads((FOLDER / f"{name}.container").read_text())
    except FileNotFoundError:
        return None
    return state


def main() -> int:
    (FOLDER / "log").open("a").write(json.dumps(sys.argv[1:]) + "\n")
    command, *arguments = sys.argv[1:]
    if command == "info":
        if (FOLDER / "down").exists():
            print("Cannot connect to the Docker daemon", file=sys.stderr)
            return 1
        print("Server Version: fake")
        return 0
    if command == "run":
        return run(arguments)
    name = arguments[-1]
    state = read(name)
    if state is None:
        print(f"Error: No such container: {name}", file=sys.stderr)
        return 1
    if command == "inspect":
        print(json.dumps(state) if "json" in arguments[1] else str(state["OOMKilled"]).lower())
    elif command == "rm" and not (FOLDER / "unkillable").exists():
        if state["Running"]:
            os.killpg(int(str(state["Pid"])), signal.SIGKILL)
        (FOLDER / f"{name}.container").unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
