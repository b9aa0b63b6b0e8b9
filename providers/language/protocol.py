"""The interface of language providers: messages in, a stream of text out, the calls of tools and the usage at its
end."""

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from pydantic import BaseModel


class Tool(BaseModel):
    """A function that the model may call; `parameters` is the JSON schema of its arguments."""

    name: str
    description: str
    parameters: dict[str, Any]


class ToolCall(BaseModel):
    """A call that the model has asked for. `arguments` is the model's own text, which may be malformed JSON."""

    id: str
    name: str
    arguments: str
    extra_content: dict[str, Any] | None = None
    """What the service wants back with the call, such as Gemini's signature of its thoughts."""


class Message(BaseModel):
    """A message with the role `tool` is the result of a call. Each call of an `assistant` message needs one, before any
    other message."""

    role: Literal["system", "user", "assistant", "tool"]
    content: str
    tool_calls: list[ToolCall] | None = None
    tool_call_id: str | None = None
    reasoning_details: list[dict[str, Any]] | None = None
    """OpenRouter's account of the model's reasoning; some models refuse to go on without it."""


@dataclass
class Usage:
    """Set by the provider while the completion is read; final at its end."""

    tokens_in: int = 0
    tokens_out: int = 0
    cost: float | None = None
    is_final: bool = False

    @property
    def tokens(self) -> int:
        return self.tokens_in + self.tokens_out


class Completion:
    """An answer that is being generated. Iterate over its pieces once; then it is finished, and text, model, calls and
    usage are complete."""

    def __init__(
        self,
        pieces: AsyncGenerator[str, None],
        usage: Usage,
        model: str,
        tool_calls: list[ToolCall] | None = None,
        reasoning_details: list[dict[str, Any]] | None = None,
    ) -> None:
        """The provider fills usage and the lists while the pieces are read."""
        self._pieces = pieces
        self.usage = usage
        self.model = model
        self.tool_calls = tool_calls if tool_calls is not None else []
        self.reasoning_details = reasoning_details if reasoning_details is not None else []
        self.text = ""
        self._exhausted = False

    @property
    def finished(self) -> bool:
        """Whether it is complete: also if it is interrupted between its last piece and its end."""
        return self._exhausted or self.usage.is_final

    async def __aiter__(self) -> AsyncIterator[str]:
        async for piece in self._pieces:
            self.text += piece
            yield piece
        self._exhausted = True

    async def aclose(self) -> None:
        """Stops before the end. A remote model stops generating."""
        await self._pieces.aclose()

    async def read(self) -> str:
        """Returns the whole text."""
        async for _ in self:
            pass
        return self.text


class LanguageProvider(Protocol):
    """Raises only ProviderError, from `complete` or while its pieces are read. No method blocks for long: others share
    the event loop."""

    @property
    def name(self) -> str: ...
    def find_missing_variable(self) -> str | None:
        """Returns the environment variable that has to be set first, None if the provider can be used."""

    def complete(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int | None = None,
        max_sentences: int | None = None,
        tools: Sequence[Tool] = (),
        model: str | None = None,
    ) -> Completion:
        """Without a model, the provider's own default."""
