"""Overlaps of known configurations are found, named and measured; what a joint or a declared contact joins is not counted."""

import mujoco
import numpy as np
import pytest

import interplay as ip
from interplay.io.meetings import around
from interplay.io.recording import Recording
from interplay.io.report import make_report
from interplay.scene.ground import Ground
from interplay.scene.kinematics import Kinematics
from interplay.scene.penetration import Solids, Tally, contact_places, penetrations


def found(scene, *contacts):
    terms = scene.kinematics()
    pairs = [(scene.site(a), scene.site(b)) for a, b in contacts]
    return penetrations(scene.model, terms.data, contact_places(scene.model, terms.data, pairs))


def test_boxes_inside_each_other_and_the_ground():
    cube = ip.Box((0.2, 0.2, 0.2))
    scene = ip.Scene().add(cube, "a").add(cube, "b", pos=(0.17, 0.05)).add(cube, "low", pos=(3, 0, -0.06))
    depths = {o.pair: o.depth for o in found(scene)}
    assert set(depths) == {"a/hull – b/hull", "ground – low/hull"}
    assert depths["a/hull – b/hull"] == pytest.approx(0.03, abs=1e-4)
    assert depths["ground – low/hull"] == pytest.approx(0.06, abs=1e-4)


@pytest.mark.parametrize("depth", [0.001, 0.01, 0.05])
def test_capsules_balls_and_discs(depth):
    """A ball in a bar, and a bar's disc in the ground, by closed forms."""
    bar = ip.Barbell(1.0)
    scene = ip.Scene().add(bar, "bar", pos=(0, 0, 0.1 - depth))
    scene.add(ip.Ball(0.1), "ball", pos=(0.115 - depth, 0.1, -depth))
    depths = {o.pair: o.depth for o in found(scene)}
    assert depths.pop("bar/bar_hull – ball/hull") == pytest.approx(depth, abs=1e-5)
    assert depths.pop("ground – ball/hull") == pytest.approx(depth, abs=1e-5)
    assert depths == pytest.approx({f"ground – bar/{s}_disc": depth for s in ("left", "right")}, abs=1e-5)


@pytest.mark.parametrize("joints", [30, 31, 34, "planar"])
@pytest.mark.parametrize("height", [1.0, 1.74, 2.0])
def test_nobody_overlaps_with_herself_as_she_stands(joints, height):
    scene = ip.Scene().add(ip.Humanoid(height, joints=joints), "h")
    assert not [o for o in found(scene) if o.meeting == "apart" and o.depth > 1e-4]


def test_joined_bodies_do_not_count():
    scene = ip.Scene().add(ip.Humanoid(joints=34), "h").add(ip.Door(), "door", pos=(2, 0))
    m = scene.model
    bodies = {frozenset(m.body(int(m.geom_bodyid[g])).name for g in pair) for pair in Solids(m).pairs.tolist()}
    for pair in (("h/left_thigh", "h/left_shank"), ("h/chest", "h/left_upper_arm"), ("door/leaf", "door/handle")):
        assert frozenset(pair) not in bodies
    for pair in (("h/left_thigh", "h/right_thigh"), ("h/chest", "h/left_forearm"), ("world", "h/pelvis")):
        assert frozenset(pair) in bodies
    assert frozenset(("door/frame", "world")) not in bodies


def test_a_declared_contact_is_listed_apart_and_only_at_its_place():
    scene = ip.Scene().add(ip.Box((1.0, 0.2, 0.2)), "a").add(ip.Box((0.1, 0.1, 0.1)), "b", pos=(0.3, 0, 0.198))
    (overlap,) = found(scene, ("b/bottom", "a/top"))
    assert overlap.meeting == "contact"
    assert overlap.depth == pytest.approx(0.002, abs=1e-4)
    (overlap,) = found(scene)
    assert overlap.meeting == "apart"
    # A table that stands on one foot and is sunk in the ground with all four: one is declared, three are not.
    sunk = ip.Scene().add(ip.Table(), "table", pos=(0, 0, -0.06))
    meetings = {o.second: o.meeting for o in found(sunk, ("table/foot_0", ip.GROUND))}
    assert meetings == {f"table/leg_{k}": "apart" if k else "contact" for k in range(4)}


