"""Gates: the list, and a gate's page: its last hour, who holds it, who waits, and what an operator changes."""

import threading
from collections.abc import Callable, Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from state.access.caller import Caller
from state.access.keys import create_key
from state.gates import Gate, Rate
from state.gates.declarations import declare
from state.gates.operations import put_gate
from tests.console.browser import Visit
from tests.console.server import ServerProcess
from tests.support.observer import Observer
from tests.support.workers import TEST_ACTORS, WorkerTree

Start = Callable[..., WorkerTree]
CheckPage = Callable[[Page, str], None]
MARKUP = "tenant:<img src=x onerror=alert(1)>/a:b&c=d?e#f%2F"


@pytest.fixture
def server(serve: Callable[..., ServerProcess]) -> ServerProcess:
    return serve(actors=TEST_ACTORS)


@pytest.fixture
def start(worker: Start) -> Start:
    return partial(worker, actors=TEST_ACTORS)


def row(page: Page, key: str) -> Locator:
    return page.get_by_role("row").filter(has=page.get_by_role("link", name=key, exact=True))


def button(page: Page, name: str) -> Locator:
    return page.get_by_role("button", name=name, exact=True)


def count_rows(page: Page, table: str) -> Callable[[int], None]:
    return lambda count: expect(page.get_by_role("table", name=table).locator("tbody tr")).to_have_count(count)


def submit(server: ServerProcess, count: int, actor: str, payload: dict[str, Any], **options: Any) -> list[str]:
    tasks = [{"actor": actor, "payload": payload, **options}] * count
    return [each["task_id"] for each in server.call("POST", "/tasks/batch", {"tasks": tasks})["items"]]


def open_with_key(visit: Visit, address: str, key: str) -> Page:
    page = visit.page
    page.goto(f"{visit.origin}/#{address}")
    page.get_by_label("API key").fill(key)
    button(page, "Continue").click()
    return page


def read_limit_line(page: Page) -> str:
    return page.locator(".limit-line").last.get_attribute("d") or ""


def test_change_a_limit_and_see_the_line_move(visit: Visit, server: ServerProcess, start: Start) -> None:
    start(threads=8)
    declare([Gate("tenant:acme")])
    server.call("PUT", "/gates/tenant:acme", {"max_concurrent": 1})
    submit(server, 5, "steps", {"seconds": 60}, tenant="acme")
    page = visit.open("/gates/tenant%3Aacme")
    holders, waiters = count_rows(page, "Holders"), count_rows(page, "Waiting tasks")
    holders(1)
    waiters(4)
    expect(page.locator(".head")).to_contain_text("1 of 1 place taken")
    before = read_limit_line(page)
    page.get_by_label("Most at once").fill("4")
    button(page, "Save").click()
    holders(4)  # tasks that waited have started, and the page says so by itself
    waiters(1)
    expect(page.locator(".head")).to_contain_text("4 of 4 places taken")
    expect(page.get_by_role("table", name="Changes")).to_contain_text("limit 1 → 4")
    expect(page.locator(".differs")).to_contain_text("The limit is 4; the code declares none.")
    assert read_limit_line(page) != before
    button(page, "Reset").click()
    page.get_by_role("dialog").get_by_role("button", name="Reset").click()
    holders(5)
    expect(page.locator(".differs")).to_have_count(0)
    expect(page.get_by_label("Most at once")).to_have_value("")


def test_pause_and_resume(visit: Visit, server: ServerProcess, start: Start, tmp_path: Path) -> None:
    start()
    server.call("PUT", "/gates/tenant:acme", {"max_concurrent": 5})
    page = visit.open("/gates/tenant%3Aacme")
    button(page, "Pause").click()
    expect(button(page, "Resume")).to_be_visible()
    file = tmp_path / "notes"
    ids = submit(server, 2, "note", {"file": str(file)}, tenant="acme")
    line = page.get_by_role("table", name="Waiting tasks").locator("tbody tr")
    expect(line).to_have_count(2)
    for place, task_id in enumerate(ids, 1):
        expect(line.nth(place - 1)).to_contain_text(str(place))
        expect(line.nth(place - 1).get_by_role("link")).to_have_attribute("href", f"#/tasks/{task_id}")
    assert not file.exists()
    button(page, "Resume").click()
    expect(line).to_have_count(0)
    expect(page.get_by_text("Nobody waits.")).to_be_visible()
    button(page, "Close for…").click()
    page.get_by_label("Minutes").fill("7")
    button(page, "Close").click()
    expect(page.locator(".head")).to_contain_text("opens in 6 min")
    button(page, "Open now").click()
    expect(button(page, "Close for…")).to_be_visible()
    # A gate that nobody has set is shown as soon as a task uses it, without a reload.
    page = visit.open("/gates/target%3A%2Fcar")
    expect(page.get_by_role("alert")).to_contain_text("target:/car")
    submit(server, 2, "steps", {"seconds": 60}, target="car")
    expect(page.locator(".head")).to_contain_text("1 task running")
    expect(line).to_have_count(1)


