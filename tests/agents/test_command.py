"""`callboard agents`, with agents of other packages."""

import pytest

from state.agents import catalog
from tests.cli.command import answer, refusal, succeed

pytestmark = pytest.mark.usefixtures("database_url")
SHOP = "actors,examples.automechanica"


def test_it_lists_the_agents_of_all_packages() -> None:
    items = answer("agents", CALLBOARD_ACTORS=SHOP)["items"]
    found = {(each["agent_name"], each["task_type"]): each for each in items}
    assert found["text", "extract"] == catalog.get("text", "extract").describe()
    assert found["FitmentAgent", "generate_fitment"]["priority"] == 0
    assert found["FitmentAgent", "generate_fitment"]["input_schema"]["required"] == ["sku", "text"]
    [line] = [line for line in succeed("agents", CALLBOARD_ACTORS=SHOP).splitlines() if "OrderValidationAgent" in line]
    assert "validate_order" in line
    assert "0 critical" in line
    assert ("FitmentAgent", "generate_fitment") not in {
        (each["agent_name"], each["task_type"]) for each in answer("agents", CALLBOARD_ACTORS="actors")["items"]
    }


def test_two_packages_with_the_same_agent() -> None:
    message = refusal(2, "agents", CALLBOARD_ACTORS="actors,tests.agents.twice")
    assert "actors.agents.text.extract" in message
    assert "tests.agents.twice.extract_otherwise" in message
