"""Keys: made, shown once, used, and revoked by operators."""

from collections.abc import Callable

from playwright.sync_api import Page, expect

from state.access.keys import create_key, list_keys
from tests.console.browser import Visit
from tests.console.keys import button, enter_key, open_with_key
from tests.console.server import ServerProcess

CheckPage = Callable[[Page, str], None]
MARKUP = "<img src=x onerror=alert(1)>"


def test_the_first_key(visit: Visit, server: ServerProcess, check_page: CheckPage) -> None:
    page = visit.open("/keys")
    expect(page.get_by_text("No keys yet.")).to_be_visible()
    check_page(page, "keys-empty")
    button(page, "New key").click()
    page.get_by_label("Name").fill("ann")
    check_page(page, "keys-new")
    button(page, "Create").click()
    secret = page.get_by_role("dialog").locator(".secret")
    text = secret.inner_text()
    assert server.call("GET", "/caller", key=text)["name"] == "ann"
    button(page, "Use it here").click()
    expect(page.get_by_role("table", name="Valid keys").locator("tbody tr")).to_have_count(1)
    expect(page.locator("nav .who")).to_contain_text("ann · operator")
    assert text not in page.content()


def test_create_and_revoke(visit: Visit, server: ServerProcess, check_page: CheckPage) -> None:
    _, operator = create_key("ann", "operator")
    page = open_with_key(visit, "/keys", operator)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    button(page, "New key").click()
    page.get_by_label("Name").fill(MARKUP)
    page.get_by_label("Role").select_option("reader")
    page.get_by_label("Tenant").fill("acme")
    page.get_by_label("Requests a minute").fill("600")
    button(page, "Create").click()
    button(page, "Copy").click()
    expect(page.get_by_text("Copy: copied.")).to_be_visible()
    copied = page.evaluate("() => navigator.clipboard.readText()")
    check_page(page, "keys-secret")
    button(page, "I have kept it").click()
    expect(page.locator(".secret")).to_have_count(0)
    assert copied not in page.content()
    caller = server.call("GET", "/caller", key=copied)
    assert (caller["name"], caller["role"], caller["tenant"]) == (MARKUP, "reader", "acme")
    row = page.get_by_role("row").filter(has_text=MARKUP)
    for text in ("reader", "acme", "600", "by ann"):
        expect(row).to_contain_text(text)
    check_page(page, "keys")
    button(row, f"Revoke {MARKUP}").click()
    expect(page.get_by_role("dialog")).to_contain_text("cannot be undone")
    button(page.get_by_role("dialog"), "Back").click()
    assert server.call("GET", "/caller", key=copied)["tenant"] == "acme"
    button(row, f"Revoke {MARKUP}").click()
    button(page.get_by_role("dialog"), "Revoke").click()
    expect(page.get_by_role("table", name="Revoked keys")).to_contain_text(MARKUP)
    expect(button(page, f"Revoke {MARKUP}")).to_have_count(0)
    assert list_keys()[0].revoked_by == "ann"


def test_what_the_server_refuses(visit: Visit) -> None:
    _, operator = create_key("ann", "operator")
    page = open_with_key(visit, "/keys", operator)
    button(page, "New key").click()
    page.get_by_label("Name").fill("tab\there\N{RIGHT-TO-LEFT OVERRIDE}")
    button(page, "Create").click()
    expect(page.get_by_role("dialog").get_by_role("alert")).to_contain_text("printable")
    button(page, "Back").click()
    button(page, "Revoke ann").click()  # nobody could make keys any more
    expect(page.get_by_role("dialog")).to_contain_text("the key of this page")
    button(page.get_by_role("dialog"), "Revoke").click()
    expect(page.locator("#toasts")).to_contain_text("operator")
    expect(page.get_by_role("table", name="Valid keys")).to_contain_text("in use here")


def test_many_keys(visit: Visit) -> None:
    _, operator = create_key("ann", "operator")
    for n in range(120):
        create_key(f"key {n}", "reader", tenant="acme")
    page = open_with_key(visit, "/keys", operator)
    rows = page.locator("tbody tr")
    expect(rows).to_have_count(100)
    button(page, "Show older ones").click()
    expect(rows).to_have_count(121)


def test_the_key_of_the_page_is_revoked(visit: Visit) -> None:
    create_key("bob", "operator")
    _, operator = create_key("ann", "operator")
    page = open_with_key(visit, "/keys", operator)
    button(page, "Revoke ann").click()
    button(page.get_by_role("dialog"), "Revoke").click()
    expect(page.get_by_label("API key")).to_be_visible()
    enter_key(page, operator)
    expect(page.get_by_role("alert")).to_contain_text("revoked")
