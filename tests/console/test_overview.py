"""The overview: what it shows to whom, and how it moves."""

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, Route, expect

from state.access.keys import create_key
from state.database import connect
from state.gates import Gate
from state.gates.declarations import declare
from state.tasks.catalog import load_actors
from state.workers.identity import Identity
from state.workers.registry import register
from tests.console.browser import Visit
from tests.console.keys import button, open_with_key
from tests.console.overview_parts import MARKUP, row, state, submit, trouble
from tests.console.server import ServerProcess
from tests.console.task_fixtures import Start, server  # noqa: F401
from tests.support.builders import TaskBuilder
from tests.support.observer import Observer

CheckPage = Callable[[Page, str], None]


@pytest.fixture
def make_task(database_url: str, connection: Observer) -> Iterator[TaskBuilder]:
    """Makes a task of our actors in any status."""
    load_actors()
    with connect("test") as opened:
        yield TaskBuilder(opened, connection, queues=["language", "media", "agents"])


def test_an_empty_system_says_what_to_do_first(
    visit: Visit,
    server: ServerProcess,  # noqa: F811
    worker: Start,
    check_page: CheckPage,
) -> None:
    page = visit.open()
    expect(trouble(page)).to_contain_text("There has never been a worker.")
    expect(page.get_by_role("link", name="Submit the first task")).to_be_visible()
    expect(page.locator("line-plot")).to_have_count(0)
    check_page(page, "overview-empty")
    worker()
    expect(trouble(page)).to_have_count(0)
    submit(server, 1, "noop", {})
    expect(state(page, "completed")).to_have_text("1")
    expect(page.get_by_role("link", name="Submit the first task")).to_have_count(0)
    expect(page.locator("line-plot .plot")).to_have_count(2)
    state(page, "completed").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Tasks")
    expect(page.locator("tr.task")).to_have_count(1)


def test_numbers_move_without_a_reload(visit: Visit, server: ServerProcess, worker: Start) -> None:  # noqa: F811
    worker(threads=4)
    ids = submit(server, 6, "steps", {"seconds": 600})
    submit(server, 3, "async_steps", {"seconds": 600}, delay_seconds=3600)
    page = visit.open()
    expect(state(page, "running")).to_have_text("4")
    expect(state(page, "queued")).to_have_text("2")
    expect(state(page, "scheduled")).to_have_text("3")
    expect(row(page, "Queues", "test").get_by_role("cell")).to_contain_text(["test", "2", "0", "4"])
    expect(page.get_by_role("img", name="4 of 4 threads")).to_be_visible()
    expect(page.get_by_role("meter", name="0 of 100 coroutines")).to_be_visible()
    submit(server, 2, "async_steps", {"seconds": 600})
    expect(state(page, "running")).to_have_text("6")
    expect(page.get_by_role("meter", name="2 of 100 coroutines")).to_be_visible()
    server.call("POST", f"/tasks/{ids[-1]}/cancel")
    server.call("POST", f"/tasks/{ids[-2]}/pause")
    for name in ("canceled", "paused"):
        expect(state(page, name)).to_have_text("1")
    expect(state(page, "queued")).to_have_text("0")


def test_dead_letters_by_error(visit: Visit, make_task: TaskBuilder) -> None:
    make_task("dead", actor="summarize", payload={"content": "One."}, error_type="Rare")
    for _ in range(2):
        make_task("dead", actor="summarize", payload={"content": "One."}, error_type=MARKUP)
    page = visit.open()
    expect(page.get_by_role("table", name="Dead letters").locator("tbody tr")).to_contain_text([MARKUP, "Rare"])
    expect(row(page, "Dead letters", MARKUP)).to_contain_text("no luck")
    expect(row(page, "Dead letters", MARKUP).get_by_role("cell").last).to_have_text("2")
    assert page.locator("main img").count() == 0
    make_task("dead", actor="summarize", payload={"content": "One."}, error_type="Rare")
    expect(row(page, "Dead letters", "Rare").get_by_role("cell").last).to_have_text("2")
    address = "#/dead-letters?actor=summarize&error_type=Rare"
    expect(page.get_by_role("link", name="Rare")).to_have_attribute("href", address)


