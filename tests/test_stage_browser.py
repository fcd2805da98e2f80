"""The stage as a person uses it: Debian's chromium, a mouse, and a simulation that answers."""

import time

import numpy as np
import pytest

from stage_tools import Stage, leave, seat

pytestmark = pytest.mark.filterwarnings("ignore:Queued a .* on a closed connection")
HAND = "king/right_palm"


@pytest.fixture(scope="module")
def king():
    stage = Stage("king", parameters={"carried": "true"})
    yield stage
    stage.close()


def test_the_king_reaches_where_the_handle_is_dragged(king, open_tab):
    tab = seat(king, open_tab)
    tab.page.get_by_text("Play", exact=True).click()
    tab.until(lambda: king.frame.phase == "reach", "the reach phase")
    tab.page.wait_for_timeout(3000)
    handle = king.director.hands.controls["reach"]
    at, size = np.array(handle._gizmo.position), king.director.hands._size
    up = np.array([0, 0, 1.0])
    king.drag(tab, at + 0.8 * size * up, at + (0.8 * size + 0.25) * up)
    goal = np.array(handle._gizmo.position)
    assert goal[2] - at[2] > 0.12, "the handle was not dragged"
    np.testing.assert_allclose(goal[:2], at[:2], atol=0.02)
    tab.until(lambda: np.linalg.norm(king.frame.controls["reach"] - goal) < 1e-3, "the reference at the new target")
    tab.until(lambda: np.linalg.norm(king.site(HAND) - goal) < 0.05, "the hand within 5 cm of the new target", 20)
    tab.shot("king")
    assert not [e for e in tab.errors if "WebGL" not in e]
    leave(king, tab)


def test_grab_pull_and_let_go(king, open_tab):
    tab = seat(king, open_tab)
    tab.page.get_by_text("Play", exact=True).click()
    cast = king.director._cast
    chest = cast.data.xpos[cast.model.body("rear/chest").id].copy()
    tab.page.wait_for_timeout(500)
    x, y = king.pixel(tab, chest)
    tab.page.mouse.move(x, y)
    tab.page.wait_for_timeout(800)
    tab.page.mouse.click(x, y)
    tab.until(lambda: king.frame.pull is not None, "a grip on the body")
    assert king.frame.pull.body.startswith("rear/")
    point, size = np.array(king.frame.pull.point), 0.8 * king.director.hands._size
    up = np.array([0, 0, 1.0])
    king.drag(tab, point + 0.8 * size * up, point + (0.8 * size + 0.4) * up)
    tab.until(lambda: king.frame.pull.force[2] > 20.0, "a force upwards")
    tab.shot("pull")
    tab.page.get_by_role("tab", name="Touch").click()
    tab.page.get_by_role("button", name="Let go").click()
    tab.until(lambda: king.frame.pull is None, "the body let go")
    leave(king, tab)


def test_scrub_and_play_on(king, open_tab):
    tab = seat(king, open_tab)
    tab.page.get_by_text("Play", exact=True).click()
    tab.until(lambda: king.frame.time > 2.0, "two seconds")
    tab.page.get_by_text("Pause", exact=True).click()
    tab.until(lambda: not king.frame.playing, "a pause")
    late = king.frame.time
    thumb = tab.page.get_by_role("slider").first
    thumb.focus()
    tab.page.keyboard.press("Home")
    tab.until(lambda: king.frame.time < 0.5, "the beginning")
    assert not king.frame.live
    tab.shot("past")
    tab.page.keyboard.press("End")
    tab.until(lambda: king.frame.time > late - 0.2, "the present")
    leave(king, tab)


def test_two_browsers_and_one_holds_control(king, open_tab):
    first = seat(king, open_tab)
    second = seat(king, open_tab)
    holder, watcher = list(king.director.audience)
    assert king.director.audience.holder == holder
    assert second.page.get_by_text("another browser holds control").is_visible()
    assert second.page.get_by_text("Play", exact=True).count() == 0
    second.page.get_by_role("button", name="Take control").click()
    second.until(lambda: king.director.audience.holder == watcher, "control")
    second.until(lambda: second.page.get_by_text("Play", exact=True).count() == 1, "buttons")
    first.until(lambda: first.page.get_by_text("Play", exact=True).count() == 0, "no buttons")
    second.shot("second")
    second.page.goto("about:blank")
    first.until(lambda: king.director.audience.holder == holder, "control back")
    leave(king, first)


def test_change_scenario(king, open_tab):
    tab = seat(king, open_tab)
    tab.page.get_by_role("textbox", name="Scenario").or_(tab.page.locator("input[value=king]")).first.click()
    tab.page.get_by_role("option", name="stand", exact=True).click()
    tab.until(lambda: king.director.opening.scenario == "stand" and king.frame is not None, "another scenario")
    tab.page.get_by_text("Play", exact=True).click()
    tab.until(lambda: king.frame.time > 0.5, "half a second of it")
    tab.shot("stand")
    time.sleep(0.1)
    assert king.frame.qpos.size == king.director._cast.model.nq
    leave(king, tab)
