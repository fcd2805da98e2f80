"""Composed motions that are edited: files give back what was found to the bit; what is moved is there, the rest is as it was, and sound."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import interplay as ip

pytest.importorskip("casadi")

from interplay.spacetime.body import Body
from interplay.spacetime.checking import figures
from interplay.spacetime.editing import Editing
from interplay.spacetime.gaits import gait
from interplay.spacetime.laws import AtTime, OnTop, Reaches
from interplay.spacetime.marks import numbered, staged
from interplay.spacetime.performing import perform_gait
from interplay.spacetime.problem import Problem, Stage, When
from interplay.spacetime.saving import PROBLEM_FILE, load_problem, save_problem


@pytest.fixture(scope="module")
def walk():
    body = Body(ip.Scene().add(ip.Humanoid(1.74, 68, springs=True), "ann"), "ann")
    return perform_gait("walk", gait(body, "walk", 1.3, meshes=1), 5)


@pytest.fixture(scope="module")
def folder(walk, tmp_path_factory):
    return walk.write(tmp_path_factory.mktemp("walk"))


def footprint(motion, step):
    return next(mark for mark in motion.footprints() if mark.step == step)


def sound(performance):
    worth = performance.worth["ann"]
    return worth.root_mean < 0.01 and worth.root_worst < 0.1 and worth.slip < 1.5e-3 and worth.torque_ratio < 1


def test_what_was_written_is_read_to_the_bit(walk, folder):
    saved = load_problem(folder)
    role, before = saved.problem.roles["ann"], walk.problem.roles["ann"]
    assert role.phases == before.phases
    for one, other in zip([*role.knots, *role.style], [*before.knots, *before.style], strict=True):
        assert_array_equal(one, other) if isinstance(one, np.ndarray) else None
        assert isinstance(one, np.ndarray) or one == other
    for law, other in zip(saved.problem.laws, walk.problem.laws, strict=True):
        assert type(law) is type(other)
        assert_array_equal(law.q, other.q)
    assert_array_equal(role.body.torque, before.body.torque)
    assert [one._replace(x=None, multipliers=None) for one in saved.solutions] == [
        one._replace(x=None, multipliers=None) for one in walk.solutions
    ]
    again = Editing(folder).performance
    assert (
        np.abs(again.qpos - walk.qpos).max() < 1e-6
    )  # the one is samples of a mirror image, the other of steps in a row
    assert again.name == "walk"


def test_laws_of_every_kind_and_what_no_file_can_hold_come_back(walk, folder, tmp_path):
    saved = load_problem(folder)
    laws = [Reaches("ann", "right_palm", When(8, 0.5), (1.0, -0.3, 1.2), True), OnTop("ann", 8, 0.1)]
    bound = Problem(saved.problem.roles, [*laws, lambda stage: []])
    (tmp_path / "scene.xml").write_text((folder / "scene.xml").read_text())
    save_problem(tmp_path, saved._replace(problem=bound, touching=(("ann/left_hand", "ann/right_hand"),)))
    back = load_problem(tmp_path)
    assert back.problem.laws[:2] == laws
    assert back.touching == (("ann/left_hand", "ann/right_hand"),)
    stage = Stage(back.problem, back.problem.whole())
    with pytest.raises(ip.InputError, match="not kept in files"):
        back.problem.laws[2](stage)
    motion = Editing(tmp_path)
    assert {mark.height for mark in motion.footprints()} >= {0.0, 0.1}
    with pytest.raises(ip.InputError, match="bound to others"):
        motion.move_footprint("ann", 3, (2.0, 0.0))


def test_manners_of_phases_are_shared_again(walk, folder, tmp_path):
    saved = load_problem(folder)
    role = saved.problem.roles["ann"]
    manners = [role.style, role.style._replace(force=0.5, rest=role.style.rest + 0.1)]
    phases = tuple(phase._replace(manner=manners[k // 8]) for k, phase in enumerate(role.phases[:16]))
    phases += role.phases[16:]
    (tmp_path / "scene.xml").write_text((folder / "scene.xml").read_text())
    save_problem(tmp_path, saved._replace(problem=Problem({"ann": role._replace(phases=phases)})))
    back = load_problem(tmp_path).problem.roles["ann"].phases
    assert [len({id(phase.manner) for phase in back[k:end]}) for k, end in ((0, 8), (8, 16), (16, 20), (0, 20))] == [
        1,
        1,
        1,
        3,
    ]
    assert_array_equal(back[9].manner.rest, manners[1].rest)
    assert back[9].manner.force == 0.5
    assert back[-1] == role.phases[-1]


def test_foreign_and_damaged_folders_are_refused(folder, tmp_path):
    with pytest.raises(ip.InputError, match="holds no composed motion"):
        Editing(tmp_path)
    (tmp_path / "scene.xml").write_text((folder / "scene.xml").read_text())
    whole = (folder / PROBLEM_FILE).read_bytes()
    for data in (b"", b"no zip", whole[: len(whole) // 2], whole[:2000] + bytes(50) + whole[2050:]):
        (tmp_path / PROBLEM_FILE).write_bytes(data)
        with pytest.raises(ip.InputError, match=r"motion\.problem"):
            Editing(tmp_path)
    with np.load(folder / PROBLEM_FILE) as found:
        arrays = dict(found)
    document = json.loads(arrays["header"].tobytes())

    def wrong(change, **others):
        changed = json.loads(json.dumps(document))
        change(changed)
        header = np.frombuffer(json.dumps(changed).encode(), np.uint8)
        with (tmp_path / PROBLEM_FILE).open("wb") as file:
            np.savez(file, **(arrays | others | {"header": header}))
        with pytest.raises(ip.InputError, match=r"motion\.problem") as error:
            Editing(tmp_path)
        return str(error.value)

    assert "version 9" in wrong(lambda d: d.update(version=9))
    assert "ben" in wrong(lambda d: d["roles"].update(ben=d["roles"].pop("ann")))
    assert "damaged" in wrong(lambda d: d["laws"].append({"kind": "system", "of": ["ls"]}))
    first = document["roles"]["ann"][2]["of"][0]["array"]
    assert "q of ann" in wrong(lambda d: None, **{f"a{first}": arrays[f"a{first}"][:-1]})
    assert "finite" in wrong(lambda d: None, **{f"a{first}": arrays[f"a{first}"] * np.nan})


def test_a_footprint_is_moved_and_the_rest_is_as_it_was(folder, tmp_path):
    motion = Editing(folder)
    before, mark = motion.performance, footprint(motion, 3)
    place = mark.place[0] + 0.05, mark.place[1] + 0.02
    after = motion.move_footprint("ann", 3, place)
    assert sound(after)
    assert after.solutions[-1].violation < 1e-6
    moved = footprint(motion, 3)
    assert np.hypot(moved.place[0] - place[0], moved.place[1] - place[1]) < 1e-5
    for step in (1, 2, 4, 5):
        assert np.abs(np.subtract(footprint(motion, step).place, footprint(Editing(before), step).place)).max() < 1e-5
    changed = np.flatnonzero(np.abs(after.qpos - before.qpos).max(axis=1) > 1e-9)
    assert before.time[changed[0]] > footprint(Editing(before), 1).lands
    assert len(after.time) == len(before.time)
    assert before.time[changed[-1]] < mark.lifts + 0.45
    assert motion.changes == (1, 0)
    assert motion.undo() is before
    assert motion.redo() is after
    motion.write(tmp_path)
    again = Editing(tmp_path)
    assert_array_equal(again.performance.qpos, after.qpos)
    assert footprint(again, 3).place == moved.place


def test_a_step_lands_at_another_time(folder):
    motion = Editing(folder)
    mark = footprint(motion, 3)
    motion.prepare(mark)
    after = motion.move_time("ann", 3, mark.lands + 0.03)
    assert sound(after)
    assert footprint(motion, 3).lands == pytest.approx(mark.lands + 0.03, abs=1e-6)
    assert footprint(motion, 3).place == pytest.approx(mark.place, abs=1e-5)
    assert footprint(motion, 5).lands == pytest.approx(footprint(Editing(folder), 5).lands)  # 4 lands in the window


def test_a_window_that_was_prepared_leads_to_the_same_motion_in_fewer_iterations(folder):
    """Slopes and multipliers only say where to begin: what is found is an optimum of the same problem."""
    one, other = Editing(folder), Editing(folder)
    mark = footprint(one, 3)
    one.prepare(mark)
    place = mark.place[0] + 0.06, mark.place[1] - 0.04
    warm, cold = one.move_footprint("ann", 3, place), other.move_footprint("ann", 3, place)
    assert sum(s.iterations for s in warm.solutions) <= 0.7 * sum(s.iterations for s in cold.solutions)
    assert np.abs(warm.qpos - cold.qpos).max() < 0.02
    assert warm.solutions[-1].objective == pytest.approx(cold.solutions[-1].objective, rel=2e-3)
    part = staged(one.problem).parts["ann"]
    whole = figures(part, staged(one.problem).unknowns.guess)
    assert_allclose(
        warm.worth["ann"], whole, rtol=1e-9, atol=1e-12
    )  # of phases that changed, and of others as they were


def test_a_time_that_was_moved_is_moved_again(folder):
    motion = Editing(folder)
    lands = footprint(motion, 3).lands
    for to in (lands + 0.02, lands - 0.01):
        assert sound(motion.move_time("ann", 3, to))
        assert footprint(motion, 3).lands == pytest.approx(to, abs=1e-6)
    assert sum(isinstance(law, AtTime) for law in motion.problem.laws) == 1


def test_a_hand_gets_a_target_that_is_moved(folder):
    motion = Editing(folder)
    there = np.array(motion.hand("ann/right_palm", 3))
    motion.move_hand("ann/right_palm", 3, there + (0.03, 0.0, 0.05))
    (target,) = motion.hands()
    assert target.place == pytest.approx(there + (0.03, 0.0, 0.05))
    assert motion.hand("ann/right_palm", 3) == pytest.approx(target.place, abs=1e-5)
    assert sound(motion.move_hand("ann/right_palm", "target", there + (0.03, 0.02, 0.08)))
    assert len(motion.hands()) == 1
    assert motion.undo().problem.laws[-1].place == pytest.approx(there + (0.03, 0.0, 0.05))


@pytest.mark.parametrize(
    ("what", "says"),
    [
        (lambda m: m.move_footprint("ann", 1, (0.5, 0.1)), "as the motion begins"),
        (lambda m: m.move_footprint("ann", 5, (3.0, 0.1)), "as the motion ends"),
        (lambda m: m.move_footprint("ann", 9, (0.5, 0.1)), "expected one of 0, 1, 2"),
        (lambda m: m.move_footprint("anne", 3, (0.5, 0.1)), "ann"),
        (lambda m: m.move_footprint("ann", 3, (9.0, 0.1)), "within 0.6 m"),
        (lambda m: m.move_footprint("ann", 3, (0.5, float("nan"))), "2 numbers"),
        (lambda m: m.move_footprint("ann", 3, (2.0, 0.0), side="lft"), "left"),
        (lambda m: m.move_footprint("ann", 3, (1.92, 0.06), heading=3.0), "heading"),
        (lambda m: m.move_time("ann", 3, 1.6), "hurried or drawn out"),
        (lambda m: m.move_time("ann", 3, -1.0), "step 3"),
        (lambda m: m.move_hand("ann/right_palm", "target", (0, 0, 1)), "0 targets"),
        (lambda m: m.move_hand("ann/right_plam", 3, (0, 0, 1)), "right_palm"),
        (lambda m: m.move_hand("ann/right_palm", 3, (0, 0, 3)), "within 0.6 m"),
        (lambda m: m.undo(), "nothing"),
        (lambda m: m.redo(), "nothing"),
    ],
)
def test_what_cannot_be_is_refused_and_changes_nothing(walk, what, says):
    motion = Editing(walk)
    with pytest.raises(ip.InputError, match=says):
        what(motion)
    assert motion.performance is walk
    assert motion.changes == (0, 0)


def test_what_the_solver_does_not_find_is_named_and_changes_nothing(walk, monkeypatch):
    for name in ("NEWTON", "SEARCH"):
        monkeypatch.setattr(f"interplay.spacetime.editing.{name}", 2)
    motion = Editing(walk)
    with pytest.raises(ip.InputError, match="no such motion was found"):
        motion.move_footprint("ann", 3, np.add(footprint(motion, 3).place, (0.1, 0.0)))
    assert motion.performance is walk


def test_steps_count_as_feet_land():
    phases = [SimpleNamespace(mode={"left": "heel", "right": "toe"}.get)]
    part = SimpleNamespace(phases=phases, stances=[("left", 0, 3), ("left", 6, 9), ("right", 0, 1), ("right", 4, 7)])
    assert [(part.stances[k][:2], step) for k, step in numbered(part)] == [
        (("right", 0), 0),
        (("left", 0), 1),
        (("right", 4), 2),
        (("left", 6), 3),
    ]
    part.phases = [SimpleNamespace(mode={"left": "flat", "right": "flat"}.get)]
    part.stances = [("left", 0, 3), ("left", 6, 9), ("right", 0, 3), ("right", 6, 9)]
    assert [step for _, step in numbered(part)] == [0, 0, 1, 1]
