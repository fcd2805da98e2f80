"""Optimal motions of bodies of any size and number of joints, and of robots from files."""

import numpy as np
import pytest

import interplay as ip
from test_characters import character

pytest.importorskip("casadi")

from interplay.compositions import composition
from interplay.spacetime.anatomy import ARM, LEG, TRUNK, done_by
from interplay.spacetime.body import ROOT, Body
from interplay.spacetime.gaits import gait, guess, paced
from interplay.spacetime.performing import perform_gait
from interplay.spacetime.styles import style


@pytest.fixture(scope="module")
def talos():
    return Body(ip.Scene().add(ip.BodyFile(character("talos")), "ann"), "ann")


def test_what_joints_do_is_seen_in_the_skeleton():
    """Of our own characters, whose joints say it: the same, by skeleton alone."""
    body = Body(ip.Scene().add(ip.Humanoid(), "ann"), "ann")
    hidden = [f"joint_{k}" for k in range(len(body.joints))]
    of = {k: b for b, link in enumerate(body.links) for k, _, _ in link.hinges}
    axes = {k: axis for link in body.links for k, axis, _ in link.hinges}
    order = range(ROOT, body.n)
    links, parents = [link.name for link in body.links], [link.parent for link in body.links]
    found = done_by(hidden, links, parents, [of[k] for k in order], [axes[k] for k in order])
    assert [one.name for one in found] == body.joints
    assert all(one.sign == 1.0 for one in found)
    assert {name for limb in (LEG, ARM, TRUNK) for _, known in limb for name, _ in known.values()} >= {"knee_flexion"}


def test_a_robot_bends_as_we_do(talos):
    """A positive angle of ours bends its knee back, lifts its thigh and its toes, whatever its own axes are."""
    ours = Body(ip.Scene().add(ip.Humanoid(), "ann"), "ann")
    for side in ("left", "right"):
        for joint, ahead in (("hip_flexion", 1), ("knee_flexion", -1), ("hip_abduction", 0)):
            moved = []
            for body in (ours, talos):
                k, sign = body.doing(f"{side}_{joint}")
                q = np.zeros(body.n)
                sole = [
                    np.asarray(p).ravel() + np.asarray(R) @ body.point(f"{side}_sole").place
                    for R, p in (body.frames(q)[body.point(f"{side}_sole").link],)
                ]
                q[k] = 0.2 * sign
                R, p = body.frames(q)[body.point(f"{side}_sole").link]
                moved.append(np.asarray(p).ravel() + np.asarray(R) @ body.point(f"{side}_sole").place - sole[0])
            assert np.sign(moved[0][0]) == ahead or not ahead
            axis = 0 if ahead else 1
            assert np.sign(moved[0][axis]) == np.sign(moved[1][axis]), (side, joint, moved)


def test_a_robot_s_mirror_image_is_itself(talos):
    """Twice mirrored it is as before; its ranges, mirrored, are its ranges."""
    order, sign = talos.mirror()
    assert (order[order] == np.arange(talos.n)).all()
    low, high = talos.low, talos.high
    own, s = order[ROOT:] - ROOT, sign[ROOT:]
    np.testing.assert_allclose(np.where(s > 0, low[own], -high[own]), low, atol=1e-3)


def test_a_robot_s_style_and_guess_fit_it(talos):
    """Thighs swing by as much as people's, both ways; elbows stay as they are where arms cannot swing; weights are finite."""
    course = guess(talos, paced(talos, "walk", 0.5), 0.5)
    k, _ = talos.doing("left_hip_flexion")
    assert 0.2 < np.ptp(course.q[:, k]) < 1.2
    manner = style(talos, "walk")
    assert np.isfinite(manner.effort).all()
    elbow, _ = talos.doing("left_elbow_flexion")
    assert manner.rest[elbow] == pytest.approx(-1.4)


def test_who_plays_is_a_body_or_a_size_not_both():
    body = ip.BodyFile(character("talos"))
    with pytest.raises(ip.InputError, match="a character, or height"):
        composition("walk")({"height": 1.7}, body)
    with pytest.raises(ip.InputError, match="expected no character"):
        composition("cross")({}, body)


@pytest.mark.slow
def test_talos_walks(talos):
    """Half a metre a second, within its own motors' strength and speed, and holds in plain MuJoCo."""
    found = gait(talos, "walk", 0.5)
    performed = perform_gait("talos", found, 4)
    assert performed.solved, (found.solutions[-1], performed.failures)
    assert found.step / float(found.x[found.part.span[0]]) == pytest.approx(0.5, abs=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize(
    "model",
    [
        ip.Humanoid(1.74, 68, joints=31, springs=True),
        ip.Humanoid(1.74, 68, joints=34, springs=True),
        ip.Humanoid(1.5, 40, springs=True),
        ip.Humanoid(1.95, 120, springs=True),
    ],
    ids=["31 joints", "34 joints", "small", "heavy"],
)
def test_people_of_all_kinds_walk(model):
    body = Body(ip.Scene().add(model, "ann"), "ann")
    performed = perform_gait("walk", gait(body, "walk", 1.3), 4)
    assert performed.solved, performed.failures
