"""A process that has imported what the `callboard` command needs, and forks one process for each command of a test. The
command runs as always, in a process of its own with its own environment; only its imports are done already."""

import json
import os
import signal
import socket
import sys
from pathlib import Path
from typing import Any

PRELOADED = (
    "deploy.cli", "deploy.cli.connection", "deploy.cli.output", "deploy.cli.payloads", "deploy.cli.store",
    "deploy.cli.local", "deploy.cli.workflows", "deploy.cli.projects", "state.schema.migration", "dramatiq",
)  # fmt: skip


def main(channel: socket.socket) -> None:
    sys.path.insert(0, str(Path.cwd()))
    for module in PRELOADED:
        __import__(module)
    with channel, channel.makefile("rwb") as lines:
        for line in lines:
            lines.write(b"%d\n" % _run(json.loads(line)))
            lines.flush()


def _run(command: dict[str, Any]) -> int:
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    code = 1
    try:
        code = _become(command)
    finally:
        os._exit(code)


def _become(command: dict[str, Any]) -> int:
    from deploy.cli import main as run_command

    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.clear()
    os.environ.update(command["environment"])
    for number, (name, flags) in enumerate((("stdin", os.O_RDONLY), ("stdout", os.O_WRONLY), ("stderr", os.O_WRONLY))):
        os.dup2(os.open(command[name], flags), number)
    sys.argv = ["callboard", *command["arguments"]]
    try:
        run_command()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()


if __name__ == "__main__":
    main(socket.socket(fileno=int(sys.argv[1])))
