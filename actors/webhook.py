"""Webhooks: tells the receiver that a task has moved, signed as Standard Webhooks says. The task of the delivery is
queued by the move itself (state/functions/queue_webhooks.sql, which has the same queue, limits and age)."""

import asyncio
import time
from functools import partial

from pydantic import BaseModel, ConfigDict, Field

from broker import AsyncContext, task
from providers.errors import InvalidInput, ProviderError
from providers.guarded import ConnectionPolicy
from providers.webhooks import Answer, send_webhook
from state.finishing import finish
from state.gates import Gate
from state.settings import get_settings
from state.tasks.catalog import RetryPolicy
from state.webhooks.messages import Message, read_message
from state.webhooks.secrets import get_signing_secrets
from state.webhooks.signatures import sign

MAX_ATTEMPTS = 10
AT_ONCE = 2  # deliveries to one receiver: a slow one holds so many places of the cluster, and nobody else up
AT_ONCE_OF_TENANT = 8  # deliveries to all receivers of a tenant, who may name as many as they like
_MINUTE, _HOUR = 60.0, 3600.0

SCHEDULE = (
    5.0, 5 * _MINUTE, 30 * _MINUTE, 2 * _HOUR, 5 * _HOUR, 10 * _HOUR, 14 * _HOUR, 20 * _HOUR, 24 * _HOUR
)  # fmt: skip
"""Seconds before each further attempt, as the standard suggests: three days in all."""


class WebhookRequest(BaseModel):
    """Ids only. The URL and the secret are read when the message is sent."""

    model_config = ConfigDict(extra="forbid")

    task_id: str = Field(pattern=r"^tq_[0-9a-f]{32}$")
    n: int = Field(ge=1)
    gate: str


class Delivered(BaseModel):
    status: int
    duration_ms: int


def list_gates(request: WebhookRequest) -> list[Gate]:
    tenant = request.gate.removeprefix("webhook:").partition("/")[0]
    return [Gate(request.gate, AT_ONCE, breaker=True), Gate(f"webhooks:{tenant}", AT_ONCE_OF_TENANT)]


@task(
    queue="webhooks",
    max_attempts=MAX_ATTEMPTS,
    max_age=4 * 24 * _HOUR,  # a receiver that is down costs no attempts while its breaker is open
    time_limit=120,
    policy=RetryPolicy(default=SCHEDULE),
    gates=list_gates,
    created_by="the moves of tasks that have a webhook_url",
)
async def webhook(ctx: AsyncContext, request: WebhookRequest) -> Delivered:
    """Delivers an event of a task to its webhook."""
    message, headers = await ctx.run_verb(partial(_prepare, request))
    try:
        answer = await _send(ctx, message, headers)
    except ProviderError as failure:
        failure.retry_after = choose_wait(failure.retry_after, ctx.attempt, ctx.max_attempts)
        raise
    return Delivered(status=answer.status, duration_ms=answer.duration_ms)


def _prepare(request: WebhookRequest) -> tuple[Message, dict[str, str]]:
    message = read_message(request.task_id, request.n)
    if message is None:
        raise InvalidInput(f"Task {request.task_id} has no event {request.n} to deliver.")
    return message, _make_headers(message)


async def _send(ctx: AsyncContext, message: Message, headers: dict[str, str]) -> Answer:
    """Waits for the answer also at a pause or a shutdown: a message that was accepted must not be sent again. A cancel
    closes the connection."""
    sending = asyncio.ensure_future(send_webhook(message.url, message.body, headers, make_policy()))

    def stop_if_canceled() -> None:
        if ctx.request in ("cancel", "force"):
            sending.cancel()

    try:
        return await finish(sending, stop_if_canceled)
    except asyncio.CancelledError:
        if sending.cancelled() or sending.exception() is not None:
            raise
        return sending.result()


def make_policy() -> ConnectionPolicy:
    settings = get_settings()
    trusted = {host.replace("[", "").replace("]", "") for host in settings.webhook_hosts}  # as an IPv6 host is compared
    return ConnectionPolicy(frozenset(trusted), settings.webhook_seconds)


def _make_headers(message: Message) -> dict[str, str]:
    """Each attempt is signed anew, with the secrets of its moment: a rotation between two attempts loses nothing."""
    timestamp = int(time.time())  # receivers compare it with their own clocks
    secrets = [each.secret for each in get_signing_secrets(message.tenant)]
    return {
        "Content-Type": "application/json",
        "User-Agent": "Callboard",
        "webhook-id": message.id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": sign(secrets, message.id, timestamp, message.body),
    }


def choose_wait(requested: float | None, attempt: int, max_attempts: int) -> float | None:
    """A receiver may ask for a longer wait than that of the schedule, not for a shorter one: ten attempts within a
    minute would be the last."""
    if requested is None:
        return None
    since_revived = attempt - (max_attempts - MAX_ATTEMPTS)
    return max(requested, SCHEDULE[min(since_revived, len(SCHEDULE)) - 1])
