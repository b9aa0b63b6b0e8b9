"""Priorities by number and by name, and the defaults of agents."""

from typing import Any

import pytest

import state
from examples import automechanica
from state.agents import catalog
from state.errors import InvalidPayload
from state.tasks.priorities import parse_priority
from tests.cli.command import answer, refusal, submit
from tests.support.testactors import note

AUTOMECHANICA: dict[tuple[str, str], tuple[int, dict[str, Any]]] = {  # the document's priorities
    ("FitmentAgent", "generate_fitment"): (0, {"sku": "A1", "text": "Toyota Corolla 2014-2018 1.8L"}),
    ("OrderValidationAgent", "validate_order"): (0, {"order_id": "1", "lines": [], "total": 0}),
    ("SupplierAgent", "normalize_supplier"): (1, {"supplier": "S", "rows": []}),
    ("PricingAgent", "refresh_pricing"): (2, {"sku": "A1", "cost": 10}),
    ("SeoAgent", "refresh_seo"): (2, {"sku": "A1", "name": "Brake pad", "brand": "Stop"}),
}


@pytest.mark.parametrize(("given", "number"), [(0, 0), (3, 3), ("critical", 0), ("high", 1), ("medium", 2), ("low", 3)])
def test_numbers_and_names(given: int | str, number: int) -> None:
    assert parse_priority(given) == number
    assert state.NewTask("note", {}, priority=given).to_row()["priority"] == number


@pytest.mark.parametrize("given", [-1, 4, 1.0, True, "1", "HIGH", "urgent", "", None, [], b"high"])
def test_what_is_no_priority(given: Any) -> None:
    with pytest.raises(ValueError, match=r"must be 0 \(first\) to 3, or critical, high, medium or low"):
        parse_priority(given)
    if given is not None:
        with pytest.raises(InvalidPayload) as refused:
            state.NewTask("note", {}, priority=given).to_row()
        assert refused.value.field == "priority"


def test_without_one_the_agents_default_counts_and_2_for_other_actors(database_url: str) -> None:
    assert automechanica.__all__
    for (name, task_type), (priority, given) in AUTOMECHANICA.items():
        assert catalog.get(name, task_type).priority == priority
        task = state.submit("agent", {"agent_name": name, "task_type": task_type, "input": given})
        assert state.get_task(task.task_id).priority == task.priority == priority
    payload = {"agent_name": "FitmentAgent", "task_type": "generate_fitment", "input": {"sku": "A1", "text": ""}}
    assert state.submit("agent", payload, priority="low").priority == 3
    assert state.submit("note", {}).priority == 2
    ids = state.submit_many([state.NewTask("agent", payload), state.NewTask("note", {}, priority="high")])
    assert [state.get_task(each).priority for each in ids] == [0, 1]


def test_a_message_by_name(database_url: str) -> None:
    sent = note.send_with_options(args=({},), priority="critical")
    assert state.get_task(sent.message_id).priority == 0


def test_the_command_line(database_url: str) -> None:
    for given, number in (("high", 1), ("0", 0)):
        assert state.get_task(submit("note", "{}", "--priority", given)).priority == number
    assert state.get_task(submit("note", "{}")).priority == 2
    assert answer("submit", "note", "{}", "--priority", "critical")["priority"] == 0
    for wrong in ("4", "urgent"):
        assert "must be 0 (first) to 3, or critical" in refusal(2, "submit", "note", "{}", "--priority", wrong)
