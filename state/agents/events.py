"""Agent events: what agents have done, and the search for those that resemble a text.

By vector where the database has pgvector and the text can be embedded; else by words. The answer says which."""

from datetime import datetime
from functools import lru_cache
from typing import Any, Literal

from pydantic import BaseModel, Field

from state import jsonsafe
from state.access.caller import SYSTEM, Caller
from state.agents.embedder import Embedded, NotEmbedded, embed, is_comparable
from state.database import AnyConnection, Parameters, Row, fetch, fetch_one, retrying
from state.errors import AgentEventNotFound, LeaseLost
from state.logs import log
from state.masking import mask
from state.tasks.reads import DEFAULT_LIMIT

MAX_LIMIT = 100
LONGEST_WORDS = 2_000  # characters of a text of which words are searched
LONGEST_EMBEDDED = 8_000  # characters that are embedded: models take about as many tokens; words are those of as many

_OLDEST = (0, 8)  # the pgvector that goes on searching until enough events pass the filter


class FoundEvent(BaseModel):
    event_id: str
    task_id: str
    workflow_id: str | None
    tenant: str | None
    agent_name: str
    task_type: str
    text: str
    score: float = Field(description="Higher is nearer. Scores of the two methods cannot be compared.")
    created_at: datetime


class ListedEvent(BaseModel):
    event_id: str
    task_id: str
    workflow_id: str | None
    tenant: str | None
    agent_name: str
    task_type: str
    text: str = Field(description="Its first 1,000 characters.")
    created_at: datetime


class Found(BaseModel):
    """Events that resemble a text, the nearest first."""

    items: list[FoundEvent]
    method: Literal["vector", "text"]
    note: str | None = Field(description="Why the search was by text, or which events it could not find.")


class Query(BaseModel):
    """A text to search for: its vector, or the reason why there is none."""

    text: str
    vector: list[float] | None = None
    model: str = ""
    tokens: int = 0
    reason: str | None = None


def search(
    text: str,
    *,
    tenant: str | None = None,
    any_tenant: bool = False,
    agent_name: str | None = None,
    task_type: str | None = None,
    limit: int = 10,
    caller: Caller = SYSTEM,
) -> Found:
    """Returns the events that resemble a text. Without `any_tenant`, only those of the tenant; None has its own. A
    caller with a tenant finds only those of its own."""
    query = make_query(text, explain_missing_vectors())
    filters = {"agent_name": agent_name, "task_type": task_type}
    return find(query, tenant=tenant, any_tenant=any_tenant, limit=limit, caller=caller, **filters)


@retrying
def explain_missing_vectors() -> str | None:
    """Returns why this database cannot search by vector, and what to do; None if it can."""
    row = fetch_one("vector_support", {})
    assert row is not None  # noqa: S101  (always one row)
    if row["version"] is None and row["available"]:
        return (
            "pgvector is not in this database: run `CREATE EXTENSION vector` as its superuser, then `callboard migrate`"
        )
    if row["version"] is None:
        return "this Postgres has no pgvector: install the extension `vector` there, then run `callboard migrate`"
    if _parse_version(row["version"]) < _OLDEST:
        oldest = ".".join(map(str, _OLDEST))
        return f"pgvector {row['version']} is too old: {oldest} or newer is needed"
    return None


def make_query(text: str, missing: str | None) -> Query:
    """Embeds a text, unless something is `missing` without which a vector is of no use. Asks a provider: it may take a
    few seconds."""
    text = jsonsafe.clean_text(text, LONGEST_EMBEDDED)
    if missing is not None:
        return Query(text=text, reason=missing)
    try:
        embedded: Embedded = embed(text)
    except NotEmbedded as failure:
        return Query(text=text, reason=mask(str(failure)))
    return Query(text=text, vector=embedded.vector, model=embedded.model, tokens=embedded.tokens)


