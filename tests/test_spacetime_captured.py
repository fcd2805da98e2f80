"""Captured clips of several people made physical: hands that touch pull at each other while they do; recordings know what touches."""

import pickle

import mujoco
import numpy as np
import pytest
from numpy.testing import assert_allclose

import interplay as ip

pytest.importorskip("casadi")

from interplay.compositions import composition
from interplay.errors import InputError
from interplay.motion.clip import Clip, Touch, motion
from interplay.spacetime.actions import stance
from interplay.spacetime.blocks import Program
from interplay.spacetime.body import ROOT, SIDES, Body
from interplay.spacetime.checking import sampled
from interplay.spacetime.gaits import GAITS, guess
from interplay.spacetime.holding import Held, hold_hands
from interplay.spacetime.laws import Fixed, Given
from interplay.spacetime.meeting import meet
from interplay.spacetime.part import PULL
from interplay.spacetime.performing import perform
from interplay.spacetime.problem import BEGIN, END, Found, Problem, Role, Stage
from interplay.spacetime.rows import row_of
from interplay.spacetime.solving import Solution
from interplay.spacetime.styles import style
from interplay.stage.messages import Pace
from interplay.stage.moment import Status
from interplay.stage.recorded import RecordedAct

WALK = GAITS["walk"][1.3]


@pytest.fixture(scope="module")
def walkers():
    """Two who walk side by side, as nobody solved it; others pull at one hand of each."""
    scene = ip.Scene().add(ip.Humanoid(1.68, 60), "ann").add(ip.Humanoid(1.8, 75), "ben", pos=(0, 0.5))
    roles = {}
    for name, side in (("ann", "left"), ("ben", "right")):
        body = Body(scene, name)
        roles[name] = Role(body, WALK, style(body), guess(body, WALK, 1.3), None, (body.point(f"{side}_palm"),))
    return Problem(roles)


@pytest.fixture(scope="module")
def standing(tmp_path_factory):
    """Two who stand side by side and bend their elbows; a hand of each is where the other's is, and they touch for a while."""
    time, motions, touches = np.linspace(0.0, 0.5, 61), {}, list[Touch]()
    scene = ip.Scene().add(ip.Humanoid(1.75), "ann")
    body = Body(scene, "ann")
    q = np.tile(stance(body), (len(time), 1))
    for side in SIDES:
        q[:, ROOT + body.joints.index(f"{side}_elbow_flexion")] += 0.6 + 0.2 * np.sin(2 * np.pi * time)
    qpos = body.configuration(q)
    d = mujoco.MjData(scene.model)
    d.qpos[:] = qpos[0]
    mujoco.mj_kinematics(scene.model, d)
    beside = d.site("ann/left_palm").xpos - d.site("ann/right_palm").xpos
    for who, place in (("ann", np.zeros(3)), ("bob", beside)):
        motions[who] = motion(body.joints, qpos[:, 7:], qpos[:, :7] + [*place, 0, 0, 0, 0])
        touches += [Touch(f"{who}/{side}_sole", "ground", 0.0, 0.5) for side in SIDES]
    clip = Clip.from_arrays(time, motions, [*touches, Touch("ann/left_palm", "bob/right_palm", 0.1, 0.3)])
    return clip.save(tmp_path_factory.mktemp("clips") / "standing.clip")


def test_recordings_of_motions_know_what_touches_and_how_hard(walkers, tmp_path):
    """From the exact record alone, by MuJoCo: what forces do not give is on the root, and what the check between points finds there."""
    stage = Stage(walkers, walkers.whole())
    x, pull = stage.unknowns.guess.copy(), np.array([12.0, -7.0, 30.0])
    for who, sign in (("ann", 1.0), ("ben", -1.0)):
        x[stage.parts[who].pull] = sign * pull / PULL
    found = Found(walkers, stage.parts, x, (Solution(x, False, 0.0, 0.0, (), "as guessed", 0, 0.0),))
    held = Held(("ann/left_palm", "ben/right_palm"), (("ann", 0), ("ben", 0)))
    folder = perform("walkers", found, held=[held]).write(tmp_path / "out")
    assert ip.Clip.load(folder).touching("ann/left_palm", "ben/right_palm").all()
    act = RecordedAct("walkers", folder)
    act.wait()
    frame = pickle.loads(act.frame(Status(Pace(np.zeros(0), 1.0), False, True, act.span, 1.0, ""), stability=True))
    assert_allclose(frame.contact_force[frame.contacts.index(("ann/left_palm", "ben/right_palm"))], pull)
    ip.export(folder, tmp_path / "run.npz")
    run, m = np.load(tmp_path / "run.npz"), mujoco.MjModel.from_xml_path(str(folder / "scene.xml"))
    d, given = mujoco.MjData(m), {who: sampled(part, x, run["time"]) for who, part in stage.parts.items()}
    names = [tuple(pair) for pair in run["contact_names"]]
    hands = names.index(("ann/left_palm", "ben/right_palm"))
    for t in range(0, len(run["time"]), 7):
        d.qpos[:], d.qvel[:] = run["qpos"][t], run["qvel"][t]
        mujoco.mj_forward(m, d)
        contact, M = np.zeros(m.nv), np.zeros((m.nv, m.nv))
        assert_allclose(run["contact_wrench"][t, hands], [*pull, 0, 0, 0], atol=1e-9)
        for c in np.flatnonzero(run["contact_active"][t]):
            (first, second), w = names[c], run["contact_wrench"][t, c]
            point = d.site(first).xpos
            mujoco.mj_applyFT(m, d, w[:3], w[3:], point, m.site(first).bodyid[0], contact)
            if second not in ("world", "ground"):
                mujoco.mj_applyFT(m, d, -w[:3], -w[3:], point, m.site(second).bodyid[0], contact)
        mujoco.mj_fullM(m, d, M)
        off = M @ run["qacc"][t] + d.qfrc_bias - d.qfrc_passive - run["tau"][t] - contact
        for who, seen in given.items():
            body = stage.parts[who].body
            start, size = body.dof_start, 3 if who == "ben" else body.n  # hands are apart: only forces are opposite
            expected = np.concatenate([seen.residual[t], np.zeros(body.n - 6)])[:size]
            assert_allclose(off[start : start + size], expected, atol=1e-6 * body.mass * body.gravity)


