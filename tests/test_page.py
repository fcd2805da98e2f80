"""The exported page, opened from disk in a browser that has no network."""

import html
import json
import re

import numpy as np
import pytest

from interplay.io.export import export
from interplay.io.formats.html import captioned
from interplay.io.recording import Recording
from interplay.runs.run import run

PICTURE = (slice(170, 690), slice(None))  # the canvas without the player's notes and our captions


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("door")
    run("door", folder, seconds=2.5, dt=0.02)
    return export(folder, folder / "door.html")[0]


def _time(tab) -> float:
    return float(tab.page.inner_text("#score time").removesuffix(" s"))


def _ready(tab):
    """Wait until the player is there and its light is: the picture has the colours of the characters."""
    tab.until(
        lambda: tab.page.locator("[role=slider]").count() and tab.page.inner_text("#score time"), "the player starts"
    )
    return tab.until(lambda: np.ptp(tab.shot()[PICTURE], axis=2).max() > 60, "something colourful is seen")


def _scrub(tab, part: float) -> None:
    """Click on the timeline."""
    track = tab.page.locator("[role=slider]").locator("xpath=..").bounding_box()
    tab.page.mouse.click(track["x"] + part * track["width"], track["y"] + track["height"] / 2)


def _settled(tab) -> np.ndarray:
    """Return the picture when it does not change any more."""
    pictures = [tab.shot()[PICTURE]]

    def same() -> bool:
        pictures.append(tab.shot()[PICTURE])
        return np.abs(pictures[-1] - pictures[-2]).max() < 8

    tab.until(same, "the picture comes to rest")
    return pictures[-1]


def _changed(a: np.ndarray, b: np.ndarray) -> int:
    """Return how many pixels differ visibly."""
    return int((np.abs(a - b).max(axis=2) > 40).sum())


def test_plays_and_scrubs_without_network(page, open_tab):
    tab = open_tab(page.as_uri(), online=False)
    _ready(tab)
    assert tab.page.title() == "door"
    assert tab.page.inner_text("#score b") == "door"
    names = [button.inner_text() for button in tab.page.locator("#phases button").all()]
    assert names == list(dict.fromkeys(Recording(page.parent).phases))

    before = _time(tab)
    tab.until(lambda: _time(tab) != before, "time runs by itself")
    tab.page.keyboard.press("Space")
    _settled(tab)
    paused = _time(tab)
    _settled(tab)
    assert _time(tab) == paused

    _scrub(tab, 0.95)
    late = 0.95 * 2.5
    tab.until(lambda: abs(_time(tab) - late) < 0.02, "the timeline's end is shown")
    assert tab.page.inner_text("#score span") == names[-1]
    end = _settled(tab)
    tab.shot("end")

    _scrub(tab, 0.05)
    tab.until(lambda: _time(tab) < 0.2, "the timeline's beginning is shown")
    begin = _settled(tab)
    tab.shot("begin")
    moved = _changed(begin, end)
    assert moved > 500

    tab.page.locator("#phases button").nth(1).click()
    start = next(t for t, name in enumerate(Recording(page.parent).phases) if name == names[1]) * 0.02
    tab.until(lambda: abs(_time(tab) - start) < 0.006, "a phase's button leads to its beginning")
    assert tab.page.inner_text("#score span") == names[1]

    _scrub(tab, 0.95)
    tab.until(lambda: abs(_time(tab) - late) < 0.02, "the end is shown again")
    # The same moment is the same picture, whatever was shown before, but for edges that software rendering draws anew.
    tab.until(lambda: _changed(_settled(tab), end) < 0.3 * moved, "the end's picture again")

    tab.page.keyboard.press("Space")
    again = _time(tab)
    tab.until(lambda: _time(tab) != again, "the space bar lets it play on")
    assert tab.errors == []
    assert tab.foreign() == []
    assert [url for url in tab.requests if url.startswith(("http:", "ws:"))] == []


def test_small(page):
    assert page.stat().st_size < 1.3e6  # the player alone has 0.8 MB


def test_names_cannot_become_markup():
    name = "</script><script>alert(1)</script>"
    text = captioned("<title>Viser</title><body></body>", name, [(0.0, name), (2.0, "b")], 3.0)
    assert name not in text
    assert html.escape(name) in text
    score = json.loads(re.search(r"const score = (.*);", text).group(1))
    assert score["phases"] == [[0.0, name], [2.0, "b"]]


def test_a_strange_address_fails_and_is_logged(open_tab):
    tab = open_tab(
        "data:text/html,<img src='http://8.8.8.8/x.png'><img src='https://example.org/x.png'><script>fail()</script>"
    )
    tab.until(lambda: len(tab.foreign()) == 2 and len(tab.errors) == 3, "both requests and all errors are logged")
