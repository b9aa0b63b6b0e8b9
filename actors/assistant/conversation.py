"""The conversation of an assistant with its model. Each answer is saved when it is complete, and each result of a tool
when the tool has run, so that a later attempt goes on where this one ended: no answer is paid for twice."""

import asyncio
from collections.abc import Sequence
from contextlib import aclosing, suppress
from typing import Any, ClassVar

from pydantic import BaseModel

from actors.assistant.files import KeptFiles
from actors.assistant.tools import MAX_CALLS, ToolResult, list_tools, shorten
from broker import AsyncContext, TokenLimitExceeded
from providers.language import registry
from providers.language.protocol import Completion, Message, ToolCall
from state import jsonsafe
from state.http_errors import Category

_LONGEST_PIECE = 1_000_000
_MAX_RESULTS = 200_000  # characters of results that the model gets in full; the oldest are shortened first
_OLD_RESULT = 500  # characters of a result that is shortened
FILES = "files"  # the key of the kept files in the checkpoint


class TooManyTurns(Exception):
    """The model did not finish in the turns that it had. What it did is in the details, and in the checkpoint."""

    category: ClassVar[Category] = "permanent"

    def __init__(self, turns: int, **done: Any) -> None:
        super().__init__(f"The assistant did not finish within {turns} turns. Revived, it goes on for as many again.")
        self.details = {"turns": turns, **done}


class Turn(BaseModel):
    """An answer of the model with the results of the tools that it called."""

    text: str
    calls: list[ToolCall] = []
    reasoning_details: list[dict[str, Any]] | None = None
    provider: str
    model: str
    tokens: int
    cost: float
    total: int  # tokens of the task with this answer: says after a crash whether they were counted
    results: list[ToolResult] = []
    note: str | None = None  # from us to the model, after the results

    @property
    def is_done(self) -> bool:
        return len(self.results) == len(self.calls)

    def to_messages(self) -> list[Message]:
        answer = Message(
            role="assistant",
            content=self.text,
            tool_calls=self.calls or None,
            reasoning_details=self.reasoning_details,
        )
        results = [
            Message(role="tool", content=result.content, tool_call_id=call.id)
            for call, result in zip(self.calls, self.results, strict=False)
        ]
        return [answer, *results, *([Message(role="user", content=self.note)] if self.note else [])]


class Conversation:
    def __init__(
        self, ctx: AsyncContext, provider: str, model: str | None, opening: Sequence[Message], max_turns: int
    ) -> None:
        self._ctx = ctx
        self._model = model
        self._opening = opening
        self.turns = _load_turns(ctx)
        # Another worker may have other keys. It must not go on with a provider that nobody has chosen.
        self.provider = self.turns[0].provider if self.turns else provider
        # A person who revives the task gives it more attempts, and here as many turns again.
        saved = ctx.checkpoint.get("allowance")
        if saved is None or saved["max_attempts"] != ctx.max_attempts:
            saved = {"max_attempts": ctx.max_attempts, "turns": len(self.turns) + max_turns}
        self._allowance: dict[str, int] = saved

    @property
    def last(self) -> Turn | None:
        return self.turns[-1] if self.turns else None

    @property
    def max_turns(self) -> int:
        return self._allowance["turns"]

    def count_usage(self) -> None:
        """Counts the answers that were saved and not counted, because the process died in between. Raises
        TokenLimitExceeded if there is nothing left for another answer."""
        missing = [turn for turn in self.turns if turn.total > self._ctx.tokens]
        self._ctx.use(tokens=sum(turn.tokens for turn in missing), cost=sum(turn.cost for turn in missing))

    async def ask(self) -> Turn:
        """Returns the next answer, which is saved and counted, and emits its pieces as `token` events."""
        number = len(self.turns) + 1
        completion = registry.get(self.provider).complete(self._make_messages(), tools=list_tools(), model=self._model)
        try:
            async with aclosing(completion):  # if the task is interrupted, the model stops too
                async for piece in completion:
                    await self._ctx.emit("token", {"text": jsonsafe.clean_text(piece, _LONGEST_PIECE), "turn": number})
            await self._add(completion)
        except asyncio.CancelledError:
            if completion.finished:  # it is paid for
                if len(self.turns) < number:
                    await self._add(completion)
                with suppress(TokenLimitExceeded):
                    self._count(self.turns[-1])
            raise
        self._count(self.turns[-1])
        return self.turns[-1]

    def _make_messages(self) -> list[Message]:
        messages = [*self._opening, *(message for turn in self.turns for message in turn.to_messages())]
        room = _MAX_RESULTS
        for message in reversed(messages):
            if message.role == "tool":
                if len(message.content) > room:
                    message.content = shorten(message.content, _OLD_RESULT)
                room -= len(message.content)
        return messages

    def _count(self, turn: Turn) -> None:
        self._ctx.use(tokens=turn.tokens, cost=turn.cost)

    async def _add(self, completion: Completion) -> None:
        usage = completion.usage
        turn = Turn(
            text=jsonsafe.clean_text(completion.text, len(completion.text)),
            calls=[_clean_call(call) for call in completion.tool_calls[:MAX_CALLS]],
            reasoning_details=_keep_if_safe(completion.reasoning_details) or None,
            provider=self.provider,
            model=completion.model,
            tokens=usage.tokens,
            cost=usage.cost or 0.0,
            total=self._ctx.tokens + usage.tokens,
        )
        await self._save(len(self.turns) + 1, turn)
        self.turns.append(turn)

    async def add_result(self, result: ToolResult, files: KeptFiles) -> None:
        """Saves the result of the next call of the last turn, with the files as they are after it."""
        turn = self.turns[-1]
        turn.results.append(result)
        kept = files.model_dump()
        await self._save(len(self.turns), turn, **({FILES: kept} if kept != self._ctx.checkpoint.get(FILES) else {}))

    async def tell(self, note: str) -> None:
        """Tells the model something before its next turn."""
        if self.turns and self.turns[-1].calls:
            self.turns[-1].note = note
            await self._save(len(self.turns), self.turns[-1])

    async def _save(self, number: int, turn: Turn, **more: Any) -> None:
        key = f"turn_{number}"
        await self._ctx.save(**{key: turn.model_dump(exclude_none=True), "allowance": self._allowance, **more})


def _load_turns(ctx: AsyncContext) -> list[Turn]:
    turns: list[Turn] = []
    while (saved := ctx.checkpoint.get(f"turn_{len(turns) + 1}")) is not None:
        turns.append(Turn.model_validate(saved))
    return turns


def _clean_call(call: ToolCall) -> ToolCall:
    return ToolCall(
        id=jsonsafe.clean_text(call.id, 200),
        name=jsonsafe.clean_text(call.name, 200),
        arguments=jsonsafe.clean_text(call.arguments, len(call.arguments)),
        extra_content=_keep_if_safe(call.extra_content),
    )


def _keep_if_safe(value: Any) -> Any:
    """Returns the value, None if it cannot be stored."""
    try:
        jsonsafe.check(value)
    except jsonsafe.UnsafeJson:
        return None
    return value
