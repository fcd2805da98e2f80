"""Fingers close around handles and lie flat on faces: pads within 5 mm, nothing pokes through."""

import mujoco
import numpy as np
import pytest

import interplay as ip
from interplay.models.distance import geom_distance
from interplay.models.fingers import (
    FLAT,
    RELAXED,
    around,
    blend,
    finger_angles,
    finger_pose,
    hand_of,
    pose_fingers,
    room,
)
from interplay.models.hand import FINGERS, LENGTH, Hand

LONG = ("index", "middle", "ring", "little")


def bar(hand, radius, tilt=0.0):
    """Return the distance from a long bar that lies on the palm, as far from the wrist as grips are."""
    middle = hand.palm + hand.mirror * [0, -radius, 0]
    along = np.array([np.cos(tilt), 0, np.sin(tilt)])

    def distance(points):
        way = points - middle
        return np.linalg.norm(way - np.outer(way @ along, along), axis=1) - radius

    return distance


def face(hand):
    """Return the distance from a face that the palm lies on."""
    return lambda points: (points - hand.palm) @ (hand.mirror * [0, 1, 0])


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize(
    ("radius", "tilt"),
    [(0.010, 0.0), (0.015, 0.0), (0.020, 0.0), (0.025, 0.0), (0.030, 0.0), (0.012, 0.3), (0.015, 0.3)],
)
def test_fingers_close_around_a_bar(side, radius, tilt):
    hand = Hand(side, LENGTH)
    held = bar(hand, radius, tilt)
    for finger, angles in finger_angles(hand, held).items():
        gaps = room(hand, finger, angles, held)
        assert gaps.min() > -0.001, (finger, gaps)
        assert gaps[1:].min() < 0.005, (finger, gaps)
        if finger in LONG:
            assert gaps[-1] < 0.005, (finger, gaps)
            assert sum(angles) > 1.5


@pytest.mark.parametrize("length", [0.11, 0.17, 0.20])
def test_hands_of_any_size_hold_a_handle(length):
    hand = Hand("left", length)
    held = bar(hand, 0.015)
    for finger, angles in finger_angles(hand, held).items():
        gaps = room(hand, finger, angles, held)
        assert gaps.min() > -0.001
        assert gaps[1:].min() < 0.005, (finger, gaps)


@pytest.mark.parametrize("side", ["left", "right"])
def test_fingers_lie_flat_on_a_face(side):
    hand = Hand(side, LENGTH)
    held = face(hand)
    for finger, angles in finger_angles(hand, held).items():
        gaps = room(hand, finger, angles, held)
        assert gaps.min() > -0.001, (finger, gaps)
        assert gaps.max() < 0.005, (finger, gaps)
        assert max(np.abs(angles)) < 0.35


def test_segments_hang_together_and_the_right_hand_mirrors_the_left():
    angles = {finger: (0.3, 0.4, 0.2) for finger in FINGERS}
    left, right = Hand("left", 0.18), Hand("right", 0.18)
    for finger, shape in FINGERS.items():
        joints = left.joints(finger, np.array(angles[finger]))
        assert np.linalg.norm(np.diff(joints, axis=0), axis=1) == pytest.approx(np.array(shape.lengths) * left.k)
        assert right.joints(finger, np.array(angles[finger])) == pytest.approx(joints * [1, -1, 1])
    assert blend(FLAT, angles, 0.5)["ring"] == pytest.approx((0.15, 0.2, 0.1))
    assert blend(RELAXED, angles, 1.0)["thumb"] == pytest.approx((0.3, 0.4, 0.2))


def test_a_hand_in_a_scene_closes_around_what_it_holds():
    """On the handle of a door: drawn closed, clear of the door's leaf, and a hand that is flat again is as it was."""
    scene = ip.Scene().add(ip.Humanoid(1.65, 58), "alice", pos=(-0.6, -0.2)).add(ip.Door(), "door")
    scene.reach("alice/right_grip", "door/knob_grip")
    m, terms = scene.model, scene.kinematics()
    hand = scene.body("alice/right_hand")
    handle = [scene.body(f"door/{part}") for part in ("handle", "leaf")]
    flat = m.geom_pos.copy(), m.geom_quat.copy()
    angles = around(m, terms.data, hand, handle)
    pose_fingers(m, hand, angles)
    d = mujoco.MjData(m)
    d.qpos[:] = scene.qpos
    mujoco.mj_kinematics(m, d)
    solid = [scene.geom(f"door/{name}") for name in ("handle_bar", "spindle", "panel")]
    bar_at = []
    for finger in LONG:
        for k in (1, 2, 3):
            g = scene.geom(f"alice/right_{finger}_{k}")
            ends = d.geom_xpos[g] + np.outer([-1, 0, 1], m.geom_size[g, 1] * d.geom_xmat[g].reshape(3, 3)[:, 2])
            gap = np.min([geom_distance(m, d, other, ends) for other in solid]) - m.geom_size[g, 0]
            assert gap > -0.001, (finger, k, gap)
            bar_at.append(gap)
    assert np.median(bar_at) < 0.005
    pose_fingers(m, hand, FLAT)
    np.testing.assert_allclose(m.geom_pos, flat[0], atol=1e-6)
    assert finger_pose(hand_of(m, hand), lambda points: np.ones(len(points)))["index"][0].half > 0
    with pytest.raises(ValueError, match="no fingers"):
        hand_of(m, scene.body("alice/right_forearm"))
