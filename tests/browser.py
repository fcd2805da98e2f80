"""Debian's chromium, headless, for tests of pages: what it shows, what it asks of the network, what it complains about."""

import io
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
SHARPNESS = 0.5  # of the picture, in pixels: software draws it
PATIENCE = 90.0  # s; software rendering on two busy cores shows a few frames a second
_ARGUMENTS = [
    "--no-sandbox",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # Nothing leaves this machine, whatever a page asks for; what it asked for is in Tab.requests.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
]

_DRAWN_WHEN_LOOKED_AT = """
window.lookedAt = false;
for (const name of ["drawElements", "drawArrays", "drawElementsInstanced", "drawArraysInstanced"]) {
  const draw = WebGL2RenderingContext.prototype[name];
  WebGL2RenderingContext.prototype[name] = function (...how) { if (window.lookedAt) draw.apply(this, how); };
}
"""
"""Software takes 0.2 s for a picture of three people, and would do nothing else: the page draws when a test looks at it."""

_TWO_FRAMES = "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"


class Tab:
    """A browser window of its own (own cookies, own cache) with a log of its requests and errors."""

    def __init__(self, browser, shots: Path):
        self._context = browser.new_context(viewport={"width": 1366, "height": 768}, device_scale_factor=SHARPNESS)
        self._context.set_default_timeout(1000 * PATIENCE)
        self.page = self._context.new_page()
        self.requests: list[str] = []
        self.errors: list[str] = []
        self._shots = shots
        self._context.on("request", lambda request: self.requests.append(request.url))
        self.page.on("websocket", lambda socket: self.requests.append(socket.url))
        self.page.on("console", lambda m: self.errors.append(m.text) if m.type == "error" else None)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))

    def foreign(self) -> list[str]:
        """Requests to anything but this machine's loopback, this disk and the page itself."""
        own = ("file:", "data:", "blob:", "about:", "http://127.0.0.1:", "ws://127.0.0.1:")
        return [url for url in self.requests if not url.startswith(own)]

    def draw_when_looked_at(self) -> None:
        """Draw only for ``shot``: of a stage, which draws again and again."""
        self.page.add_init_script(_DRAWN_WHEN_LOOKED_AT)

    def offline(self) -> None:
        """Take the network away, loopback too."""
        self._context.set_offline(True)

    def shot(self, name: str = "", selector: str = "") -> np.ndarray:
        """Return what is seen (h, w, 3), of the page or of an element; with a name also as a file beside the test's own."""
        target = self.page.locator(selector).first if selector else self.page
        self.page.evaluate("window.lookedAt = true")
        self.next_frame()
        image = Image.open(
            io.BytesIO(target.screenshot(animations="allow", scale="css", timeout=1000 * PATIENCE))
        ).convert("RGB")
        self.page.evaluate("window.lookedAt = false")
        if name:
            image.save(self._shots / f"{name}.png")
        return np.asarray(image).astype(int)

    def next_frame(self) -> None:
        """Wait until the page has drawn what it knows."""
        self.page.evaluate(_TWO_FRAMES)

    def until(self, true: Callable[[], object], what: str, seconds: float = PATIENCE):
        """Wait until something is true and return it; a test that waits in vain says for what, and what the page complained of."""
        end = time.monotonic() + seconds
        while True:
            answer = true()
            if answer:
                return answer
            if time.monotonic() > end:
                pytest.fail(f"waited {seconds:.0f} s in vain: {what}; the page's errors: {self.errors[-3:]}")
            self.page.wait_for_timeout(100)  # lets the page's events in, as time.sleep would not

    def close(self) -> None:
        self._context.close()


@pytest.fixture(scope="module")
def chromium():
    """A browser for one file of tests."""
    executable = next(filter(None, map(shutil.which, NAMES)), None)
    if executable is None:
        pytest.skip(f"no browser ({', '.join(NAMES)}): install Debian's chromium to run this")
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: make setup")
    # Not for the whole session: while playwright is open its event loop counts as running in this thread.
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=_ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def open_tab(chromium, tmp_path):
    """Open a window on an address: ``tab = open_tab(url)``; several at once are several users."""
    tabs: list[Tab] = []

    def go(url: str, online: bool = True) -> Tab:
        tabs.append(Tab(chromium, tmp_path))
        if not online:
            tabs[-1].offline()
        if url.startswith("http:"):
            tabs[-1].draw_when_looked_at()
        tabs[-1].page.goto(url)
        return tabs[-1]

    yield go
    for tab in tabs:
        tab.close()
