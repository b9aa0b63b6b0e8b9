"""References to results inside the input of a step: `{"$result": "fetch", "path": "items.0.name"}` and, in a step with
for_each, `{"$item": true, "path": "name"}`.

They are found once, when the workflow is created. The database puts values at the places that were found then, so that
a result that looks like a reference stays what it is."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

RESULT, ITEM = "$result", "$item"


class InvalidReference(ValueError):
    """An object that has the mark of a reference, but not its form. `at`: where it is."""

    def __init__(self, message: str, at: list[str]) -> None:
        super().__init__(message)
        self.at = at


@dataclass(frozen=True, slots=True)
class Reference:
    at: list[str]  # keys and indexes that lead to it; empty: the whole value
    step: str | None  # None: the item of for_each
    path: list[str]  # inside the result

    def to_source(self) -> dict[str, Any]:
        """As start_step.sql reads it."""
        step = {} if self.step is None else {"step": self.step}
        return {"at": self.at, "path": self.path, **step}


def find_references(value: Any) -> list[Reference]:
    """Raises InvalidReference."""
    return list(_find(value, []))


def _find(value: Any, at: list[str]) -> Iterator[Reference]:
    if isinstance(value, dict):
        if RESULT in value or ITEM in value:
            yield _parse(value, at)
            return
        for key, inner in value.items():
            yield from _find(inner, [*at, key])
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _find(inner, [*at, str(index)])


def _parse(value: dict[str, Any], at: list[str]) -> Reference:
    mark = RESULT if RESULT in value else ITEM
    if set(value) - {mark, "path"}:
        raise InvalidReference(f"beside {mark} there may only be `path`", at)
    path = _parse_path(value.get("path"), at)
    if mark == ITEM:
        if value[ITEM] is not True:
            raise InvalidReference(f"{ITEM} must be true", at)
        return Reference(at, None, path)
    if not isinstance(value[RESULT], str):
        raise InvalidReference(f"{RESULT} must be the key of a step", at)
    return Reference(at, value[RESULT], path)


def _parse_path(path: Any, at: list[str]) -> list[str]:
    """A text with dots, or a list for keys that contain dots themselves."""
    if path is None:
        return []
    parts = path.split(".") if isinstance(path, str) else path
    if isinstance(parts, list) and all(_is_part(part) for part in parts):
        return [str(part) for part in parts]
    raise InvalidReference("`path` must be keys and indexes with dots between them, or a list of them", at)


def _is_part(part: Any) -> bool:
    return part != "" and isinstance(part, str | int) and not isinstance(part, bool)
