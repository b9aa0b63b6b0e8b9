"""Nothing of HTTP reaches the state store without saying who calls."""

import ast
import importlib
import inspect
import typing
from collections.abc import Callable, Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

from state.tasks.sharing import Asked
from tests.scope.test_tenants import EMPTY, REFUSED

HTTP = Path(__file__).parents[2] / "http"
FILES = sorted((HTTP / "taskapi").rglob("*.py"))

# For the streams of all callers together: each caller has read what it follows before.
SHARED = {"get_events_of_many", "get_tasks_of_many", "get_workflows_of_many", "get_followed_workflows",
          "get_projects_of_many", "get_queue_status"}  # fmt: skip
# Their own tests try them on two tenants.
ELSEWHERE = ("state.schedules", "state.webhooks", "state.access", "state.overview")


def load(path: Path) -> tuple[Any, ast.Module]:
    name = ".".join(path.relative_to(HTTP).with_suffix("").parts).removesuffix(".__init__")
    return importlib.import_module(name), ast.parse(path.read_text())


def find_calls(tree: ast.Module, module: Any) -> Iterator[tuple[ast.Call, Any]]:
    """All calls of functions by a plain name, with the function."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            yield node, getattr(module, node.func.id, None)


def takes_caller(function: Any) -> bool:
    return inspect.isfunction(function) and "caller" in inspect.signature(function).parameters


def find_verbs() -> set[Callable[..., Any]]:
    """The functions that run_verb is given."""
    found: set[Callable[..., Any]] = set()
    for path in FILES:
        module, tree = load(path)
        for node, _ in find_calls(tree, module):
            if isinstance(node.func, ast.Name) and node.func.id == "run_verb":
                given = node.args[1]
                if isinstance(given, ast.Name) and given.id != "require":  # of send_events: get_task and its like
                    found.add(getattr(module, given.id))
    return found


def find_shared_verbs() -> set[Callable[..., Any]]:
    """The functions that run_shared is given: they serve several callers at once."""
    found: set[Callable[..., Any]] = set()
    for path in FILES:
        module, tree = load(path)
        for node, _ in find_calls(tree, module):
            if isinstance(node.func, ast.Name) and node.func.id == "run_shared":
                assert isinstance(node.args[1], ast.Name), f"{path}:{node.lineno}"
                found.add(getattr(module, node.args[1].id))
    return found


def test_every_shared_verb_is_told_the_caller_of_each() -> None:
    """What it is asked for comes with who asks, and with nothing else."""
    assert "caller" in {field.name for field in fields(Asked)}
    verbs = find_shared_verbs()
    assert len(verbs) >= 2
    for verb in verbs:
        [asked] = typing.get_type_hints(verb).items() - {("return", typing.get_type_hints(verb)["return"])}
        assert typing.get_origin(typing.get_args(asked[1])[0]) is Asked, verb


def test_shared_verbs_are_called_through_run_shared_only() -> None:
    for path in FILES:
        module, tree = load(path)
        called = {function for _, function in find_calls(tree, module) if inspect.isfunction(function)}
        assert not called & find_shared_verbs(), path


def test_every_verb_takes_its_caller() -> None:
    verbs = find_verbs()
    assert len(verbs) > 50
    for verb in verbs:
        parameter = inspect.signature(verb).parameters.get("caller")
        assert parameter is not None, verb
        assert parameter.kind is inspect.Parameter.KEYWORD_ONLY, verb


def test_verbs_are_called_through_run_verb_or_with_a_caller() -> None:
    for path in FILES:
        module, tree = load(path)
        for node, function in find_calls(tree, module):
            if takes_caller(function) and function.__module__.startswith("state."):
                named = {keyword.arg for keyword in node.keywords}
                assert "caller" in named or function.__name__ in SHARED, f"{path}:{node.lineno} {function.__name__}"


def test_the_shared_readers_are_used_by_streams_only() -> None:
    for path in FILES:
        module, tree = load(path)
        names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        used = {name for name in names & SHARED if inspect.isfunction(getattr(module, name, None))}
        assert not used or "streams" in path.parts or path.stem in ("batches", "queues"), f"{path}: {used}"


def test_every_verb_is_tried_on_another_tenant() -> None:
    """A new verb needs its line in test_tenants.py."""
    called = {
        function
        for path in FILES
        for module, tree in [load(path)]
        for _, function in find_calls(tree, module)
        if takes_caller(function)
    }
    verbs = {each for each in find_verbs() | find_shared_verbs() | called if each.__module__.startswith("state.")}
    missing = {each for each in verbs - REFUSED.keys() - EMPTY.keys() if not each.__module__.startswith(ELSEWHERE)}
    assert missing == set()