def test_nobody_says_twice_where_a_foot_is():
    """With states at both ends and footprints given, each row that bounds anything has something free in it."""
    body = Body(ip.Scene().add(ip.Humanoid(1.74, 68), "ann"), "ann")
    row = row_of(body, WALK, guess(body, WALK, 1.3), style(body))
    ends = [Given("ann", when, row.knots.q[k], row.knots.v[k]) for when, k in ((BEGIN, 0), (END, -1))]
    stage_of = Problem({"ann": row.role(body, style(body))}, [*ends, Fixed("ann", footprints=True)])
    stage = Stage(stage_of, stage_of.whole())
    program = Program(stage.unknowns, stage.blocks())
    free = stage.unknowns.low < stage.unknowns.high
    pattern = program.jacobian_pattern.tocsr()
    known = [r for r in range(len(program.low)) if not free[pattern.indices[slice(*pattern.indptr[r : r + 2])]].any()]
    assert not known


def test_hands_pull_and_are_together_only_while_they_touch(walkers):
    span = (0.1, 0.3)
    law = meet(hold_hands(("ann", 0), ("ben", 0), [span]))
    problem = Problem(walkers.roles, [Fixed("ann", timing=True), Fixed("ben", timing=True), law])
    stage = Stage(problem, problem.whole())
    blocks = stage.blocks()
    for who, part in stage.parts.items():
        knots = part.times(stage.unknowns.guess)
        (way,) = (block for block in blocks if block.label(0, 0).startswith(f"way of {who}"))
        assert len(way.where) == np.count_nonzero((knots >= span[0]) & (knots <= span[1]))
        course, _, _ = part.course(stage.unknowns.guess)
        pulls = stage.unknowns.low[part.pull[:, 0, 0]] < stage.unknowns.high[part.pull[:, 0, 0]]
        assert_allclose(pulls, (course.time >= span[0]) & (course.time <= span[1]))


def test_bad_casts_are_refused(standing):
    for wrong, said in (({"who": "eve"}, "'eve'"), ({"height": "1.7,1.8,1.9"}, "one for each of ann, bob")):
        with pytest.raises(InputError, match=said):
            composition("physical")({"clip": str(standing), **wrong}).compose()


@pytest.mark.slow
def test_two_of_a_clip_are_made_physical_together(standing):
    """Opposite forces while hands touch, none before and after; both hold in plain MuJoCo."""
    found = composition("physical")({"clip": str(standing), "height": "1.75,1.75", "mass": "60,80"}).compose()
    assert found.solutions[-1].solved
    for worth in found.worth.values():
        assert worth.root_mean < 0.01
        assert worth.root_worst < 0.1
        assert worth.slip < 1.5e-3
        assert worth.torque_ratio < 1.0
    said = {name.partition(": ")[2]: value for name, value in found.between.items() if name.startswith("ann and bob")}
    assert said["largest gap of hands [m]"] < 5e-3
    assert said["largest force [N]"] > 0.0
    assert said["forces off their opposites [N]"] < 0.1 * said["largest force [N]"] + 0.5
    for time, touching in zip(found.time, found.contacts, strict=True):
        holds = any(contact.first.name == "ann/left_palm" for contact in touching.contacts)
        assert holds == (0.1 - 1e-6 < time < 0.3 + 1e-6)


@pytest.mark.slow
def test_clips_of_our_own_are_made_physical_on_bodies_that_have_their_joints():
    """They move 34 joints; who hardly moves is hardly changed."""
    found = composition("physical")({"clip": "wave", "height": 1.74, "end": 0.4}).compose()
    assert found.solutions[-1].solved
    (worth,) = found.worth.values()
    assert worth.root_worst < 0.1
    assert found.between["joint off the clip at worst [rad]"] < 0.05
