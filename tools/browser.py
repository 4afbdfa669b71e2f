"""The browser that the site's tests use: Chromium from this machine, else Playwright's own.

python tools/browser.py     say which one, after trying to fetch one where there is none
"""

import shutil
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import Browser, Playwright, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# Nothing but the pages under test may cause a request; a container has no sandbox of its own.
OPTIONS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
HOW_TO_GET_ONE = (
    "no Chromium on this machine: install the system's package (Debian: apt-get install chromium) "
    "or run `.venv/bin/playwright install chromium`"
)


def find_chromium(playwright: Playwright) -> str | None:
    """The path of a Chromium; Playwright's own first, since it was made for this Playwright."""
    own = playwright.chromium.executable_path
    if Path(own).exists():
        return own
    return next((path for name in NAMES if (path := shutil.which(name))), None)


def launch(playwright: Playwright) -> Browser | None:
    """A headless browser, or None where there is no Chromium."""
    path = find_chromium(playwright)
    return playwright.chromium.launch(executable_path=path, args=OPTIONS) if path else None


def main() -> None:
    with sync_playwright() as playwright:
        path = find_chromium(playwright)
        if path is None:
            print("No Chromium here: fetching Playwright's own.", flush=True)
            command = [sys.executable, "-m", "playwright", "install", "chromium"]
            try:
                subprocess.run(command, check=True, timeout=300)
            except (subprocess.SubprocessError, OSError) as error:
                print(f"It could not be had ({error}); the browser tests will be skipped.")
            path = find_chromium(playwright)
    print(f"Chromium: {path or HOW_TO_GET_ONE}")


if __name__ == "__main__":
    main()
