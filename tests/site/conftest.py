"""The browser and the server that the tests of the built site share."""

import functools
import http.server
import threading
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, sync_playwright

from browser import HOW_TO_GET_ONE, launch
from site_visit import SITE, QuietHandler


@pytest.fixture(scope="session")
def address() -> Iterator[str]:
    """Where a server of this test run shows the site.

    What is to survive a reload is asked for here: Chromium 150, in the windows of a test, which
    keep nothing on the disk, now and then forgets at a reload all that a page in a folder kept.
    """
    handler = functools.partial(QuietHandler, directory=str(SITE))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        chromium = launch(playwright)
        if chromium is None:
            pytest.skip(HOW_TO_GET_ONE)
        yield chromium
        chromium.close()
