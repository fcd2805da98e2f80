"""Tracking: joints, hands and the head follow a clip, as far as the rest allows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import interplay as ip
from interplay.catalogue import scenario
from interplay.motion.clip import Clip, motion

JOINTS = ("torso_yaw", "right_shoulder_abduction", "right_elbow_flexion", "head_yaw", "left_knee_flexion")


@pytest.fixture(scope="module")
def wave():
    """Three seconds of a raised arm that waves, and a head that looks there; the knee bends by half a radian."""
    t = np.linspace(0.0, 3.0, 181)
    up = np.clip(t / 1.0, 0, 1) ** 2 * (3 - 2 * np.clip(t / 1.0, 0, 1))
    waving = 0.4 * up * np.sin(2 * np.pi * 1.2 * t)
    angles = np.column_stack([0.2 * up, 1.4 * up, 0.4 + 1.1 * up + waving, -0.5 * up, 0.32 + 0.5 * up])
    root = np.tile([0, 0, 0.9, 1, 0, 0, 0], (len(t), 1))
    return Clip.from_arrays(t, {"ann": motion(JOINTS, angles, root)}, title="wave")


def standing(dt=0.005):
    sim = ip.Simulation(ip.Scene().add(ip.Humanoid(1.7), "ann"), dt=dt)
    for side in ("left", "right"):
        sim.contacts.add(f"ann/{side}_sole", ip.GROUND)
    sim.objectives += [
        ip.Posture("ann", weight=0.01),
        ip.Com("ann"),
        ip.Balance("ann", on=("ann/left_sole", "ann/right_sole"), terms=sim.terms),
    ]
    return sim


def angle(sim, joint):
    return sim.terms.qpos[sim.scene.model.jnt_qposadr[sim.scene.joint(f"ann/{joint}")]]


def test_the_upper_body_follows_while_she_stands(wave):
    sim = standing()
    tracked = ip.track(wave, "ann")
    sim.objectives += tracked
    worst, fallbacks = 0.0, 0
    while sim.time < 3.2:
        outcome = sim.step()
        fallbacks += outcome.fallback
        if 1.5 < sim.time < 3.0:
            worst = max(worst, float(np.abs(tracked[0].error(sim.terms, sim.time)).max()))
    assert fallbacks == 0
    assert worst < np.radians(1.0)
    assert angle(sim, "right_shoulder_abduction") > 1.3
    assert abs(angle(sim, "left_knee_flexion") - 0.32) < 0.2, "the legs are not asked"


def test_references_are_smooth_and_hold_at_the_ends(wave):
    sim = standing()
    tracked = ip.track(ip.Playback(wave, begin=1.0, speed=1.5), "ann")
    sim.objectives += tracked
    sim.step()
    for objective in tracked:
        reference, h = objective.reference, 1e-4
        for time in (1.3, 1.9, 2.6):
            before, now, after = (reference.at(time + k * h) for k in (-1, 0, 1))
            n = 3 if len(now.value) == 7 and objective is not tracked[0] else len(now.value)
            assert_allclose(now.velocity[:n], (after.value[:n] - before.value[:n]) / (2 * h), atol=1e-4)
            assert_allclose(
                now.acceleration[:n], (after.velocity[:n] - before.velocity[:n]) / (2 * h), rtol=1e-3, atol=2e-2
            )
        for time, frame in ((0.0, 1.0), (9.0, 3.0)):
            assert_allclose(reference.at(time).velocity, 0.0)
            assert_allclose(reference.at(time).value, reference.at(1.0 + (frame - 1.0) * 1.0).value, atol=1e-9)


def test_looping_comes_back(wave):
    track = ip.Track(ip.Playback(wave, loop=True), "ann", joints="right_elbow")
    sim = standing()
    track.bind(sim.scene)
    assert track.dim == 1
    assert_allclose(track.reference.at(0.7).value, track.reference.at(3.7).value, atol=1e-9)


def test_single_joints_have_their_own_weight_and_stiffness(wave):
    """abe2007 (7): the elbow is asked for four times as firmly as the shoulder, and so accelerates for the same error."""
    sim = standing()
    track = ip.Track(
        wave, "ann", joints=["elbow", "shoulder"], stiffness=50.0, stiffnesses={"right_elbow_flexion": 4.0}
    )
    track.bind(sim.scene)

    class Cost:
        def add_diagonal(self, dofs, weight, weights, rate):
            self.rate = dict(zip(track.joints, rate, strict=True))

        def held(self, bodies, time):
            return 0.0

    cost = Cost()
    qpos = sim.terms.qpos.copy()
    wanted = track.reference.at(0.0).value
    qpos[track._adr] = wanted + 0.1
    sim.terms.update(qpos, np.zeros(sim.scene.model.nv))
    track.add_to(sim.terms, 0.0, cost)
    assert_allclose(cost.rate["ann/right_elbow_flexion"], 4 * 50 * 0.1)
    assert_allclose(cost.rate["ann/right_shoulder_abduction"], 50 * 0.1)


@pytest.mark.parametrize(
    ("playing", "arguments", "message"),
    [
        ({}, {"joints": "right_elbow_flexon"}, "did you mean .right_elbow_flexion"),
        ({"actor": "bob"}, {}, "character of the clip 'bob'"),
        ({"speed": 0.0}, {}, "speed"),
    ],
)
def test_bad_input(wave, playing, arguments, message):
    with pytest.raises(ip.InputError, match=message):
        ip.Track(ip.Playback(wave, **playing), "ann", **arguments)


def test_a_boxer_walks():
    """Arms and head are the clip's, legs those of the walk; nothing is given up."""
    sim = ip.Simulation(ip.Scene().add(ip.Humanoid(1.7), "ann"))
    for side in ("left", "right"):
        sim.contacts.add(f"ann/{side}_sole", ip.GROUND, friction=1.0)
    sim.objectives += [ip.Posture("ann", weight=0.05), ip.AngularMomentum("ann", weight=0.002)]
    sim.behaviour = ip.Machine(ip.Walk("walk", "ann", 4, ip.Gait(stride=0.4, arm_swing=0.0)).phases())
    tracked = ip.track(ip.Clip.load("boxing_guard"), "ann", weights={"torso": 10, "neck": 5, "head": 5})
    sim.objectives += tracked
    errors, fallbacks = [], 0
    while not sim.behaviour.done:
        fallbacks += sim.step().fallback
        if sim.time > 1.0:
            errors.append(np.abs(tracked[0].error(sim.terms, sim.time)))
    assert fallbacks == 0
    assert sim.com("ann")[0][0] > 1.2
    assert np.mean(errors) < np.radians(2.5)
    assert np.percentile(errors, 95) < np.radians(8.0)


def test_who_holds_something_follows_with_trunk_and_head():
    """The poles stay where they are; free arms follow."""
    sim = scenario("king")({"carried": True}).simulation()
    sim.run(0.5)
    litter = sim.scene.body("litter")
    before, heights, errors = sim.terms.xpos[litter, 2], [], []
    tracked = ip.track(ip.Playback(ip.Clip.load("duck"), begin=sim.time), "front", weight=5.0)
    sim.objectives += tracked
    head = [k for k, name in enumerate(tracked[0].joints) if "neck" in name or "head" in name]
    while sim.time < 2.5:
        sim.step()
        heights.append(sim.terms.xpos[litter, 2])
        errors.append(tracked[0].error(sim.terms, sim.time)[head])
    assert not sim.fallen
    assert np.abs(np.array(heights) - before).max() < 0.03
    assert np.degrees(np.abs(errors).mean()) < 6.0
