"""The questions that are asked beside a history: all filters, all pairs, and matches only where they are promised."""

from itertools import combinations

import psycopg

import actors  # noqa: F401  (declares summarize)
from state import submit
from state.access.caller import SYSTEM, Caller
from state.tasks.reads import list_tasks
from taskapi.resources.tasks import TaskFilter
from tests.bench.groups.past import CLASSES, TENANT, insert_past, make_cases, values_of

FILTERS = list(TaskFilter.model_fields)
CASES = list(make_cases(FILTERS))


def test_every_filter_and_every_pair_is_asked_with_both_keys() -> None:
    for tenant_key in (False, True):
        asked = {frozenset(case.filters) for case in CASES if case.tenant_key == tenant_key}
        wanted = {frozenset({name}) for name in FILTERS} | {frozenset(pair) for pair in combinations(FILTERS, 2)}
        assert wanted <= asked


def test_a_match_is_promised_exactly_where_there_are_such_tasks() -> None:
    classes = [values_of(number) for number in range(CLASSES)]
    for case in CASES:
        visible = [each for each in classes if not case.tenant_key or each["tenant"] == TENANT]
        assert case.matches == any(case.filters.items() <= each.items() for each in visible), case


def test_pairs_without_a_match_have_tasks_for_each_of_the_two() -> None:
    classes = [values_of(number) for number in range(CLASSES)]
    pairs = [case for case in CASES if len(case.filters) == 2 and not case.matches]
    assert len(pairs) > 50
    for case in pairs:
        for item in case.filters.items():
            assert any({item} <= each.items() for each in classes), case


def test_the_past_answers_every_case_as_promised(database_url: str) -> None:
    model = submit("summarize", {"content": "a model for the others"}).task_id
    with psycopg.connect(database_url, autocommit=True) as connection:
        insert_past(connection, model, 0, 2 * CLASSES)
        insert_past(connection, model, 2 * CLASSES, 1)
    tenant = Caller("reader", TENANT)
    for case in CASES:
        found = list_tasks(limit=1, caller=tenant if case.tenant_key else SYSTEM, **case.filters)
        assert bool(found) == case.matches, case
