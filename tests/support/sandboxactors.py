"""Actors that run programs."""

from typing import Any

from pydantic import BaseModel

from broker import Context, task


class CommandsRequest(BaseModel):
    commands: list[list[str]]
    limits: dict[str, int] = {}
    files: dict[str, str] = {}


@task(queue="test", max_attempts=1)
def limited_commands(ctx: Context, request: CommandsRequest) -> list[dict[str, Any]]:
    """Runs commands with limits of their own."""
    results = [ctx.sandbox(command, timeout_seconds=120, **request.limits) for command in request.commands]
    return [{"exit_code": each.exit_code, "limit": each.limit, "kind": each.kind} for each in results]


@task(queue="test", max_attempts=3)
def in_workspace(ctx: Context, request: CommandsRequest) -> dict[str, Any]:
    """Runs commands in one folder, and returns the files that are there in the end."""
    with ctx.workspace() as workspace:
        for path, text in request.files.items():
            workspace.write(path, text.encode())
        outputs = [workspace.run(command, timeout_seconds=120).output for command in request.commands]
        return {"outputs": outputs, "files": {path: workspace.read(path).decode() for path in workspace.list()}}