@retrying
def find(
    query: Query,
    *,
    tenant: str | None = None,
    any_tenant: bool = False,
    agent_name: str | None = None,
    task_type: str | None = None,
    limit: int = 10,
    caller: Caller = SYSTEM,
) -> Found:
    """Searches by the query's vector. Without one, or if no event has a vector of its model, by its words."""
    limit = max(1, min(limit, MAX_LIMIT))
    filters: Parameters = {
        "tenant": tenant or caller.tenant,
        "any_tenant": any_tenant and caller.tenant is None,
        "scope": caller.tenant,
        "agent_name": agent_name,
        "task_type": task_type,
    }
    reason = query.reason
    if query.vector is not None:
        by_model: Parameters = {**filters, "model": query.model}
        rows = fetch("agent_events_by_vector", {**by_model, "vector": query.vector, "limit": limit})
        left_out = fetch("agent_events_left_out", by_model)[0]["events"]
        missing = None if rows else explain_missing_vectors()  # it may be gone since the text was embedded
        if rows or not (left_out or missing):
            return Found(items=_to_events(rows), method="vector", note=_describe_left_out(left_out, query.model))
        reason = missing or f"no event that could be found has a vector of the model {query.model}"
    rows = fetch("agent_events_by_text", {**filters, "text": query.text[:LONGEST_WORDS], "limit": limit})
    note = f"Searched by words, not by vectors: {reason}."
    _log_once(note)
    return Found(items=_to_events(rows), method="text", note=note)


@retrying
def list_events(
    *,
    agent_name: str | None = None,
    task_type: str | None = None,
    tenant: str | None = None,
    text: str | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    before: str | None = None,
    limit: int = DEFAULT_LIMIT,
    caller: Caller = SYSTEM,
) -> list[ListedEvent]:
    """Newest first. `text`: only events with all of its words. `since`: the first moment, `until`: the first one after
    them. `before`: the last id of the previous page."""
    wanted = {
        "agent_name": agent_name,
        "task_type": task_type,
        "tenant": tenant,
        "scope": caller.tenant,
        "since": since and since.isoformat(),
        "until": until and until.isoformat(),
    }
    words = None if text is None else jsonsafe.clean_text(text, LONGEST_WORDS)
    rows = fetch("agent_events", {"wanted": jsonsafe.dump(wanted), "text": words, "before": before, "limit": limit})
    return [ListedEvent.model_construct(**row) for row in rows]


@retrying
def get_event(event_id: str, *, caller: Caller = SYSTEM) -> Row:
    row = fetch_one("agent_event", {"id": event_id, "scope": caller.tenant})
    if row is None:
        raise AgentEventNotFound(event_id)
    return row


@retrying
def get_event_text(event_id: str, *, caller: Caller = SYSTEM) -> str:
    """Returns the text to embed."""
    row = fetch_one("agent_event_text", {"id": event_id, "scope": caller.tenant})
    if row is None:
        raise AgentEventNotFound(event_id)
    return str(row["text"])[:LONGEST_EMBEDDED]


def store_embedding(
    worker: str, task_id: str, epoch: int, event_id: str, vector: list[float], model: str, conn: AnyConnection
) -> None:
    """Stores the vector of an event for the execution that embeds it. A repetition does no harm. Raises LeaseLost if
    the execution does not own its task any more."""
    if not is_comparable(vector):
        raise ValueError(f"{model} gave a vector that cannot be compared with others")
    parameters: Parameters = {
        "worker": worker,
        "task_id": task_id,
        "epoch": epoch,
        "id": event_id,
        "vector": vector,
        "model": model,
    }
    if fetch_one("agent_event_embed", parameters, conn) is None:
        raise LeaseLost(task_id, epoch)


def _to_events(rows: list[dict[str, Any]]) -> list[FoundEvent]:
    return [FoundEvent.model_construct(**row) for row in rows]


def _describe_left_out(events: int, model: str) -> str | None:
    if not events:
        return None
    count = f"{events} events" if events > 1 else "1 event"
    return f"{'At least ' if events >= 1000 else ''}{count} could not be found: without a vector of {model} as yet."


def _parse_version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".")[:2] if part.isdecimal())


@lru_cache(maxsize=100)
def _log_once(note: str) -> None:
    log.warning("agent events are searched by words", note=note)
