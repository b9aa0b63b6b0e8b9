"""The agents of the example, and their order of starts with real workers."""

from collections.abc import Callable
from typing import Any

import pytest

import actors
import examples.automechanica  # noqa: F401  (declares the agents)
from broker.testing.actor_run import run_actor
from state import get_task, submit
from tests.support.following import wait_until_finished
from tests.support.workers import WorkerTree

COROLLA = {"make": "Toyota", "model": "Corolla", "first_year": 2014, "last_year": 2018, "engine_liters": 1.8}


def payload(agent_name: str, task_type: str, given: dict[str, Any]) -> dict[str, Any]:
    return {"agent_name": agent_name, "task_type": task_type, "input": given}


def run(agent_name: str, task_type: str, **given: Any) -> Any:
    return run_actor(actors.agent.agent, payload(agent_name, task_type, given)).result


def test_fitment() -> None:
    text = "Toyota Corolla 2014-2018 1.8L; Honda Civic Type 2016+\nask the dealer; Kia Rio 2011"
    found = run("FitmentAgent", "generate_fitment", sku="A1", text=text)
    assert found["fitments"][0] == COROLLA
    assert [(each["model"], each["first_year"], each["last_year"]) for each in found["fitments"][1:]] == [
        ("Civic Type", 2016, 2030),
        ("Rio", 2011, 2011),
    ]
    assert found["not_understood"] == ["ask the dealer"]


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({}, None),
        ({"total": "20"}, "The total is 20, but the lines add up to 21.00."),
        ({"lines": [], "total": 0}, "The order has no lines."),
        (
            {"vehicle": {"make": "toyota", "model": "corolla", "year": 2020}},
            "A1 does not fit a toyota corolla of 2020.",
        ),
        ({"lines": [{"sku": "A1", "quantity": 0, "unit_price": 1}], "total": 0}, "A1: the quantity is 0."),
    ],
)
def test_order_validation(changes: dict[str, Any], problem: str | None) -> None:
    line = {"sku": "A1", "quantity": 2, "unit_price": "10.50", "fitments": [COROLLA]}
    vehicle = {"make": "toyota", "model": "corolla", "year": 2016}
    order = {"order_id": "7", "lines": [line], "total": "21.00", "vehicle": vehicle, **changes}
    report = run("OrderValidationAgent", "validate_order", **order)
    assert (report["valid"], report["problems"]) == (problem is None, [problem] if problem else [])


def test_supplier_normalization() -> None:
    rows = [
        {"Part-No": "a1", "Bezeichnung": " Brake   pad ", "Preis": "1.234,50 €", "Bestand": "12 pcs"},
        {"SKU": "b2", "Price": "$1,234"},
        {"Title": "no number"},
        {"sku": "c3", "price": "on request"},
    ]
    found = run("SupplierAgent", "normalize_supplier", supplier="S", rows=rows)
    assert found["offers"] == [
        {"sku": "A1", "name": "Brake pad", "price": "1234.50", "currency": "EUR", "stock": 12},
        {"sku": "B2", "name": "", "price": "1234", "currency": "USD", "stock": 0},
    ]
    assert found["rejected"] == ["Row 3: it has no price and no sku", "Row 4: 'on request' is not a price"]


def test_pricing_and_seo() -> None:
    for competitors, price, reason in (
        ([], "11.50", "nobody else sells it"),
        ([20, 22, 21], "20.79", "below the market"),
        ([9], "11.50", "the least margin"),
    ):
        found = run("PricingAgent", "refresh_pricing", sku="A1", cost=10, competitors=competitors)
        assert (found["price"], found["reason"]) == (price, reason)
    texts = run(
        "SeoAgent", "refresh_seo", sku="A1", name="Bremsbelag für vorn " * 5, brand="Stöp", vehicles=["Kia Rio"]
    )
    assert texts["slug"].startswith("stop-bremsbelag-fur-vorn")
    assert len(texts["title"]) <= 60
    assert len(texts["description"]) <= 155


def test_critical_tasks_start_first(worker: Callable[..., WorkerTree]) -> None:
    """Submitted in the opposite order, before there is a worker with a single place."""
    given: list[tuple[str, str, dict[str, Any], str | None]] = [
        ("SeoAgent", "refresh_seo", {"sku": "A1", "name": "Pad", "brand": "Stop"}, "low"),
        ("PricingAgent", "refresh_pricing", {"sku": "A1", "cost": 10}, None),
        ("SupplierAgent", "normalize_supplier", {"supplier": "S", "rows": []}, None),
        ("FitmentAgent", "generate_fitment", {"sku": "A1", "text": "Kia Rio 2011"}, None),
    ]
    ids = [submit("agent", payload(name, kind, what), priority=level).task_id for name, kind, what, level in given]
    assert [get_task(each).priority for each in ids] == [3, 2, 1, 0]
    worker(threads=1, coroutines=1, actors="actors,examples.automechanica")
    ended = [wait_until_finished(each) for each in ids]
    assert {task.status for task in ended} == {"completed"}
    assert sorted(ended, key=lambda task: str(task.started_at)) == ended[::-1]