@pytest.fixture
def outage() -> Iterator[str]:
    """A service that answers 503."""

    class Down(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_error(503)

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Down) as service:
        threading.Thread(target=service.serve_forever).start()
        yield f"http://127.0.0.1:{service.server_port}/"
        service.shutdown()


def test_an_open_breaker_says_until_when(visit: Visit, server: ServerProcess, start: Start, outage: str) -> None:
    start(threads=8)
    submit(server, 14, "flaky", {"text": outage})
    page = visit.open("/gates")
    expect(row(page, "provider:flaky")).to_contain_text("breaker open")
    expect(row(page, "provider:flaky")).to_contain_text("probe in")
    page.get_by_role("link", name="provider:flaky").click()
    expect(page.locator(".notice")).to_contain_text("The breaker is open")
    expect(page.locator(".notice")).to_contain_text("probe in")
    expect(page.get_by_role("table", name="Changes")).to_contain_text("breaker opened")


def test_what_the_server_refuses_is_shown_at_its_field(visit: Visit, server: ServerProcess) -> None:
    declare([Gate("provider:x", 3, rate=Rate(5, 60))])
    page = visit.open("/gates/provider%3Ax")
    limit = page.get_by_label("Most at once")
    for text, message in (("-1", "must be 0 to"), ("99999999999999999999", "must be 0 to"), ("many", "integer")):
        limit.fill(text)
        button(page, "Save").click()
        expect(page.get_by_role("alert")).to_contain_text(message)
        expect(limit).to_have_attribute("aria-invalid", "true")
        expect(limit).to_have_value(text)
    button(page, "Undo").click()
    expect(limit).to_have_value("3")
    page.get_by_label("in seconds").first.fill("")
    button(page, "Save").click()
    expect(page.get_by_role("alert")).to_contain_text("rate_count and rate_seconds go together")
    assert server.call("GET", "/gates/provider:x")["max_concurrent"] == 3


def test_keys_with_markup_and_any_characters(visit: Visit, server: ServerProcess, check_page: CheckPage) -> None:
    long = "tenant:" + "x" * 180
    for key in (MARKUP, "target:../../etc", "tenant:ünï 漢字", long):
        declare([Gate(key, 2)])
        page = visit.open("/gates")
        page.get_by_role("link", name=key, exact=True).click()
        expect(page.get_by_role("heading", level=1)).to_have_text(key)
        button(page, "Pause").click()
        expect(button(page, "Resume")).to_be_visible()
        page.reload()
        expect(page.get_by_role("heading", level=1)).to_have_text(key)
    visit.open("/gates")
    expect(row(page, long)).to_be_visible()
    check_page(page, "gates-odd-keys")


def test_keys_without_the_right_see_no_gates(visit: Visit, server: ServerProcess) -> None:
    declare([Gate("provider:x", 3)])
    _, operator = create_key("ann", "operator")
    _, reader = create_key("joe", "reader")
    page = open_with_key(visit, "/gates/provider%3Ax", operator)
    page.get_by_label("Most at once").fill("5")
    button(page, "Save").click()
    expect(page.get_by_role("table", name="Changes")).to_contain_text("ann")
    button(page, "Use another key").click()
    open_with_key(visit, "/gates/provider%3Ax", reader)
    expect(page.get_by_role("alert")).to_contain_text("role operator")
    for name in ("Pause", "Save", "Reset", "Close for…"):
        expect(button(page, name)).to_have_count(0)
    expect(page.get_by_role("navigation").get_by_role("link", name="Gates")).to_have_count(0)


