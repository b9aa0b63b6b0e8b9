"""The frame of all pages: what is served, and what the page allows."""

from collections.abc import Callable

from playwright.sync_api import Page, expect

from tests.console.browser import Visit


def test_the_page_is_shown(visit: Visit, check_page: Callable[[Page, str], None]) -> None:
    page = visit.open()
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    check_page(page, "frame")