def test_it_agrees_with_mujocos_own_collisions():
    """With every pair enabled MuJoCo finds the same overlaps, in poses at random."""
    scene = ip.Scene().add(ip.Humanoid(), "h").add(ip.Box(), "box", pos=(0.35, 0, 0.8))
    m, rng = scene.model, np.random.default_rng(0)
    solids, d = Solids(m), mujoco.MjData(m)
    allowed = {frozenset(pair) for pair in solids.pairs.tolist()}
    m.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_FILTERPARENT
    for _ in range(8):
        d.qpos[:] = scene.qpos
        mujoco.mj_integratePos(m, d.qpos, rng.normal(0, 0.5, m.nv), 1.0)
        mujoco.mj_kinematics(m, d)
        mujoco.mj_comPos(m, d)
        mujoco.mj_collision(m, d)
        theirs = {}
        for contact in d.contact:
            pair = frozenset(contact.geom.tolist())
            if pair in allowed and contact.dist < -2e-3:
                theirs[pair] = max(theirs.get(pair, 0.0), -contact.dist)
        ours = {frozenset((m.geom(o.first).id, m.geom(o.second).id)): o.depth for o in solids.overlaps(d)}
        assert theirs.keys() <= ours.keys()
        assert {pair for pair, depth in ours.items() if depth > 4e-3} <= theirs.keys()


def test_the_tally_keeps_the_worst_and_for_how_long():
    scene = ip.Scene().add(ip.Box((0.2, 0.2, 0.2)), "a")
    m, solids, tally = scene.model, Solids(scene.model), Tally()
    d = mujoco.MjData(m)
    for step, depth in enumerate((-0.01, 0.001, 0.005, 0.003)):
        d.qpos[:] = scene.qpos
        d.qpos[2] -= depth
        mujoco.mj_kinematics(m, d)
        tally.add(solids.overlaps(d), 0.1 * step)
    (row,) = tally.rows()
    assert (row.pair, row.meeting) == ("ground – a/hull", "apart")
    assert (row.depth, row.time, row.share) == (pytest.approx(0.005, abs=1e-5), pytest.approx(0.2), 0.5)


def test_a_recording_is_certified_over_all_pairs(tmp_path):
    """A ball rolls through another, whatever was declared; a hand near what it will hold, or has let go of, is taken apart."""
    scene = ip.Scene().add(ip.Ball(0.1), "one", pos=(-0.5, 0)).add(ip.Ball(0.1), "two")
    time = np.arange(0, 1.0, 0.01)
    qpos = np.repeat(scene.qpos[None], len(time), axis=0)
    qpos[:, 0] = -0.5 + time
    report = make_report(Recording(ip.write_recording(tmp_path, scene, time, qpos)), True, None)
    assert report["certificate"]["penetration_mm"] == pytest.approx(200.0, abs=5.0)
    (worst,) = report["penetration"]
    assert (worst["pair"], worst["meeting"]) == ("one/hull – two/hull", "apart")
    assert worst["time"] == pytest.approx(0.5, abs=0.02)
    assert worst["share"] == pytest.approx(0.4, abs=0.02)


def test_a_hand_may_touch_what_it_takes_or_lets_go_for_that_phase():
    """Phases a, b and c; the contact is made with b. A phase that lasts is not the hand's for ever."""
    in_force = np.array([0] * 6 + [1] * 4 + [0] * 6, bool)
    phases = np.array([0] * 2 + [1] * 4 + [2] * 4 + [3] * 3 + [4] * 3)
    assert np.flatnonzero(around(in_force, phases, 100)).tolist() == [2, 3, 4, 5, 10, 11, 12]
    assert np.flatnonzero(around(in_force, phases, 2)).tolist() == [4, 5, 10, 11]


@pytest.mark.parametrize("thing", [ip.Humanoid(), ip.Barbell(1.0), ip.Table(), ip.Ball(0.2), ip.Sword()])
def test_the_ground_is_as_deep_as_the_lowest_point(thing):
    """What decides whether a plan is possible agrees with the measure of all pairs, for shapes of every kind."""
    scene = ip.Scene().add(thing, "x")
    m, rng, terms = scene.model, np.random.default_rng(0), Kinematics(scene.model)
    ground, solids, depths = Ground(m), Solids(m), []
    for _ in range(12):
        qpos = scene.qpos.copy()
        mujoco.mj_integratePos(m, qpos, rng.normal(0, 0.5, m.nv), 1.0)
        terms.update(qpos, np.zeros(m.nv))
        depths.append(max((o.depth for o in solids.overlaps(terms.data) if o.first == "ground"), default=0.0))
        assert ground.depth(terms, (), 0.01, terms.qvel) == pytest.approx(depths[-1], abs=2e-6)
    assert max(depths) > 0.1