def test_a_tenants_reader_sees_its_own(visit: Visit, make_task: TaskBuilder, check_page: CheckPage) -> None:
    for tenant, count in (("acme", 2), ("globex", 3)):
        for _ in range(count):
            make_task("queued", actor="summarize", payload={"content": "One."}, tenant=tenant)
        make_task("dead", actor="summarize", payload={"content": "One."}, tenant=tenant, error_type=f"Of {tenant}")
    create_key("ann", "operator")
    _, reader = create_key("joe", "reader", tenant="acme")
    page = open_with_key(visit, "/", reader)
    expect(state(page, "queued")).to_have_text("2")
    expect(state(page, "dead")).to_have_text("1")
    expect(row(page, "Queues", "language").get_by_role("cell")).to_contain_text(["language", "2"])
    expect(page.get_by_role("table", name="Dead letters").locator("tbody tr")).to_contain_text(["Of acme"])
    expect(trouble(page).get_by_role("link")).to_have_text("Show the tasks →")
    for table in ("Gates", "Workers"):
        expect(page.get_by_role("table", name=table)).to_have_count(0)
    expect(page.locator("main").get_by_role("button", name="Pause")).to_have_count(0)
    expect(page.get_by_role("link", name="Submit a task")).to_have_count(0)
    check_page(page, "overview-tenant")


def test_a_reader_of_an_empty_system_is_not_told_to_submit(visit: Visit) -> None:
    create_key("ann", "operator")
    _, reader = create_key("joe", "reader", tenant="acme")
    page = open_with_key(visit, "/", reader)
    expect(page.get_by_text("Nothing has been submitted yet.")).to_be_visible()
    expect(page.get_by_role("link", name="Submit the first task")).to_have_count(0)


def test_many_gates_queues_and_workers(
    visit: Visit,
    server: ServerProcess,  # noqa: F811
    connection: Observer,
    check_page: CheckPage,
) -> None:
    submit(server, 60, "noop", {})
    connection.execute(
        "UPDATE callboard.tasks t SET queue = 'queue-' || lpad(n.n::text, 2, '0') || repeat('-long', 12), "
        "status = CASE WHEN n.n <= 30 THEN 'queued' ELSE 'waiting' END, "
        "waiting_gate = CASE WHEN n.n > 30 THEN 'provider:' || %s || n.n END "
        "FROM (SELECT id, row_number() OVER (ORDER BY id) AS n FROM callboard.tasks) AS n WHERE n.id = t.id",
        [MARKUP],
    )
    for n in range(20):
        host = MARKUP if n == 0 else f"node-{n:02}.{'long-' * 12}name.example"
        register(Identity(f"{host}:{n}", host, "boot", "namespace", n, None), ["test"], 200, coroutines=100)
    page = visit.open()
    rows = {name: page.get_by_role("table", name=name).locator("tbody tr") for name in ("Gates", "Queues", "Workers")}
    expect(rows["Gates"]).to_have_count(12)
    expect(rows["Workers"]).to_have_count(8)
    expect(rows["Queues"]).to_have_count(8)
    expect(page.get_by_role("link", name="all 20")).to_be_visible()
    expect(rows["Gates"].first).to_contain_text(MARKUP)
    expect(trouble(page).locator("details")).to_contain_text("more problems")
    assert page.locator("main img").count() == 0
    check_page(page, "overview-many")
    more = page.get_by_role("button", name="more", exact=False)
    more.click()
    expect(more).to_have_count(0)
    assert rows["Queues"].count() > 30


