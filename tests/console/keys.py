"""Visitors with a key."""

from playwright.sync_api import Locator, Page

from tests.console.browser import Visit


def button(page: Page | Locator, name: str) -> Locator:
    return page.get_by_role("button", name=name, exact=True)


def enter_key(page: Page, key: str) -> None:
    page.get_by_label("API key").fill(key)
    button(page, "Continue").click()


def open_with_key(visit: Visit, address: str, key: str) -> Page:
    page = visit.page
    page.goto(f"{visit.origin}/#{address}")
    enter_key(page, key)
    return page
