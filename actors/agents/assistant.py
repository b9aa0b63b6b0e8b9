"""An agent that works with a language model and tools: it reads, writes and runs in a workspace of its own, until the
model answers without calling a tool."""

from pathlib import PurePosixPath

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from actors.assistant.conversation import FILES, Conversation, TooManyTurns, Turn
from actors.assistant.files import KeptFiles, ResultFile, describe_files, keep_files, write_files
from actors.assistant.tools import Toolbox, shorten
from actors.language import LOCAL, choose_provider, list_known_gates, make_gates
from broker import AsyncContext, agent
from broker.execution.async_workspace import AsyncWorkspace
from providers.language.protocol import Message, ToolCall
from state.gates import Gate
from state.masking import mask_ends

_MAX_FILES = 1024 * 1024  # bytes of all given files together
_SHOWN = 2000  # characters of arguments and results in events; masked before they are cut

SYSTEM = """You are an assistant that works in a folder, the workspace. Use the tools to read and write its files and \
to run commands in it; paths are relative to it. Check your work by running it where that is possible. When the task \
is done, or cannot be done, answer in a few sentences without calling a tool."""


class RunInput(BaseModel):
    model_config = ConfigDict(extra="forbid")

    instruction: str = Field(min_length=1, max_length=200_000)
    files: dict[str, str] = Field(
        default_factory=dict, max_length=100, description="Texts by path: what is in the workspace at first."
    )
    max_turns: int = Field(12, ge=1, le=50, description="Answers of the model.")
    timeout_seconds: float = Field(60, gt=0, le=600, description="For each command.")
    provider: str | None = Field(None, description="Unset: openrouter if it has its key, else local.")
    model: str | None = Field(None, min_length=1, max_length=200, description="Unset: the provider's own.")

    @field_validator("files")
    @classmethod
    def _check_files(cls, files: dict[str, str]) -> dict[str, str]:
        for path in files:
            parts = PurePosixPath(path).parts
            if not parts or path.startswith("/") or ".." in parts:
                raise ValueError(f"{path!r} is not a path inside the workspace")
        if sum(len(text.encode("utf-8", "replace")) for text in files.values()) > _MAX_FILES:
            raise ValueError(f"the files have more than {_MAX_FILES} bytes together")
        return files

    @model_validator(mode="after")
    def _check_provider(self) -> "RunInput":
        if choose_provider(self.provider) == LOCAL and self.model is not None:
            raise ValueError("Provider local has no models to choose from: set OPENROUTER_API_KEY, or leave it out")
        return self


class RanCommand(BaseModel):
    command: str
    exit_code: int = Field(description="Negative: the signal that ended it.")


class RunResult(BaseModel):
    text: str
    turns: int
    files: dict[str, ResultFile]
    commands: list[RanCommand]
    provider: str
    model: str


def provider_gate(request: RunInput) -> list[Gate]:
    return make_gates(choose_provider(request.provider))


@agent("assistant", "run", gates=provider_gate, known_gates=list_known_gates, role="operator")
async def run(ctx: AsyncContext, request: RunInput) -> RunResult:
    """Works on an instruction with a language model that reads, writes and runs in a workspace."""
    opening = [Message(role="system", content=SYSTEM), Message(role="user", content=_describe_task(request))]
    provider = choose_provider(request.provider)
    conversation = Conversation(ctx, provider, request.model, opening, request.max_turns)
    conversation.count_usage()
    async with ctx.workspace() as workspace:
        await _restore_files(ctx, workspace, conversation, request)
        last = await _converse(ctx, workspace, conversation, request)
        return RunResult(
            text=last.text,
            turns=len(conversation.turns),
            files=await workspace.call(describe_files),
            commands=_list_commands(conversation.turns),
            provider=conversation.provider,
            model=last.model,
        )


def _describe_task(request: RunInput) -> str:
    if not request.files:
        return request.instruction
    return f"{request.instruction}\n\nThe workspace has these files: {', '.join(sorted(request.files))}"


async def _restore_files(
    ctx: AsyncContext, workspace: AsyncWorkspace, conversation: Conversation, request: RunInput
) -> None:
    """Fills the workspace: with the given files, or with those of an earlier attempt."""
    saved = ctx.checkpoint.get(FILES)
    if saved is None:
        await workspace.call(lambda folder: write_files(folder, request.files))
        return
    kept = KeptFiles.model_validate(saved)
    await workspace.call(kept.restore)
    if kept.left_out:
        names = shorten(", ".join(kept.left_out), _SHOWN)
        await conversation.tell(f"The workspace was moved. What did not fit into the move is gone: {names}")


async def _converse(
    ctx: AsyncContext, workspace: AsyncWorkspace, conversation: Conversation, request: RunInput
) -> Turn:
    """Returns the turn in which the model calls no tool."""
    while True:
        turn = conversation.last
        if turn is None or turn.is_done:
            if turn is not None and not turn.calls:
                return turn
            number = len(conversation.turns) + 1
            if number > conversation.max_turns:
                raise await _give_up(workspace, conversation)
            ctx.progress(None, f"Turn {number} of at most {conversation.max_turns}")
            turn = await conversation.ask()
        for call in turn.calls[len(turn.results) :]:
            # What has run should not run again. A program that runs is stopped all the same.
            await ctx.shielded(_carry_out(ctx, workspace, conversation, call, request.timeout_seconds))


async def _carry_out(
    ctx: AsyncContext, workspace: AsyncWorkspace, conversation: Conversation, call: ToolCall, seconds: float
) -> None:
    about = {"turn": len(conversation.turns), "call": call.id, "name": call.name}
    await ctx.emit("tool", {**about, "arguments": mask_ends(call.arguments, _SHOWN)})
    result = await workspace.call(lambda folder: Toolbox(folder, seconds).run(call))
    await conversation.add_result(result, await workspace.call(keep_files))
    await ctx.emit("tool", {**about, "result": mask_ends(result.content, _SHOWN), "exit_code": result.exit_code})


def _list_commands(turns: list[Turn]) -> list[RanCommand]:
    return [
        RanCommand(command=result.command, exit_code=result.exit_code)
        for turn in turns
        for result in turn.results
        if result.command is not None and result.exit_code is not None
    ]


async def _give_up(workspace: AsyncWorkspace, conversation: Conversation) -> TooManyTurns:
    """Returns the error, with as much of what was done as the details of an error can hold."""
    commands = _list_commands(conversation.turns)
    return TooManyTurns(
        len(conversation.turns),
        text=mask_ends(conversation.turns[-1].text, _SHOWN),
        commands=[{"command": mask_ends(each.command, 200), "exit_code": each.exit_code} for each in commands[-10:]],
        files=[shorten(path, 100) for path in list(await workspace.call(describe_files))[:30]],
    )
