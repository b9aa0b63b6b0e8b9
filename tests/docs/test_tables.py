"""Tables in documents say what the code says."""

import re
from pathlib import Path
from typing import Any

from pydantic_settings import BaseSettings

import actors  # noqa: F401
from broker.execution.execution import MOVES as EXECUTION_MOVES
from deploy.cli.commands import COMMANDS, GROUPS
from deploy.cli.exits import EXIT_CODES_HELP
from providers import settings as provider_settings
from providers.sandbox.limits import Limits
from state.http_errors import CATEGORIES, find_error_type
from state.schema.version import SUPPORTS, VERSION
from state.settings import Settings
from state.tasks.catalog import STANDARD_POLICY
from state.tasks.events import EVENT_KINDS
from state.transitions import MOVES
from taskapi.api.problems import PROBLEMS
from taskapi.app import OPERATIONS
from taskapi.resources.submission import TaskOptions
from taskapi.resources.tasks import TaskFilter, TaskView
from tests.docs.documents import ROOT, find_blocks, read, read_tables

ARCHITECTURE = read("docs/architecture.md")
HTTP = read("docs/http.md")
OPERATING = read("docs/operating.md")
WRITING = read("docs/writing-actors.md")


# Settings.


def test_every_setting_is_there_with_its_default() -> None:
    expected = _defaults(Settings)
    for name in vars(provider_settings).values():
        if isinstance(name, type) and issubclass(name, BaseSettings) and name is not BaseSettings:
            expected |= _defaults(name)
    rows = read_tables(read("docs/settings.md"), "| variable | default | meaning |")
    assert {name: default for name, default, _ in rows} == expected


def _defaults(settings: type[BaseSettings]) -> dict[str, str]:
    prefix = settings.model_config["env_prefix"]
    return {f"{prefix}{name.upper()}": _text(field.default) for name, field in settings.model_fields.items()}


def _text(default: Any) -> str:
    if default is None:
        return ""
    return ",".join(default) if isinstance(default, list) else re.sub(r"\.0$", "", str(default))


# HTTP.


def test_every_route_is_there_with_who_may_use_it_and_its_statuses() -> None:
    expected = {}
    for operation in OPERATIONS:
        errors = sorted({PROBLEMS[token][0] for token in operation.problems})
        for path in operation.paths:
            who = ["anyone"] if operation.role == "anyone" else [operation.role, operation.scope]
            expected[operation.method, path] = (who, [*map(str, operation.responses)], [*map(str, errors)])
    rows = read_tables(HTTP, "| method | path | who | success | errors | what it does |")
    assert {(row[0], row[1]): tuple(map(_split, row[2:5])) for row in rows} == expected


def _split(cell: str) -> list[str]:
    return [part.strip() for part in cell.split(",") if part.strip()]


def test_every_problem_is_there() -> None:
    rows = read_tables(HTTP, "| token | status | title |")
    assert {token: (int(status), title) for token, status, title in rows} == {
        token: (status, title.replace("`", "")) for token, (status, title) in PROBLEMS.items()
    }


def test_every_field_of_a_task_is_there() -> None:
    rows = read_tables(HTTP.partition("## A task")[2], "| field | meaning |")
    shown = {name for name, field in TaskView.model_fields.items() if not field.exclude}
    assert {name for fields, _ in rows for name in _split(fields)} == shown


def test_every_option_and_filter_is_there() -> None:
    rows = read_tables(HTTP, "| option | default | meaning |")
    assert {name for name, _, _ in rows} == set(TaskOptions.model_fields)
    [filters] = re.findall(r"Filters of `GET /api/v1/tasks`: ([^.]*)\.", HTTP)
    assert set(re.findall(r"`(\w+)`", filters)) == set(TaskFilter.model_fields)


def test_every_kind_of_event_is_there() -> None:
    assert [kind for kind, _ in read_tables(HTTP, "| kind | data |")] == list(EVENT_KINDS)


# Architecture.


def test_the_moves_are_those_of_the_code() -> None:
    [block] = [each for each in find_blocks(ROOT / "docs" / "architecture.md") if each.mark.startswith("moves:")]
    moves = {}
    for line in block.text.strip().splitlines():
        before, after = line.split("->")
        moves[before.strip()] = set() if "(nothing)" in after else set(after.split())
    assert moves == {before: set(after) for before, after in MOVES.items()}


def test_the_states_of_an_execution_are_those_of_the_code() -> None:
    rows = read_tables(ARCHITECTURE, "| state | meaning | next |")
    assert {state: set(_split(re.sub(r" \(.*?\)", "", after))) for state, _, after in rows} == EXECUTION_MOVES


