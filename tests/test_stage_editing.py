"""Composed motions on the stage: marks are dragged, windows solved in another process, and what became of it is played, kept, or taken back."""

import time
from types import SimpleNamespace

import numpy as np
import pytest

import interplay as ip
from interplay.stage.editor import Edited, Editor, Keep, Marks, MarkView, MoveMark, MoveTime, Prepare, Redo, Undo
from interplay.stage.mark_handles import outline
from interplay.stage.messages import Notice, Play, Seek, Swap
from stage_tools import House, Stage, leave, on_tab, press, seat

pytest.importorskip("casadi")

from interplay.spacetime.body import Body
from interplay.spacetime.gaits import gait
from interplay.spacetime.performing import perform_gait

STEP = "ann: step 2, right foot"


@pytest.fixture(scope="module")
def composed():
    body = Body(ip.Scene().add(ip.Humanoid(1.74, 68, springs=True), "ann"), "ann")
    return perform_gait("walk", gait(body, "walk", 1.3, meshes=1), 4)


@pytest.fixture
def folder(composed, tmp_path):
    return composed.write(tmp_path / "walk", {"speed": 1.3})


def hear(editor, until, seconds=60.0):
    """Listen until something is said; return all that was."""
    heard, end = [], time.monotonic() + seconds
    while not any(until(said) for said in heard):
        assert time.monotonic() < end, heard[-1:]
        heard += editor.heard()
        time.sleep(0.02)
    return heard


def at_rest(said):
    return isinstance(said, Marks) and not said.doing


def mark(marks, name=STEP):
    return next(view for view in marks.marks if view.name == name)


def test_an_editor_moves_marks_takes_back_and_keeps(folder):
    editor = Editor(folder)
    try:
        first = hear(editor, at_rest)[-1]
        view = mark(first)
        assert [v.name for v in first.marks if not v.why] == [STEP, "ann: step 3, left foot"]
        assert (first.undo, first.redo) == (0, 0)
        editor.ask(Prepare(STEP))
        far = (view.position[0] + 0.2, *view.position[1:])
        near = (view.position[0] + 0.04, *view.position[1:])
        for place in (far, near):  # of two moves in a row the last counts
            editor.ask(MoveMark(STEP, place, view.heading))
        heard = hear(editor, lambda said: isinstance(said, Marks) and said.undo == 1 and not said.doing)
        assert any(isinstance(said, Marks) and STEP in said.doing for said in heard)
        (edited,) = [said for said in heard if isinstance(said, Edited)]
        assert mark(heard[-1]).position == pytest.approx(near, abs=1e-5)
        assert mark(ip_marks(edited.folder)).position == mark(heard[-1]).position
        editor.ask(MoveMark(STEP, (9.0, 0.0, 0.0)))
        refused = hear(editor, lambda said: isinstance(said, Marks) and said.refused)[-1]
        assert "within 0.6 m" in refused.said
        assert refused.undo == 1
        for command, says in (
            (MoveMark("nobody", near), "unknown mark"),
            (MoveMark(STEP, (np.nan, 0.0, 0.0)), "position"),
            (MoveTime(STEP, np.inf), STEP.partition(":")[0]),
        ):
            editor.ask(command)
            assert says in hear(editor, lambda said: at_rest(said) and said.refused)[-1].said
        editor.ask(Keep())
        hear(editor, lambda said: isinstance(said, Marks) and "written" in said.said)
        assert mark(ip_marks(folder)).position == pytest.approx(near, abs=1e-5)
        assert '"speed": 1.3' in (folder / "report.json").read_text()
        editor.ask(Undo())
        back = hear(editor, lambda said: at_rest(said) and said.redo == 1)[-1]
        assert mark(back).position == view.position
        editor.ask(Redo())
        assert hear(editor, lambda said: at_rest(said) and said.undo == 1)[-1].redo == 0
    finally:
        editor.close()
    with pytest.raises(ip.InputError, match="ended"):
        editor.ask(Undo())


def ip_marks(folder):
    """The marks of a folder, as an editor would show them."""
    views = [
        MarkView(f"{m.who}: step {m.step}, {m.side} foot", "footprint", (*m.place, m.height), 0, (0, 0), m.lands, m.why)
        for m in ip.Editing(folder).footprints()
    ]
    return SimpleNamespace(marks=views)


def test_an_editor_says_why_it_cannot_edit(folder):
    (folder / "motion.problem").write_bytes(b"nothing")
    editor = Editor(folder)
    try:
        (notice,) = hear(editor, lambda said: isinstance(said, Notice))
        assert "cannot be edited" in notice.text
    finally:
        editor.close()


def test_a_performer_plays_what_has_become_of_a_motion(composed, folder, tmp_path):
    house = House(folder)
    assert house.performer.act.opening.composed == str(folder)
    house.do(Seek(0.8)).wait(0.1)
    before = house.frame
    higher = composed.qpos + np.array([0.0, 0.0, 0.01] + [0.0] * (composed.qpos.shape[1] - 3))
    other = composed._replace(qpos=higher).write(tmp_path / "other")
    house.do(Swap(str(other))).wait(0.3)
    assert house.frame.time == before.time
    np.testing.assert_allclose(house.frame.qpos[2], before.qpos[2] + 0.01)
    assert sum(type(said).__name__ == "Opening" for said in house.said) == 1
    house.do(Play()).wait(0.5)
    assert house.frame.time > 1.0
    ip.write_recording(
        tmp_path / "foreign",
        ip.Scene().add(ip.Humanoid(), "ben"),
        [0.0],
        ip.Scene().add(ip.Humanoid(), "ben").qpos[None],
    )
    house.do(Swap(str(tmp_path / "foreign")), Swap(str(tmp_path / "nowhere"))).wait(0.1)
    assert "another scene" in house.notices("warning")[-1]
    assert len(house.notices("error")) == 1


def test_soles_are_drawn_as_long_as_they_are():
    lines = outline(MarkView("", "footprint", (0, 0, 0), 0.0, (0.13, 0.05), 0.0, ""))
    assert np.abs(lines[..., 0]).max() == pytest.approx(0.13, abs=1e-3)
    assert 0.045 < np.abs(lines[..., 1]).max() < 0.06


def test_a_footprint_is_dragged_in_a_browser(folder, open_tab):
    stage = Stage(folder)
    try:
        tab = seat(stage, open_tab)
        tab.until(lambda: stage.director.marks is not None and not stage.director.marks.doing, "marks")
        stage.director.send(Seek(mark(stage.director.marks).time))
        tab.until(lambda: STEP in stage.director.handles.handles, "a handle")
        gizmo = stage.director.handles.handles[STEP]._gizmo
        tab.until(lambda: gizmo.visible, "a handle that is shown")
        before = stage.frame.qpos
        at, there = stage.drag(tab, gizmo, 0.06, 0.3, way=(1.0, 0.0, 0.0))
        tab.until(lambda: stage.director.marks.undo == 1 and not stage.director.marks.doing, "the motion solved anew")
        np.testing.assert_allclose(mark(stage.director.marks).position, there, atol=1e-4)
        tab.until(lambda: np.abs(stage.frame.qpos - before).max() > 1e-4, "the new motion on stage")
        on_tab(tab, "Edit")
        tab.shot("edited")
        press(tab, "Undo")
        tab.until(lambda: stage.director.marks.redo == 1 and not stage.director.marks.doing, "the change taken back")
        tab.until(lambda: np.abs(np.array(gizmo.position) - at).max() < 1e-3, "the handle back where it was")
        assert not [e for e in tab.errors if "WebGL" not in e]
        leave(stage, tab)
    finally:
        stage.close()
