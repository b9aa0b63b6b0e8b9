"""Stored prompts: texts that tasks can name by an id, for each tenant."""

from state import jsonsafe
from state.access.caller import SYSTEM, Caller
from state.access.permissions import choose_tenant
from state.database import Row, fetch_one, retrying
from state.errors import InvalidPayload, PromptNotFound

MAX_ID = 200
MAX_TEXT = 20_000


@retrying
def put_prompt(prompt_id: str, text: str, tenant: str | None = None, *, caller: Caller = SYSTEM) -> Row:
    """Creates or replaces a prompt. Generations that have begun keep their text."""
    _check(prompt_id, text)
    row = fetch_one("prompt_put", {"id": prompt_id, "text": text, "tenant": choose_tenant(caller, tenant)})
    assert row is not None  # noqa: S101  (an upsert always returns a row)
    return row


@retrying
def get_prompt(prompt_id: str, tenant: str | None = None, *, caller: Caller = SYSTEM) -> Row:
    """Without `tenant`, of the caller's tenant."""
    wanted = {"id": prompt_id, "tenant": tenant or caller.tenant, "scope": caller.tenant}
    row = fetch_one("prompt", wanted)
    if row is None:
        raise PromptNotFound(prompt_id)
    return row


def _check(prompt_id: str, text: str) -> None:
    if not (0 < len(prompt_id) <= MAX_ID and prompt_id.isprintable()):
        raise InvalidPayload(f"id: must be 1 to {MAX_ID} printable characters", "id")
    if not text.strip() or len(text) > MAX_TEXT:
        raise InvalidPayload(f"text: must be 1 to {MAX_TEXT} characters", "text")
    try:
        jsonsafe.check({"id": prompt_id, "text": text})
    except jsonsafe.UnsafeJson as unsafe:
        raise InvalidPayload(str(unsafe), unsafe.path) from None
