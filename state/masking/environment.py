"""The secrets that this process knows: values of environment variables that look like keys."""

import os
from collections.abc import Iterable, Iterator
from functools import cache
from urllib.parse import quote, urlsplit

from state.masking.patterns import DSN_PASSWORD, SECRET_VARIABLE
from state.settings import get_settings

_SHORTEST = 8  # characters; ordinary texts contain shorter values as well


@cache
def list_known_secrets() -> tuple[str, ...]:
    return list_forms(value for value in _read_values() if len(value) >= _SHORTEST)


def list_forms(values: Iterable[str]) -> tuple[str, ...]:
    """Returns the values and their URL-encoded forms, longest first, because one may be a part of another."""
    forms = {form for value in values if value for form in (value, quote(value, safe=""))}
    return tuple(sorted(forms, key=len, reverse=True))


def _read_values() -> Iterator[str]:
    extra = {name.lower() for name in get_settings().secret_names}
    for name, value in os.environ.items():
        if SECRET_VARIABLE.search(name) or name.lower() in extra:
            yield value
        if "://" in value:
            yield _find_password(value)
        for quoted, plain in DSN_PASSWORD.findall(value):
            yield quoted or plain


def _find_password(url: str) -> str:
    """Returns the password of a URL, unless the URL contains it elsewhere too, such as `postgres`."""
    try:
        parts = urlsplit(url)
        password = parts.password or ""
    except ValueError:
        return ""
    return "" if password in (parts.username, parts.hostname, parts.path.strip("/")) else password
