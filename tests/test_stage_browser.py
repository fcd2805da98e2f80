"""The stage as a person uses it: Debian's chromium, a mouse, and a simulation that answers."""

import threading
from pathlib import Path

import numpy as np
import pytest
import yaml
from typer.testing import CliRunner

from interplay.cli import app
from interplay.io.recording import Recording
from interplay.runs.run import run
from stage_tools import Stage, download, grab, leave, on_tab, press, seat, slide

HAND = "king/right_palm"


@pytest.fixture(scope="module")
def king():
    stage = Stage("king", parameters={"carried": "true"})
    yield stage
    stage.close()


def test_the_king_reaches_where_the_handle_is_dragged(king, open_tab):
    tab = seat(king, open_tab)
    press(tab, "Play")
    tab.until(lambda: king.frame.phase == "reach", "the reach phase")
    at, goal = king.drag(tab, king.director.hands.controls["reach"]._gizmo, 0.25, king.director.hands._size)
    np.testing.assert_allclose(goal[:2], at[:2], atol=0.02)
    tab.until(lambda: np.linalg.norm(king.frame.controls["reach"] - goal) < 1e-3, "the reference at the new target")
    tab.until(lambda: np.linalg.norm(king.site(HAND) - goal) < 0.05, "the hand within 5 cm of the new target", 20)
    tab.shot("king")
    assert not [e for e in tab.errors if "WebGL" not in e]
    leave(king, tab)


def test_grab_pull_let_go_and_push(king, open_tab):
    tab = seat(king, open_tab)
    press(tab, "Play")
    handle = grab(king, tab, "rear/chest")
    assert king.frame.pull.body.startswith("rear/")
    king.drag(tab, handle, 0.4, 0.8 * king.director.hands._size)
    tab.until(lambda: king.frame.pull.force[2] > 20.0, "a force upwards")
    tab.shot("pull")
    on_tab(tab, "Touch")
    press(tab, "Let go")
    tab.until(lambda: king.frame.pull is None, "the body let go")
    rear, seen = king.director.opening.models.index("rear"), [king.frame.com]

    def rests():
        tab.page.wait_for_timeout(300)
        seen.append(king.frame.com)
        return np.abs(seen[-1] - seen[-2]).max() < 2e-4

    tab.until(rests, "all at rest")
    rest, felt, over = seen[-1][rear], [0.0], threading.Event()

    def feel():  # it lasts a second, and a busy page may need longer to say that the button was pressed
        while not over.wait(0.01):
            felt.append(float(np.linalg.norm(king.frame.com[rear] - rest)))

    feeling = threading.Thread(target=feel)
    feeling.start()
    try:
        press(tab, "Push")
        tab.until(lambda: max(felt) > 0.005, "a push that is felt", 20)
    finally:
        over.set()
        feeling.join()
    tab.until(rests, "all at rest again")
    np.testing.assert_allclose(seen[-1], seen[0], atol=0.05)  # they stand
    leave(king, tab)


def test_scrub_and_play_on(king, open_tab):
    tab = seat(king, open_tab)
    press(tab, "Play")
    tab.until(lambda: king.frame.time > 2.0, "two seconds")
    press(tab, "Pause")
    tab.until(lambda: not king.frame.playing, "a pause")
    late = king.frame.time
    slide(tab, 0, "Home")
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
    held = second.page.get_by_text("another browser holds control")
    second.until(lambda: held.count() and held.is_visible(), "the panel that says so")  # it comes after the seat
    assert second.page.get_by_text("Play", exact=True).count() == 0
    second.page.get_by_role("button", name="Take control").click()
    second.until(lambda: king.director.audience.holder == watcher, "control")
    second.until(lambda: second.page.get_by_text("Play", exact=True).count() == 1, "buttons")
    first.until(lambda: first.page.get_by_text("Play", exact=True).count() == 0, "no buttons")
    second.shot("second")
    second.page.goto("about:blank")
    first.until(lambda: king.director.audience.holder == holder, "control back")
    leave(king, first)


def test_what_was_played_is_downloaded(king, open_tab, tmp_path):
    gltf = pytest.importorskip("pygltflib").GLTF2
    tab = seat(king, open_tab)
    press(tab, "Reset", "Play")
    tab.until(lambda: 0.5 < king.frame.time < 5.0, "the beginning")
    press(tab, "Pause")
    tab.until(lambda: not king.frame.playing, "a pause")
    tab.page.get_by_text("Download", exact=True).click()
    file = download(tab, "Download what was played", tmp_path)
    end = king.frame.time
    assert file.name == f"king_0-{round(end, 1):g}s.glb"
    doc = gltf.load(str(file))
    assert sorted(skin.name for skin in doc.skins) == ["front", "king", "rear"]
    assert doc.scenes[0].extras["interplay"]["duration"] == pytest.approx(end, abs=0.04)
    tab.until(lambda: tab.page.get_by_text(f"{file.name} is sent").count(), "the word that it is sent")
    tab.shot("download")
    leave(king, tab)


def test_change_scenario(king, open_tab):
    tab = seat(king, open_tab)
    stand_up(king, tab)
    tab.shot("stand")
    assert king.frame.qpos.size == king.director._cast.model.nq
    leave(king, tab)


def stand_up(stage, tab):
    """Open the scenario ``stand``, or begin it again, and play it."""
    if stage.director.opening.scenario == "stand":
        press(tab, "Pause", "Reset")
        tab.until(lambda: stage.frame.time == 0.0, "the beginning")
    else:
        tab.page.locator(f'input[value="{stage.director.opening.scenario}"]').first.click()
        tab.page.get_by_role("option", name="stand", exact=True).click()
        tab.until(lambda: stage.director.opening.scenario == "stand" and stage.frame is not None, "another scenario")
    press(tab, "Play")
    tab.until(lambda: stage.frame.time > 0.3, "a moment of it")


