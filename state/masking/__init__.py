"""Keeps secrets out of errors, logs and events. Texts are searched for the values of environment variables that look
like keys, for names that announce a secret (`api_key=…`, `Authorization: …`), and for the shapes of well-known keys.
Payloads, checkpoints and results are the users' own data and stay as they are.

`providers` import this package too, so it imports nothing of ours but the settings."""

import re
from collections.abc import Iterable, Mapping
from datetime import date, timedelta
from decimal import Decimal
from functools import lru_cache
from typing import Any

from state.masking.environment import list_forms, list_known_secrets
from state.masking.patterns import PARTS, SHAPES, URL_LOGIN, URL_TOKEN, get_names

__all__ = ["MASK", "forget_secrets", "mask", "mask_data", "mask_ends", "mask_start", "may_announce"]

MASK = "***"

_LONGEST = 8192  # characters of a secret; so many beside a cut may be half a secret, which is not recognized
_MARGIN = 2 * _LONGEST  # characters that are masked beside a cut, because masking makes a text shorter
_MOST = 1024 * 1024  # characters of a text in data: all threads of the process wait while it is searched
_MAX_DEPTH = 64
_PLAIN = (int, float, bool, type(None), Decimal, date, timedelta)  # cannot hold a secret


def mask(text: str, secrets: Iterable[str] = ()) -> str:
    """Returns the text without its secrets, and without the given ones."""
    known = list_known_secrets()
    for secret in (*list_forms(secrets), *known) if secrets else known:
        if secret in text:
            text = text.replace(secret, MASK)
    if "://" in text:
        text = URL_LOGIN.sub(rf"\1:{MASK}@", text)
        text = URL_TOKEN.sub(f"{MASK}@", text)
    if "=" in text or ":" in text or "," in text or "%3" in text or "--" in text:
        text = get_names().named.sub(_keep_name, text)
    return SHAPES.sub(MASK, text) if PARTS.search(text.lower()) else text


def mask_start(text: str, limit: int, secrets: Iterable[str] = ()) -> str:
    """Returns the start of a text that may be huge. It is masked before it is cut: half a secret is not recognized."""
    if len(text) <= limit + _MARGIN:
        return mask(text, secrets)[:limit]
    return mask(text[: limit + _MARGIN], secrets)[:-_LONGEST][:limit]


def mask_ends(text: str, limit: int) -> str:
    """Returns the start and the end of a text that may be huge, masked before it is cut."""
    half = limit // 2
    if len(text) <= limit + 2 * _MARGIN:
        masked = mask(text)
        if len(masked) <= limit:
            return masked
        start, end = masked[:half], masked[-half:]
    else:
        start = mask_start(text, half)
        end = mask(text[-(half + _MARGIN) :])[_LONGEST:][-half:]
    return f"{start}\n… (cut here, {len(text)} characters in all) …\n{end}"


def mask_data(value: Any, depth: int = 0) -> Any:
    """Returns the data with its texts masked, and with all values under names that announce a secret. Sets become
    lists; bytes, exceptions and other objects become texts: their own text may hold secrets too. Of a text of more than
    a million characters, such as a provider may send, the start and the end are kept."""
    if isinstance(value, str):
        return mask_ends(value, _MOST)
    if isinstance(value, _PLAIN):
        return value
    if isinstance(value, bytes | bytearray | memoryview):
        return mask_ends(bytes(value).decode("utf-8", "backslashreplace"), _MOST)
    if isinstance(value, Mapping | list | tuple | set | frozenset):
        return MASK if depth >= _MAX_DEPTH else _mask_container(value, depth + 1)
    return mask_ends(_describe(value), _MOST)


@lru_cache(maxsize=1000)
def may_announce(name: str) -> bool:
    """Returns whether a value with this name may be a secret because of the name."""
    return mask(name) != name or get_names().may_announce(name)


def forget_secrets() -> None:
    """Makes the next call read the environment and the settings again."""
    list_known_secrets.cache_clear()
    get_names.cache_clear()
    may_announce.cache_clear()


def _mask_container(value: Any, depth: int) -> Any:
    if isinstance(value, tuple) and len(value) == 2 and _is_secret(*value):  # a header, as HTTP libraries list them
        return [mask_data(value[0], depth), MASK]
    if not isinstance(value, Mapping):
        return [mask_data(item, depth) for item in value]
    return {
        mask(key) if isinstance(key, str) else _mask_key(key): MASK if _is_secret(key, item) else mask_data(item, depth)
        for key, item in value.items()
    }


def _mask_key(key: Any) -> Any:
    return key if isinstance(key, _PLAIN) else str(mask_data(key))


def _is_secret(key: Any, item: Any) -> bool:
    if isinstance(key, bytes):
        key = key.decode("latin-1")
    if not isinstance(key, str) or item is None or isinstance(item, bool):
        return False
    return get_names().announces(key, item)


def _describe(value: object) -> str:
    try:
        return f"{type(value).__name__}: {value}" if isinstance(value, BaseException) else str(value)
    except Exception:  # an object may have any __str__, and a log call must not fail
        return f"<{type(value).__name__}>"


def _keep_name(found: "re.Match[str]") -> str:
    return f"{found['name'] or found['vague'] or found['flag'] or found['vague_flag']}{MASK}"
