"""The assistant's tools: they read, write and list files of its workspace, and run commands in it. Whatever is wrong
with a call is told to the model, as the result of the call."""

import json
from collections.abc import Callable
from typing import Any

from pydantic import BaseModel, Field, ValidationError

from broker.execution.workspace import Workspace
from providers.language.protocol import Tool, ToolCall
from state import jsonsafe

MAX_CALLS = 16  # of one answer that are carried out
_MAX_RESULT = 20_000  # characters of a result that the model gets
_MAX_LISTED = 1000
_MAX_COMMAND = 100_000  # bytes; Linux takes 131,071 for one argument


class ToolResult(BaseModel):
    content: str
    command: str | None = None
    exit_code: int | None = None


class ReadFile(BaseModel):
    """Read a text file of the workspace."""

    path: str = Field(description="Relative to the workspace.")


class WriteFile(BaseModel):
    """Write a text file into the workspace. An existing file is replaced."""

    path: str = Field(description="Relative to the workspace; missing folders are made.")
    content: str


class ListFiles(BaseModel):
    """List all files of the workspace."""


class RunCommand(BaseModel):
    """Run a shell command in the workspace, and get its output and exit code. No input, no terminal."""

    command: str = Field(min_length=1)


class Toolbox:
    def __init__(self, workspace: Workspace, timeout_seconds: float) -> None:
        self._workspace = workspace
        self._timeout = timeout_seconds

    def run(self, call: ToolCall) -> ToolResult:
        """Carries out a call. Only interrupts, and faults that are not the model's, are raised."""
        try:
            if call.name not in _TOOLS:
                raise ValueError(f"There is no tool {call.name!r}. The tools are {', '.join(_TOOLS)}.")
            model, carry_out = _TOOLS[call.name]
            return carry_out(self, model.model_validate(_parse_arguments(call.arguments)))
        except ValidationError as wrong:
            first = wrong.errors()[0]
            return _refuse(f"{'.'.join(map(str, first['loc']))}: {first['msg']}")
        except UnicodeError:
            return _refuse("The text cannot be encoded as UTF-8.")
        except ValueError as wrong:
            return _refuse(str(wrong))
        except OSError as wrong:  # its own text names folders of this machine
            return _refuse(wrong.strerror or type(wrong).__name__)

    def _read_file(self, request: ReadFile) -> ToolResult:
        text = self._workspace.read(request.path).decode("utf-8", "replace")
        return ToolResult(content=shorten(text, _MAX_RESULT) or "(the file is empty)")

    def _write_file(self, request: WriteFile) -> ToolResult:
        data = request.content.encode()
        self._workspace.write(request.path, data)
        return ToolResult(content=jsonsafe.clean_text(f"Wrote {len(data)} bytes to {request.path}."))

    def _list_files(self, request: ListFiles) -> ToolResult:  # noqa: ARG002
        names = self._workspace.list()
        more = [f"… ({len(names) - _MAX_LISTED} more)"] if len(names) > _MAX_LISTED else []
        return ToolResult(content=shorten("\n".join([*names[:_MAX_LISTED], *more]), _MAX_RESULT) or "(no files)")

    def _run_command(self, request: RunCommand) -> ToolResult:
        if len(request.command.encode()) > _MAX_COMMAND:
            raise ValueError(f"The command has more than {_MAX_COMMAND} bytes. Write a script and run that.")
        if "\0" in request.command:
            raise ValueError("The command contains a NUL character.")
        result = self._workspace.run(["/bin/sh", "-c", request.command], timeout_seconds=self._timeout)
        lines = [shorten(result.output, _MAX_RESULT).rstrip("\n")] if result.output else []
        if result.truncated:
            lines.append("(the rest of the output was not kept)")
        if result.timed_out:
            lines.append(f"(killed after {self._timeout:g} s)")
        lines.append(f"(exit code {result.exit_code})")
        command = jsonsafe.clean_text(request.command)
        return ToolResult(content="\n".join(lines), command=command, exit_code=result.exit_code)


_TOOLS: dict[str, tuple[type[BaseModel], Callable[[Toolbox, Any], ToolResult]]] = {
    "read_file": (ReadFile, Toolbox._read_file),
    "write_file": (WriteFile, Toolbox._write_file),
    "list_files": (ListFiles, Toolbox._list_files),
    "run_command": (RunCommand, Toolbox._run_command),
}


def list_tools() -> list[Tool]:
    """Returns the tools as they are described to the model."""
    return [
        Tool(name=name, description=model.__doc__ or "", parameters=_make_schema(model))
        for name, (model, _) in _TOOLS.items()
    ]


def shorten(text: str, limit: int) -> str:
    """Returns the start and the end of a text that is too long: errors are at the end of an output."""
    clean = jsonsafe.clean_text(text, len(text))
    if len(clean) <= limit:
        return clean
    half = limit // 2
    return f"{clean[:half]}\n… ({len(clean) - 2 * half} characters are left out here) …\n{clean[-half:]}"


def _make_schema(model: type[BaseModel]) -> dict[str, Any]:
    schema = model.model_json_schema()
    properties = {
        name: {key: value for key, value in field.items() if key != "title"}
        for name, field in schema["properties"].items()
    }
    return {"type": "object", "properties": properties, "required": schema.get("required", [])}


def _parse_arguments(arguments: str) -> dict[str, Any]:
    try:
        parsed = json.loads(arguments or "{}")
    except (ValueError, RecursionError) as wrong:
        raise ValueError(f"The arguments are not valid JSON: {wrong}") from None
    if not isinstance(parsed, dict):
        raise ValueError("The arguments are not a JSON object.")
    return parsed


def _refuse(reason: str) -> ToolResult:
    return ToolResult(content=shorten(f"Error: {reason}", _MAX_RESULT))