def test_the_nouns_of_the_worker_are_where_the_table_says() -> None:
    rows = read_tables(ARCHITECTURE, "| noun | file | meaning |")
    assert [noun for noun, file, _ in rows if f"class {noun}" not in (ROOT / file).read_text()] == []


def test_every_class_of_the_worker_is_in_the_table() -> None:
    nouns = {noun for noun, _, _ in read_tables(ARCHITECTURE, "| noun | file | meaning |")}
    files = [file for folder in ("worker", "adapter") for file in (ROOT / "broker" / folder).rglob("*.py")]
    classes = {name for file in files for name in re.findall(r"(?m)^class ([A-Z]\w+)", file.read_text())}
    assert classes - {"LazyPool"} <= nouns


def test_every_thread_of_the_worker_is_in_the_table() -> None:
    threads = {thread for thread, _, _ in read_tables(ARCHITECTURE, "| thread | class | work |")}
    code = "\n".join(file.read_text() for file in (ROOT / "broker").rglob("*.py"))
    for file in ("database/notifier.py", "media/collection.py"):
        code += (ROOT / "state" / file).read_text()
    assert set(re.findall(r"Thread\([^\n]*name=\"([\w-]+)\"", code)) == threads


# Operating.


def test_every_command_is_there() -> None:
    rows = read_tables(OPERATING, "| command | what it does |")
    assert [name for name, _ in rows] == [*COMMANDS, *GROUPS]


def test_every_exit_code_is_there() -> None:
    rows = read_tables(OPERATING, "| exit code | meaning |")
    assert [" ".join(row) for row in rows] == [" ".join(line.split()) for line in EXIT_CODES_HELP.splitlines()[2:]]


def test_every_admin_view_has_an_example() -> None:
    page = ROOT / "docs" / "admin-views.md"
    queries = "\n".join(block.text for block in find_blocks(page) if block.mark.startswith("view: "))
    views = {file.stem for file in (ROOT / "state" / "views").glob("*.sql")}
    assert set(re.findall(r"FROM admin\.(\w+)", queries)) == views


# Writing actors.


def test_the_retry_schedules_are_those_of_the_code() -> None:
    rows = read_tables(WRITING, "| error type | seconds before the next attempt |")
    schedules = {error_type: tuple(float(each) for each in _split(seconds)) for error_type, seconds in rows}
    assert schedules == {**STANDARD_POLICY.schedules, "any other": STANDARD_POLICY.default}


def test_the_http_errors_are_those_of_the_code() -> None:
    rows = read_tables(WRITING, "| HTTP status | error type | category |")
    named = {
        int(status): error_type for statuses, error_type, _ in rows for status in _split(statuses) if status.isdigit()
    }
    rest = {statuses: error_type for statuses, error_type, _ in rows if statuses.startswith("other")}
    assert rest == {"other 5xx": find_error_type(599), "other 4xx": "the exception's class"}
    for status in range(400, 600):
        expected = named.get(status, find_error_type(599) if status >= 500 else None)
        assert find_error_type(status) == expected, status
    categories = {error_type: category for _, error_type, category in rows}
    assert {error_type: CATEGORIES[error_type] for error_type in categories if error_type in CATEGORIES} == CATEGORIES


def test_the_limits_of_a_sandbox_are_those_of_the_code() -> None:
    units = {"": 1, "MiB": 1024**2, "GiB": 1024**3}
    limits = {}
    for name, default, _ in read_tables(WRITING, "| limit | default | holds for |"):
        number, _, unit = default.partition(" ")
        limits["seconds" if name == "timeout_seconds" else name] = int(number) * units[unit]
    assert limits == {name: getattr(Limits(), name) for name in Limits.__slots__}


def test_every_member_of_the_context_is_there() -> None:
    from broker.context import Context

    table = WRITING.partition("## The context")[2].partition("\n## ")[0]
    public = {name for name in vars(Context) if not name.startswith("_")} - {"close", "is_open"}
    assert public <= set(re.findall(r"ctx\.(\w+)", table))


def test_every_parameter_of_the_decorator_is_there() -> None:
    from inspect import signature

    from broker import task

    rows = read_tables(WRITING, "| parameter | default | meaning |")
    assert [name for name, _, _ in rows] == list(signature(task).parameters)


# Changelog.


def test_the_changelog_names_the_schema() -> None:
    changelog = read("CHANGELOG.md")
    assert f"Schema version {VERSION}." in changelog
    assert f"releases from schema {SUPPORTS} on" in changelog


def test_the_readme_of_tests_knows_every_folder() -> None:
    rows = read_tables(read("tests/README.md"), "| folder | tests |")
    folders = {f"tests/{file.parent.name}/" for file in Path(ROOT / "tests").glob("*/__init__.py")}
    assert {folder for folder, _ in rows} == folders
