"""Fingers close around handles and lie flat on faces: pads within 5 mm, nothing pokes through."""

import numpy as np
import pytest

import interplay as ip
from interplay.models.fingers import RELAXED, blend, finger_angles, hand_of, held_distance, pose_fingers, room
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
    flat = dict.fromkeys(FINGERS, (0.0, 0.0, 0.0))
    assert blend(flat, angles, 0.5)["ring"] == pytest.approx((0.15, 0.2, 0.1))
    assert blend(RELAXED, angles, 1.0)["thumb"] == pytest.approx((0.3, 0.4, 0.2))


@pytest.mark.parametrize("finger", FINGERS)
def test_a_sweep_is_where_the_joints_are(finger):
    """The segment behind some bent joints, at many angles at once, for either hand."""
    turns = np.linspace(-0.3, 1.5, 7)
    for hand in (Hand("left", 0.18), Hand("right", 0.2)):
        for bent in ((), (0.4,), (0.4, 0.3)):
            for k, ends in enumerate(np.swapaxes(hand.sweep(finger, bent, turns), 0, 1)):
                joints = hand.joints(finger, np.array([*bent, turns[k], 0.0, 0.0])[:3])
                assert ends == pytest.approx(joints[len(bent) : len(bent) + 2], abs=1e-12)


def test_a_hand_in_a_scene_closes_around_what_it_holds():
    """On the handle of a door: closed, clear of the door's leaf; and a hand that is flat again is as it was."""
    scene = ip.Scene().add(ip.Humanoid(1.65, 58), "alice", pos=(-0.6, -0.2)).add(ip.Door(), "door")
    scene.reach("alice/right_grip", "door/knob_grip")
    m, d, body = scene.model, scene.kinematics().data, scene.body("alice/right_hand")
    door = [scene.body(f"door/{part}") for part in ("handle", "leaf")]
    held = held_distance(m, d, d.xpos[body], d.xmat[body].reshape(3, 3), door)
    hand = hand_of(m, body)
    angles = finger_angles(hand, held)
    for finger in FINGERS:
        gaps = room(hand, finger, angles[finger], held)
        assert gaps.min() > -0.001, (finger, gaps)
        assert gaps[1:].max() < 0.005, (finger, gaps)
    flat = m.geom_pos.copy()
    pose_fingers(m, "alice", hand, angles)
    assert np.abs(m.geom_pos - flat).max() > 0.01
    pose_fingers(m, "alice", hand, dict.fromkeys(FINGERS, (0.0, 0.0, 0.0)))
    np.testing.assert_allclose(m.geom_pos, flat, atol=1e-6)
    assert hand_of(m, scene.body("alice/right_forearm")) is None
    assert hand_of(m, 0) is None


def test_a_hand_around_nothing_is_a_fist_with_its_thumb_out():
    angles = finger_angles(Hand("left", LENGTH), lambda points: np.ones(len(points)))
    assert all(sum(angles[finger]) > 3 for finger in LONG)
    assert np.abs(angles["thumb"]).max() < 1.4