def test_the_first_view_takes_one_round_trip(visit: Visit, server: ServerProcess) -> None:  # noqa: F811
    """What it shows is asked for at once, not one answer after the other; so are the scripts."""
    page = visit.page
    asked: list[Route] = []
    loaded: set[str] = set()

    def hold(route: Route) -> None:
        """Answers the first two when both are asked for, and nothing that is asked for later."""
        asked.append(route)
        if len(asked) == 2:
            loaded.update(url for url in visit.requests if "/console/" in url)  # later the other pages as well
            for each in asked:
                each.continue_()

    page.route("**/api/v1/**", hold)
    page.goto(visit.url)
    expect(state(page, "queued")).to_have_text("0")
    expect(button(page, "Pause test")).to_be_visible()
    assert sorted(route.request.url.rpartition("/")[2] for route in asked[:2]) == ["caller", "overview"]
    announced = page.locator("head link, head script").evaluate_all("all => all.map(each => each.href || each.src)")
    assert loaded
    assert loaded <= set(announced)


def test_pictures(
    visit: Visit,
    server: ServerProcess,  # noqa: F811
    worker: Start,
    make_task: TaskBuilder,
    connection: Observer,
    check_page: CheckPage,
) -> None:
    fill(server, make_task, connection)
    worker(threads=8)
    worker(threads=8)
    page = visit.open()
    expect(row(page, "Gates", "provider:leonardo")).to_contain_text("3 / 3")
    expect(page.locator("line-plot .line")).to_have_count(5)
    check_page(page, "overview")


def fill(server: ServerProcess, make_task: TaskBuilder, connection: Observer) -> None:  # noqa: F811
    """An hour of work, dead letters, gates that are full, and a provider that does not work."""
    image = {"provider": "local", "prompt": "a lighthouse at dusk"}
    for error_type, count in (("InvalidInput", 4), ("SubmissionInDoubt", 2), ("TokenLimitExceeded", 1)):
        for _ in range(count):
            make_task("dead", actor="media_generation", payload=image, error_type=error_type)
    declare([
        Gate("provider:leonardo", 3, breaker=True), Gate("provider:midjourney", 1, breaker=True),
        Gate("provider:openrouter", 100),
    ])  # fmt: skip
    connection.execute(
        "UPDATE callboard.gates SET breaker_state = 'open', "
        "breaker_changed_at = callboard.now() - interval '17 seconds' WHERE key = 'provider:midjourney'"
    )
    connection.execute(
        "INSERT INTO callboard.task_queue_metrics (minute, actor, agent_name, task_type, tasks_created, "
        "tasks_completed, tasks_failed, attempts, attempts_failed, latency_sum, run_sum) "
        "SELECT date_trunc('minute', callboard.now()) - n * interval '1 minute', 'summarize', '', '', 1900 + 9 * n, "
        "       m.done, (n % 20 = 3)::integer, m.done + m.failed, m.failed, "
        "       m.done * (4.2 + 2 * sin(n / 9.0)), m.done * 1.4 "
        "FROM generate_series(1, 60) AS n, LATERAL (SELECT "
        "    (1900 + 500 * sin(n / 8.0) - 1300 * exp(-power(n - 8, 2) / 12.0))::bigint AS done, "
        "    (6 + 700 * exp(-power(n - 8, 2) / 9.0))::bigint AS failed) AS m"
    )
    connection.execute("UPDATE callboard.metrics_progress SET measured_until = date_trunc('minute', callboard.now())")
    connection.execute("INSERT INTO callboard.finished_counts (status, tasks) VALUES ('completed', 58204)")
    connection.execute("INSERT INTO callboard.actor_pace VALUES ('gated', 14, callboard.now())")
    submit(server, 11, "gated", {"gates": {"provider:leonardo": 3}, "seconds": 600})
    submit(server, 6, "gated", {"gates": {"provider:midjourney": 1}})
    submit(server, 5, "steps", {"seconds": 600})
    submit(server, 38, "async_steps", {"seconds": 600})
    submit(server, 12, "noop", {}, delay_seconds=3600)
