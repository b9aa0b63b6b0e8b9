"""A real browser on the console: Debian's chromium, driven by Playwright."""

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import axe_playwright_python
from playwright.sync_api import Browser, ConsoleMessage, Page, Request, expect, sync_playwright

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
_OPTIONS = [
    "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-dev-shm-usage", "--disable-component-update",
    "--disable-sync", "--disable-background-networking", "--no-proxy-server",
]  # fmt: skip
WAIT_MS = 20_000  # for a condition; only a test that fails waits that long
WIDE = {"width": 1440, "height": 980}
PHONE = {"width": 390, "height": 844}
NARROW = {"width": 320, "height": 844}

expect.set_options(timeout=WAIT_MS)


@contextmanager
def start_chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=_OPTIONS, chromium_sandbox=False)
        try:
            yield browser
        finally:
            browser.close()


class Visit:
    """A page of the console, and everything that went wrong on it."""

    def __init__(self, page: Page, url: str) -> None:
        self.page = page
        self.url = url
        self.origin = url.rstrip("/")
        self.errors: list[str] = []
        self.requests: list[str] = []
        page.set_default_timeout(WAIT_MS)
        page.on("console", self._note_message)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("request", self._note_request)

    def open(self, address: str = "/") -> Page:
        """Opens a page by its address inside the console, such as /tasks?q=status:dead."""
        self.page.goto(f"{self.origin}/#{address}")
        expect(self.page.locator("nav .who")).not_to_be_empty()
        return self.page

    def _note_message(self, message: ConsoleMessage) -> None:
        # The browser itself reports answers that are errors; the tests of these answers look at what the page shows.
        if message.type == "error" and "Failed to load resource" not in message.text:
            self.errors.append(message.text)

    def _note_request(self, request: Request) -> None:
        self.requests.append(request.url)
        if not request.url.startswith((f"{self.origin}/", "data:", "blob:")):
            self.errors.append(f"a request has left the origin: {request.url}")


@cache
def _axe() -> str:
    return (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text()


def find_barriers(page: Page) -> list[dict[str, Any]]:
    """Returns what axe-core finds serious or critical."""
    page.evaluate(_axe())  # by the debugger: the page's own policy lets no foreign script in
    found = page.evaluate("async () => (await axe.run(document, {resultTypes: ['violations']})).violations")
    serious = [each for each in found if each["impact"] in ("serious", "critical")]
    return [
        {"rule": each["id"], "help": each["help"], "nodes": [node["html"][:200] for node in each["nodes"][:5]]}
        for each in serious
    ]


def wait_for_layout(page: Page) -> None:
    """Waits for what follows the size of the window in the frame after."""
    page.evaluate("() => new Promise((go) => requestAnimationFrame(() => requestAnimationFrame(go)))")


def take_screenshots(page: Page, folder: Path, name: str) -> None:
    """Takes pictures of what is shown: in both themes, and at the width of a phone."""
    folder.mkdir(parents=True, exist_ok=True)
    for theme in ("light", "dark"):
        page.evaluate("theme => { localStorage.setItem('callboard-theme', theme) }", theme)
        page.evaluate("theme => { document.documentElement.dataset.theme = theme }", theme)
        for width, size in (("wide", WIDE), ("phone", PHONE)):
            page.set_viewport_size(size)  # type: ignore[arg-type]
            wait_for_layout(page)
            page.screenshot(path=folder / f"{name}-{theme}-{width}.png", animations="disabled")
    page.set_viewport_size(WIDE)  # type: ignore[arg-type]


def show(value: object) -> str:
    return json.dumps(value, indent=1)
