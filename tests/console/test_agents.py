"""Agents: which there are, what they have done, and the search over it."""

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Locator, Page, expect

from state.access.keys import create_key
from state.database import connect
from state.tasks.catalog import load_actors
from tests.agents.completing import AgentWorker
from tests.agents.remembered import FACTS, embed_all
from tests.console.browser import Visit
from tests.console.keys import button, open_with_key
from tests.console.server import ServerProcess
from tests.support.clock import Clock
from tests.support.observer import Observer

CheckPage = Callable[[Page, str], None]
LOCAL_TIME = """hours => {
    const minutes = Date.now() / 60_000 + 60 * hours - new Date().getTimezoneOffset();
    return new Date(minutes * 60_000).toISOString().slice(0, 16);
}"""
MARKUP = "<img src=x onerror=alert(1)></script> javascript:alert(1)"


@pytest.fixture
def agent_worker(database_url: str) -> Iterator[AgentWorker]:
    load_actors()
    with connect("test") as connection:
        yield AgentWorker(connection)


def events(page: Page) -> Locator:
    return page.locator("agent-event")


def field(page: Page, label: str) -> Locator:
    return page.get_by_role("search", name="Search the events").get_by_label(label, exact=True)


def test_events_appear_and_are_found(
    visit: Visit, agent_worker: AgentWorker, connection: Observer, check_page: CheckPage
) -> None:
    page = visit.open("/agents")
    expect(page.get_by_text("No agent has done anything yet.")).to_be_visible()
    expect(page.get_by_role("link", name="text · statistics")).to_be_visible()
    check_page(page, "agents-empty")
    for fact in FACTS:
        agent_worker.complete(fact, result={"words": 2**63})
    expect(events(page)).to_have_count(3)
    expect(events(page).first).to_contain_text(FACTS[-1])  # newest first
    events(page).first.get_by_text("Input and result").click()
    expect(events(page).first.locator(".json").last).to_contain_text("9223372036854775808")
    expect(events(page).first).to_contain_text("makes it comparable")
    field(page, "Words").fill("tires")
    expect(events(page)).to_have_count(1)
    expect(events(page)).to_contain_text(FACTS[1])
    page.reload()
    expect(field(page, "Words")).to_have_value("tires")
    expect(events(page)).to_have_count(1)
    field(page, "Words").fill("submarine")
    button(page, "Show everything").click()
    expect(events(page)).to_have_count(3)
    field(page, "Agent").select_option("command")
    expect(page.get_by_text("Nothing like this has been done.")).to_be_visible()
    field(page, "Agent").select_option("text")
    expect(events(page)).to_have_count(3)
    embed_all(connection)
    events(page).filter(has_text=FACTS[2]).get_by_role("link", name="Similar ones").click()
    expect(events(page).first).to_contain_text(FACTS[2])
    expect(events(page).first.get_by_role("meter")).to_be_visible()
    scores = [float(text) for text in events(page).get_by_title("Higher is nearer").all_inner_texts()]
    assert len(scores) == 3
    assert scores == sorted(scores, reverse=True)
    check_page(page, "agents-similar")


def test_times(
    visit: Visit, agent_worker: AgentWorker, connection: Observer, clock: Clock, check_page: CheckPage
) -> None:
    old = agent_worker.complete("long ago")
    connection.execute("UPDATE callboard.agent_events SET created_at = '2026-01-02 12:00Z' WHERE id = %s", [old])
    agent_worker.complete("just now")
    clock.advance(7200)
    agent_worker.complete("to come", tenant="acme")
    page = visit.open("/agents")
    expect(events(page)).to_have_count(3)
    check_page(page, "agents")
    field(page, "Time").select_option("in the last hour")
    expect(events(page)).to_have_count(2)
    field(page, "Time").select_option("between …")
    field(page, "From").fill(page.evaluate(LOCAL_TIME, -1))
    field(page, "Until").fill(page.evaluate(LOCAL_TIME, 1))
    expect(events(page)).to_have_count(1)
    expect(events(page)).to_contain_text("just now")
    field(page, "Until").fill(page.evaluate(LOCAL_TIME, -2))
    expect(page.get_by_role("alert")).to_contain_text("later than")
    field(page, "Time").select_option("at any time")
    expect(events(page)).to_have_count(3)
    field(page, "Tenant").fill("acme")
    expect(events(page)).to_have_count(1)
    expect(events(page)).to_contain_text("to come")


def test_many_and_odd_events(visit: Visit, agent_worker: AgentWorker, check_page: CheckPage) -> None:
    agent_worker.complete(MARKUP * 50 + "x" * 3000, result={MARKUP: [MARKUP]})
    for n in range(60):
        agent_worker.complete(f"event {n}")
    page = visit.open("/agents")
    expect(events(page)).to_have_count(50)
    button(page, "Show older ones").click()
    expect(events(page)).to_have_count(61)
    odd = events(page).last
    expect(odd).to_contain_text(MARKUP)
    odd.get_by_text("Input and result").click()
    expect(odd.locator(".json").last).to_contain_text(MARKUP)
    expect(odd.locator("img, script")).to_have_count(0)
    odd.scroll_into_view_if_needed()
    check_page(page, "agents-odd")


def test_a_tenant_sees_its_own(visit: Visit, agent_worker: AgentWorker, server: ServerProcess) -> None:
    agent_worker.complete("of acme", tenant="acme")
    agent_worker.complete("of globex", tenant="globex")
    _, reader = create_key("joe", "reader", tenant="acme")
    page = open_with_key(visit, "/agents", reader)
    expect(events(page)).to_have_count(1)
    expect(events(page)).to_contain_text("of acme")
    expect(field(page, "Tenant")).to_have_count(0)
    expect(page.get_by_role("link", name="Give it work")).to_have_count(0)
