"""Keeps secrets out of errors, logs and events. Texts are searched for the values of environment variables that look
like keys, for names that announce a secret (`api_key=…`, `Authorization: …`), and for the shapes of well-known keys.
Payloads, checkpoints and results are the users' own data and stay as they are.

`providers` import this module too, so it imports nothing of ours but the settings."""

import os
import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any
from urllib.parse import quote, urlsplit

from state.settings import get_settings

MASK = "***"

_SHORTEST = 8  # characters; ordinary texts contain shorter values as well
_LONGEST = 8192  # characters of a secret; so many beside a cut may be half a secret, which is not recognized
_MARGIN = 2 * _LONGEST  # characters that are masked beside a cut, because masking makes a text shorter
_MAX_DEPTH = 64

# A value after one of these headers is secret to the end of the line, …
_HEADERS = r"(?:proxy-)?authorization|(?:set-)?cookie"
# … a value after one of these names is a secret, …
_TELLING = (
    r"[\w-]*(?:api[-_ ]?key|passw(?:or)?d|passphrase)|(?:[\w-]*[-_])?(?:secret|credentials?"
    r"|(?:secret|private|access|encryption|signing)[-_]?(?:access[-_]?)?key(?:[-_]?id)?"
    r"|(?:client|app|shared|webhook|consumer)[-_]?secret|(?:access|refresh|id|auth|bearer|session|csrf|security)[-_]?token)"
    r"|x-amz-signature"
)
# … and a value after one of these is a secret if it looks like a key.
_VAGUE = r"[\w-]*token|key|auth|sig|signature|pwd|pass|jwt"

_KEY_LIKE = r"[\w.~+/=%-]{16,}"
_SHAPES = re.compile(
    r"(?i:\b(?:bearer|basic)\s+)(?=[\w.~+/-]*\d|[\w.~+/-]{20})[\w.~+/-]{6,}=*"  # not: a basic understanding
    r"|\bsk-[\w-]{6,}|\bgh[opsur]_\w{20,}|\bgithub_pat_\w{20,}|\bglpat-[\w-]{16,}|\bxox[abeoprs]-[\w-]{10,}"
    r"|\bhf_\w{20,}|\br8_\w{20,}|\bnpm_\w{20,}|\bAKIA[0-9A-Z]{16}\b|\bAIza[\w-]{30,}"
    r"|\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]{0,8192}?(?:-----END [A-Z ]*PRIVATE KEY-----|$)"
)
_URL_LOGIN = re.compile(r"(?<=://)([^\s/?#@:'\"]{0,256}):([^\s/?#'\"]{1,1024})@")
_URL_TOKEN = re.compile(r"(?<=://)[\w.~-]{20,256}@")
_SECRET_VARIABLE = re.compile(r"(?i)(?:^|_)(?:key|token|secret|password|passwd|passphrase|credentials?)$")


def mask(text: str, secrets: Iterable[str] = ()) -> str:
    """Returns the text without its secrets, and without the given ones."""
    known = _list_secrets()
    for secret in (*_list_forms(secrets), *known) if secrets else known:
        if secret in text:
            text = text.replace(secret, MASK)
    if "://" in text:
        text = _URL_LOGIN.sub(rf"\1:{MASK}@", text)
        text = _URL_TOKEN.sub(f"{MASK}@", text)
    if "=" in text or ":" in text or "," in text:
        text = _compile_patterns().named.sub(_keep_name, text)
    return _SHAPES.sub(MASK, text)


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
    """Returns the data with its texts masked, and with all values under names that announce a secret."""
    if isinstance(value, str):
        return mask(value)
    if isinstance(value, dict | list | tuple) and depth >= _MAX_DEPTH:
        return MASK
    if isinstance(value, dict):
        return {key: MASK if _is_secret(key, item) else mask_data(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [mask_data(item, depth + 1) for item in value]
    return value


def forget_secrets() -> None:
    """Makes the next call read the environment and the settings again."""
    _list_secrets.cache_clear()
    _compile_patterns.cache_clear()


def _is_secret(key: Any, item: Any) -> bool:
    if not isinstance(key, str) or item is None or isinstance(item, bool):
        return False
    if _compile_patterns().telling.fullmatch(key):
        return True
    return isinstance(item, str) and bool(_compile_patterns().vague.fullmatch(key) and re.fullmatch(_KEY_LIKE, item))


def _keep_name(found: "re.Match[str]") -> str:
    return f"{found['name'] or found['vague']}{MASK}"


class _Patterns:
    def __init__(self, extra: list[str]) -> None:
        telling = "|".join([_TELLING, *(re.escape(name) for name in extra)])
        self.telling = re.compile(f"(?i:{_HEADERS}|{telling})")
        self.vague = re.compile(f"(?i:{_VAGUE})")
        # `name=value`, `name: value`, `"name": "value"` (also escaped), `('name', 'value')`. A quoted value ends with
        # its quote or with the line, because Pydantic cuts long values.
        start = r"(?<![\w-])"
        between = r"(?:\\{0,4}[\"']?\s{0,4}(?:=>|[:=])\s{0,4}|\\{0,4}[\"'],\s{0,4})b?"
        quoted = r"(?P<{0}>\\{{0,4}}[\"'])(?:(?!(?P={0}))[^\n]){{0,8192}}"
        self.named = re.compile(
            rf"(?P<name>{start}(?i:(?P<header>{_HEADERS})|{telling}){between})"
            rf"(?:{quoted.format('q')}(?P=q)?|(?(header)[^\n\"']{{1,8192}}|[^\s\"'&,;<>)}}\]]{{1,8192}}))"
            rf"|(?P<vague>{start}(?i:{_VAGUE}){between}\\{{0,4}}[\"']?){_KEY_LIKE}"
        )


@cache
def _compile_patterns() -> _Patterns:
    return _Patterns(sorted(get_settings().secret_names))


@cache
def _list_secrets() -> tuple[str, ...]:
    return _list_forms(value for value in _read_values() if len(value) >= _SHORTEST)


def _list_forms(values: Iterable[str]) -> tuple[str, ...]:
    """Returns the values and their URL-encoded forms, longest first, because one may be a part of another."""
    forms = {form for value in values if value for form in (value, quote(value, safe=""))}
    return tuple(sorted(forms, key=len, reverse=True))


def _read_values() -> Iterator[str]:
    extra = {name.lower() for name in get_settings().secret_names}
    for name, value in os.environ.items():
        if _SECRET_VARIABLE.search(name) or name.lower() in extra:
            yield value
        if "://" in value:
            yield _find_password(value)


def _find_password(url: str) -> str:
    """Returns the password of a URL, unless the URL contains it elsewhere too, such as `postgres`."""
    try:
        parts = urlsplit(url)
        password = parts.password or ""
    except ValueError:
        return ""
    return "" if password in (parts.username, parts.hostname, parts.path.strip("/")) else password