def test_a_thousand_gates(visit: Visit, connection: Observer, check_page: CheckPage) -> None:
    connection.execute(
        "INSERT INTO callboard.gates (key, max_concurrent, declared_concurrent) "
        "SELECT 'concurrency:customer-' || lpad(n::text, 4, '0'), 1, 1 FROM generate_series(1, 1000) AS n"
    )
    declare([Gate("provider:leonardo", 3)])
    page = visit.open("/gates")
    expect(row(page, "concurrency:customer-0001")).to_be_visible()
    expect(row(page, "provider:leonardo")).to_have_count(0)
    page.get_by_label("Filter gates").fill("LEO")
    expect(row(page, "provider:leonardo")).to_be_visible()
    expect(page.get_by_role("row")).to_have_count(2)
    page.reload()
    expect(page.get_by_label("Filter gates")).to_have_value("LEO")
    page.get_by_label("Filter gates").fill("no such gate")
    button(page, "Show all gates").click()
    expect(page.locator("tbody tr")).to_have_count(100)
    button(page, "Show more gates").click()
    expect(page.locator("tbody tr")).to_have_count(300)


def test_pictures(
    visit: Visit, server: ServerProcess, start: Start, connection: Observer, check_page: CheckPage
) -> None:
    fill(server, connection)
    start(threads=8)
    page = visit.open("/gates")
    expect(row(page, "provider:leonardo")).to_contain_text("3 / 3")
    expect(row(page, "provider:leonardo").get_by_role("img")).to_be_visible()
    check_page(page, "gates")
    page.get_by_role("link", name="provider:leonardo", exact=True).click()
    expect(page.get_by_role("table", name="Holders").locator("tbody tr")).to_have_count(3)
    expect(page.get_by_role("table", name="Waiting tasks")).to_contain_text("about")
    expect(page.locator("line-plot .line").first).to_be_visible()
    check_page(page, "gate")


def fill(server: ServerProcess, connection: Observer) -> None:
    """Gates in many states, some in use, and an hour of samples."""
    declare([
        Gate("provider:leonardo", 3, breaker=True),
        Gate("provider:openrouter", 100, breaker=True, rate=Rate(60, 60)),
        Gate("provider:midjourney", 1, breaker=True),
        Gate("tenant:northwind"),
        Gate("provider:local", 8),
        Gate("provider:embeddings", 20),
    ])  # fmt: skip
    operator = Caller("operator", name="ann")
    put_gate("provider:openrouter", max_concurrent=40, caller=operator)
    put_gate("provider:leonardo", max_concurrent=2, caller=operator)
    put_gate("provider:leonardo", max_concurrent=3, caller=operator)
    put_gate("tenant:northwind", max_concurrent=2, paused=True, caller=operator)
    connection.execute(
        "UPDATE callboard.gates SET breaker_state = 'open', "
        "breaker_changed_at = callboard.now() - interval '17 seconds' WHERE key = 'provider:midjourney'"
    )
    connection.execute(
        "UPDATE callboard.gate_changes SET at = at - interval '1 minute' * CASE changes -> 'max_concurrent' -> 1 "
        "WHEN '2' THEN 24 WHEN '3' THEN 11 ELSE 70 END"
    )
    connection.execute(
        "INSERT INTO callboard.gate_samples (gate, at, running, waiting, max_concurrent, closed_by) "
        "SELECT g.key, callboard.now() - n * interval '10 seconds', "
        "       least(m.most, greatest(0, round(m.most * (0.6 + 0.5 * sin(n / 21.0) + 0.3 * sin(n / 5.0)))))::integer, "
        "       greatest(0, round(14 * sin(n / 40.0) + 6 * sin(n / 9.0)))::integer, m.most, "
        "       CASE WHEN g.key = 'provider:leonardo' AND n BETWEEN 200 AND 224 THEN 'breaker_open' END "
        "FROM callboard.gates g, generate_series(1, 350) AS n, "
        "LATERAL (SELECT CASE WHEN g.key = 'provider:leonardo' AND n BETWEEN 66 AND 144 THEN 2 "
        "                ELSE g.max_concurrent END AS most) AS m "
        "WHERE g.key IN ('provider:leonardo', 'provider:openrouter')"
    )
    connection.execute("INSERT INTO callboard.actor_pace VALUES ('gated', 14, callboard.now())")
    submit(server, 11, "gated", {"gates": {"provider:leonardo": 3}, "seconds": 60})
    submit(server, 3, "gated", {"gates": {"provider:openrouter": 100}, "seconds": 60})
    submit(server, 6, "gated", {"gates": {"provider:midjourney": 1}})
    submit(server, 4, "steps", {"seconds": 60}, tenant="northwind")
    submit(server, 2, "steps", {"seconds": 60}, target="site-17")
