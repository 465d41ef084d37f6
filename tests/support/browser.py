"""Runs the machine's Chromium without a window, with playwright, to test pages.

Every page that is opened here is checked for errors on its console and for requests over the
network.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_OWN = ("file:", "data:", "blob:", "about:")


@contextlib.contextmanager
def chromium() -> Iterator[Browser]:
    """Start a browser; skip the test if there is none."""
    binary = next(filter(None, map(shutil.which, _NAMES)), None)
    if binary is None:
        pytest.skip("no Chromium on this machine: install the package chromium")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        pytest.skip("no playwright: install phrasescore[dev]")
    with sync_playwright() as started:
        # Chromium does not run its sandbox as root
        browser = started.chromium.launch(
            executable_path=binary, chromium_sandbox=os.geteuid() != 0, args=["--disable-gpu"]
        )
        try:
            yield browser
        finally:
            browser.close()


class Pages:
    """Opens pages, and checks each for errors and requests.

    Args:
        browser: A running browser.

    Attributes:
        complaints: Errors and warnings on the console, and requested network addresses.
    """

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._contexts: list[Any] = []
        self.complaints: list[str] = []

    def open(
        self, path: Path, *, width: int = 1280, scheme: Literal["light", "dark"] = "light"
    ) -> Page:
        """Open a file.

        Args:
            path: An HTML file.
            width: The width of the window in CSS pixels; a phone has about 390.
            scheme: The preferred colour scheme.
        """
        context = self._browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, offline=True
        )
        self._contexts.append(context)
        page = context.new_page()
        page.on("console", self._heard)
        page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        page.on("request", self._asked)
        page.goto(path.absolute().as_uri())
        return page

    def _heard(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(f"console: {message.text}")

    def _asked(self, request: Any) -> None:
        if not request.url.startswith(_OWN):
            self.complaints.append(f"request: {request.url}")

    def close(self) -> None:
        """Close all pages; fail if there are complaints."""
        for context in self._contexts:
            context.close()
        assert not self.complaints, self.complaints
