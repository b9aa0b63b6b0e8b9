"""JSON that Postgres can store: jsonb refuses NUL characters and half surrogate pairs, Python's json accepts NaN."""

import json
import math
from typing import Any

MAX_DEPTH = 64


class UnsafeJson(ValueError):
    """Text or data that cannot be kept as JSON; `path` says where it stands."""

    def __init__(self, message: str, path: str = "") -> None:
        super().__init__(f"{path}: {message}" if path else message)
        self.path = path


def check(value: Any) -> None:
    """Raises UnsafeJson for what jsonb would refuse or change. Iterative: depth is the caller's choice, not ours."""
    stack: list[tuple[Any, str, int]] = [(value, "", 1)]
    while stack:
        item, path, depth = stack.pop()
        if isinstance(item, str):
            _check_text(item, path)
        elif isinstance(item, float) and not math.isfinite(item):
            raise UnsafeJson("not a finite number", path)
        elif isinstance(item, (dict, list)):
            if depth > MAX_DEPTH:
                raise UnsafeJson(f"nested deeper than {MAX_DEPTH} levels", path)
            if isinstance(item, dict):
                for key in item:
                    _check_text(str(key), path)
                stack.extend((child, f"{path}.{key}" if path else str(key), depth + 1) for key, child in item.items())
            else:
                stack.extend((child, f"{path}[{index}]", depth + 1) for index, child in enumerate(item))


def parse(raw: bytes) -> Any:
    """Strict JSON from outside."""
    try:
        value = json.loads(raw, parse_constant=_refuse_constant)
    except UnsafeJson:
        raise
    except RecursionError:
        raise UnsafeJson(f"nested deeper than {MAX_DEPTH} levels") from None
    except UnicodeDecodeError:
        raise UnsafeJson("not valid UTF-8") from None
    except ValueError as wrong:
        raise UnsafeJson(f"not valid JSON: {wrong}") from None
    check(value)
    return value


def dump(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def clean_text(text: str, limit: int = 10_000) -> str:
    """Text from an exception, made storable: never a reason to lose the reason."""
    text = text.replace("\x00", "\N{REPLACEMENT CHARACTER}").encode("utf-8", "replace").decode("utf-8")
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text)} characters in all)"


def _check_text(text: str, path: str) -> None:
    if "\x00" in text:
        raise UnsafeJson("contains the character \\u0000, which Postgres cannot store", path.replace("\x00", "?"))
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            clean = path.encode("utf-8", "replace").decode()
            raise UnsafeJson("contains half of a surrogate pair, which is not text", clean) from None


def _refuse_constant(name: str) -> Any:
    raise UnsafeJson(f"{name} is not valid JSON")
