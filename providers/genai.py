"""Spans of calls to models, with the attributes of OpenTelemetry's conventions for generative AI. They name the model
and count the tokens, and have none of the texts."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

from state.tracing import open_span

Operation = Literal["chat", "embeddings", "generate_content"]


class ModelCall:
    """What is known of a call when it has ended."""

    def __init__(self) -> None:
        self.tokens_in: int | None = None
        self.tokens_out: int | None = None


@contextmanager
def trace_call(operation: Operation, provider: str, model: str | None = None) -> Iterator[ModelCall]:
    call = ModelCall()
    attributes = {"gen_ai.operation.name": operation, "gen_ai.provider.name": provider}
    if model is not None:
        attributes["gen_ai.request.model"] = model
    with open_span(f"{operation} {model or provider}", "client", attributes, current=False) as span:
        try:
            yield call
        finally:
            if span is not None:
                for name, tokens in (("input", call.tokens_in), ("output", call.tokens_out)):
                    if tokens is not None:
                        span.set_attribute(f"gen_ai.usage.{name}_tokens", tokens)
