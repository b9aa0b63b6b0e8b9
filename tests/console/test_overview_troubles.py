"""What the overview says when something is wrong, and how it ends."""

from collections.abc import Callable

from playwright.sync_api import Page, expect

from state.gates import Gate
from state.gates.declarations import declare
from tests.console.browser import Visit
from tests.console.keys import button
from tests.console.overview_parts import MARKUP, row, state, submit, trouble
from tests.console.server import ServerProcess
from tests.console.task_fixtures import Start, server  # noqa: F401
from tests.support.observer import Observer

CheckPage = Callable[[Page, str], None]


def test_kill_the_workers_and_see_the_warning(
    visit: Visit,
    server: ServerProcess,  # noqa: F811
    worker: Start,
    check_page: CheckPage,
) -> None:
    tree = worker(threads=2)
    submit(server, 5, "steps", {"seconds": 600})
    page = visit.open()
    expect(state(page, "running")).to_have_text("2")
    expect(trouble(page)).to_have_count(0)
    tree.kill()
    expect(trouble(page)).to_contain_text("No worker is alive.")
    expect(trouble(page)).to_contain_text("For ")
    expect(trouble(page)).to_contain_text("3 tasks queued, 2 interrupted; none is lost.")
    expect(trouble(page).locator("code")).to_have_text(["dramatiq actors", "callboard up"])
    check_page(page, "overview-no-worker")
    trouble(page).get_by_role("link", name="Look at the workers").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Workers")
    page.go_back()
    expect(trouble(page)).to_contain_text("No worker is alive.")
    worker(threads=2)
    expect(trouble(page)).to_have_count(0)


def test_closed_gates_and_open_breakers(
    visit: Visit,
    server: ServerProcess,  # noqa: F811
    worker: Start,
    connection: Observer,
) -> None:
    worker(threads=4)
    declare([Gate("provider:far", 3, breaker=True), Gate("provider:near", 1)])
    submit(server, 3, "gated", {"gates": {"provider:near": 1}, "seconds": 600})
    page = visit.open()
    near = row(page, "Gates", "provider:near")
    expect(near).to_contain_text("1 / 1")
    expect(near).to_contain_text("full")
    expect(near.get_by_role("cell").nth(2)).to_have_text("2")
    expect(trouble(page)).to_have_count(0)
    server.call("PUT", "/gates/provider:near", {"paused": True})
    expect(near).to_contain_text("when it is resumed")
    expect(trouble(page)).to_contain_text("near is paused. 2 tasks wait there.")
    server.call("PUT", "/gates/provider:near", {"paused": False, "closed_until": "2999-01-01T00:00:00Z"})
    expect(near).to_contain_text("opens in")
    expect(trouble(page)).to_contain_text("near is closed for a while.")
    expect(trouble(page)).to_contain_text("It opens in")
    connection.execute(
        "UPDATE callboard.gates SET breaker_state = 'open', breaker_changed_at = callboard.now() "
        "WHERE key = 'provider:far'"
    )
    expect(row(page, "Gates", "provider:far")).to_contain_text("breaker open")
    expect(row(page, "Gates", "provider:far")).to_contain_text("probe in")
    expect(trouble(page).locator("> b")).to_have_text("far does not work.")  # the worst one
    expect(trouble(page)).to_contain_text("The next probe goes out in")
    trouble(page).get_by_text("1 more problem").click()
    expect(trouble(page).get_by_role("listitem")).to_contain_text("near is closed for a while.")
    trouble(page).get_by_role("link", name="Open the gate").first.click()
    expect(page.get_by_role("heading", level=1)).to_have_text("provider:far")


def test_tasks_that_start_late(visit: Visit, server: ServerProcess, worker: Start, connection: Observer) -> None:  # noqa: F811
    worker(threads=1)
    submit(server, 3, "steps", {"seconds": 600})
    page = visit.open()
    expect(state(page, "queued")).to_have_text("2")
    expect(trouble(page)).to_have_count(0)
    connection.execute(
        "UPDATE callboard.tasks SET available_at = available_at - interval '10 minutes' WHERE status = 'queued'"
    )
    expect(trouble(page)).to_contain_text("Tasks start late.")
    expect(trouble(page)).to_contain_text("For 10 min")
    expect(page.locator(".state.s-queued.is-late")).to_contain_text("oldest 10 min")
    expect(row(page, "Queues", "test").locator(".late")).to_contain_text("10 min")
    trouble(page).get_by_role("link", name="Show the tasks").click()
    expect(page.locator("tr.task")).to_have_count(2)


def test_an_actor_that_nobody_knows(
    visit: Visit,
    server: ServerProcess,  # noqa: F811
    worker: Start,
    connection: Observer,
) -> None:
    [task_id] = submit(server, 1, "noop", {})
    page = visit.open()
    expect(state(page, "queued")).to_have_text("1")
    connection.execute(
        "UPDATE callboard.tasks SET actor = %(actor)s, status = 'waiting', waiting_gate = 'actor:' || %(actor)s, "
        "updated_at = callboard.now() WHERE id = %(id)s",
        {"actor": MARKUP, "id": task_id},
    )
    worker()
    expect(trouble(page)).to_contain_text(f"No worker knows the actor {MARKUP}.")
    expect(trouble(page)).to_contain_text("1 task of it cannot start; after 10 minutes of waiting each is dead.")
    expect(row(page, "Gates", f"actor:{MARKUP}")).to_contain_text("no worker")
    assert page.locator("main img").count() == 0
    trouble(page).get_by_role("link", name="Show the tasks").click()
    expect(page.locator("tr.task")).to_have_count(1)


def test_pause_and_resume_a_queue(visit: Visit, server: ServerProcess, worker: Start) -> None:  # noqa: F811
    worker()
    page = visit.open()
    expect(row(page, "Queues", "test")).not_to_contain_text("paused")
    button(page, "Pause test").click()
    expect(row(page, "Queues", "test")).to_contain_text("paused")
    submit(server, 2, "noop", {})
    expect(trouble(page)).to_contain_text("The queue test is paused. 2 tasks of it stay queued.")
    button(page, "Resume test").click()
    expect(state(page, "completed")).to_have_text("2")
    expect(trouble(page)).to_have_count(0)
    # A queue that is closed until later is opened as well.
    server.call("PUT", "/gates/queue:test", {"closed_until": "2999-01-01T00:00:00Z"})
    button(page, "Resume test").click()
    expect(button(page, "Pause test")).to_be_visible()
