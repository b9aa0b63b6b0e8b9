"""Traces by OpenTelemetry, if CALLBOARD_TRACING is set: the request that submits a task, its attempts, and their calls
of providers are one trace. Without it nothing is imported and nothing is done.

A span has no texts of exceptions, which may hold secrets, only their types. `providers` import this module too, so it
imports nothing of ours but the settings."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, Literal

from state.settings import get_settings

if TYPE_CHECKING:
    from opentelemetry.trace import Span

Kind = Literal["server", "consumer", "client"]

_SCOPE = "callboard"
_HEADER = "traceparent"


def is_tracing() -> bool:
    return get_settings().tracing


def configure_tracing(service: str) -> None:
    """Prepares this process to send its spans, as the variables OTEL_EXPORTER_OTLP_… say. To be called after a fork. A
    tracer provider that the program has set itself is used as it is."""
    if not is_tracing():
        return
    from opentelemetry import trace
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    if isinstance(trace.get_tracer_provider(), TracerProvider):
        return
    provider = TracerProvider(resource=Resource.create({"service.name": service}))  # OTEL_SERVICE_NAME overrides it
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)


def flush_traces() -> None:
    """Sends what has not been sent yet, before the process ends."""
    if is_tracing():
        from opentelemetry import trace

        flush = getattr(trace.get_tracer_provider(), "force_flush", None)
        if flush is not None:
            flush(2000)


def get_traceparent() -> str | None:
    """Returns the current span as W3C's header has it; None if there is none."""
    if not is_tracing():
        return None
    from opentelemetry.propagate import inject

    carrier: dict[str, str] = {}
    inject(carrier)
    return carrier.get(_HEADER)


@contextmanager
def open_span(
    name: str, kind: Kind, attributes: Mapping[str, Any], *, traceparent: str | None = None, current: bool = True
) -> Iterator["Span | None"]:
    """Opens a span, below the current one or below `traceparent`. Spans that are opened inside are below it if it is
    `current`; a generator's must not be, as its caller's code runs between its steps."""
    if not is_tracing():
        yield None
        return
    from opentelemetry import trace
    from opentelemetry.propagate import extract

    span = trace.get_tracer(_SCOPE).start_span(
        name,
        context=extract({_HEADER: traceparent}) if traceparent else None,
        kind=trace.SpanKind[kind.upper()],
        attributes=dict(attributes),
    )
    inside = trace.use_span(span, record_exception=False, set_status_on_exception=False) if current else nullcontext()
    try:
        with inside:
            yield span
    except BaseException as failure:
        note_failure(span, type(failure).__name__)
        raise
    finally:
        span.end()


def note_failure(span: "Span | None", error_type: str) -> None:
    if span is not None:
        from opentelemetry.trace import Status, StatusCode

        span.set_attribute("error.type", error_type)
        span.set_status(Status(StatusCode.ERROR))