def test_what_was_tuned_and_done_is_saved_and_repeated(king, open_tab, tmp_path):
    tab = seat(king, open_tab)
    stand_up(king, tab)
    on_tab(tab, "Tune")
    chosen = king.director._panels[king.director.audience.holder]._which.value
    tab.page.get_by_label("Weight").fill("0.35")
    tab.page.keyboard.press("Enter")

    def weights():
        return [o.weight for o in king.frame.objectives if o.label == chosen]

    tab.until(lambda: weights() == [0.35], "the weight")
    phase = king.frame.phase
    tab.until(lambda: king.frame.phase != phase and weights() == [0.35], "the weight in another phase")
    handle = grab(king, tab, "alice/chest")
    king.drag(tab, handle, 0.2, 0.8 * king.director.hands._size)
    on_tab(tab, "Touch")
    press(tab, "Push", "Let go")
    tab.until(lambda: king.frame.pull is None, "the body let go")
    press(tab, "Pause")
    tab.until(lambda: not king.frame.playing, "a pause")
    moment, qpos = king.frame.time, king.frame.qpos
    on_tab(tab, "Tune")

    file = download(tab, "Save scenario", tmp_path)
    assert CliRunner().invoke(app, ["check", str(file)]).exit_code == 0
    assert yaml.safe_load(file.read_text())["adjust"] == [{"objective": chosen, "weight": 0.35}]

    performance = download(tab, "Save performance", tmp_path)
    said = performance.read_text()
    assert all(verb in said for verb in ("adjust ", "pull alice/", "push alice/", "let go")), said
    out = tmp_path / "again"
    arguments = ["run", "stand", "--targets", str(performance), "--seconds", f"{moment + 0.1}", "--out", str(out)]
    assert CliRunner().invoke(app, arguments).exit_code == 0
    again = Recording(out)
    at = int(np.abs(again["time"] - moment).argmin())
    assert again["time"][at] == pytest.approx(moment)
    np.testing.assert_allclose(again["qpos"][at], qpos, atol=1e-6)
    leave(king, tab)


def test_a_recording_is_played_and_scrubbed_with_overlays(open_tab, tmp_path):
    run("stand", tmp_path / "run", seconds=4.0)
    stage = Stage(tmp_path / "run")
    try:
        tab = seat(stage, open_tab)
        tab.until(lambda: tab.page.get_by_role("tab").all_inner_texts() == ["Show", "Plots"], "the tabs of a recording")
        on_tab(tab, "Show")
        for overlay in stage.director.overlays.all.values():
            if not overlay.on:
                tab.page.get_by_label(overlay.title).click()
        tab.until(lambda: all(stage.director.overlays.switched.values()), "all overlays")
        press(tab, "Play")
        tab.until(lambda: stage.frame.time > 1.0 and stage.frame.objectives, "a second of it")
        press(tab, "Pause")
        tab.until(lambda: not stage.frame.playing, "a pause")
        slide(tab, 0, "End")
        tab.until(lambda: stage.frame.time == stage.frame.span[1], "the end")
        tab.page.get_by_text(f"{stage.frame.time:.2f} s").first.wait_for()
        late = tab.shot("late", "canvas")
        slide(tab, 0, "Home")
        tab.until(lambda: stage.frame.time == stage.frame.span[0], "the beginning")
        tab.until(lambda: np.abs(tab.shot("early", "canvas") - late).max() > 60, "another picture")
        slide(tab, 0, "End")
        tab.until(lambda: stage.frame.time == stage.frame.span[1], "the end again")
        assert not stage.frame.playing  # it was looked at, not played to the end
        press(tab, "Play")
        tab.until(lambda: stage.frame.playing and stage.frame.time < 3.0, "it from the beginning")
        leave(stage, tab)
    finally:
        stage.close()


def test_the_tutorials_file_from_beginning_to_end(open_tab):
    stage = Stage(Path(__file__).parents[1] / "examples" / "carry_table.yaml")
    try:
        tab = seat(stage, open_tab)
        hand = stage.director.hands.controls["hand"]
        tab.until(lambda: hand._label.text == "hand (from 'follow' on)", "a handle that says when it acts")
        press(tab, "Play")
        slide(tab, 1, "End")
        tab.until(lambda: stage.frame.speed == 2.0, "double speed")
        tab.until(lambda: "walk" in stage.frame.phase, "the walk")
        tab.shot("walk")
        tab.until(lambda: stage.frame.phase == "follow" or stage.frame.ended, "the last phase")
        assert not stage.frame.ended
        tab.until(lambda: hand._label.text == "hand", "a handle that acts")
        table = stage.director._cast.data.xpos[stage.director._cast.model.body("table/table").id]
        beside = table[:2] + stage.director.opening.camera.lookat[:2]
        tab.until(lambda: np.abs(stage.seen_from()[3:5] - beside).max() < 0.01, "a camera that has gone along")
        at = np.array(hand._gizmo.position)
        tab.until(lambda: np.linalg.norm(stage.site("ann/right_palm") - at) < 0.03, "her hand at the handle")
        _, goal = stage.drag(tab, hand._gizmo, -0.2, stage.director.hands._size)
        tab.until(lambda: np.linalg.norm(stage.site("ann/right_palm") - goal) < 0.03, "her hand at the new place")
        tab.shot("follow")
        assert not [e for e in tab.errors if "WebGL" not in e]
        leave(stage, tab)
    finally:
        stage.close()
