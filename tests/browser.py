"""A headless Chromium for the tests of pages, or the reason why there is none.

A test asks for it through a fixture of its module, for a launch costs about a second::

    @pytest.fixture(scope="module")
    def browser() -> Iterator[Browser]:
        with open_browser() as opened:
            yield opened
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
REQUIRED = "DAESOLVE_REQUIRE_CHROMIUM"
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
"""Nothing but the page under test may reach for the network."""


@contextmanager
def open_browser() -> Iterator[Browser]:
    """Launch Chromium for the length of a block.

    Where none is installed the test is skipped, or fails if the environment has
    ``DAESOLVE_REQUIRE_CHROMIUM=1``.
    """
    executable = next(filter(None, map(shutil.which, NAMES)), None)
    if executable is None:
        reason = f"no Chromium is installed: none of {', '.join(NAMES)} is on the path"
        if os.environ.get(REQUIRED) == "1":
            pytest.fail(reason)
        pytest.skip(reason)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=executable, args=list(FLAGS))
        try:
            yield launched
        finally:
            launched.close()
