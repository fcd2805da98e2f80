"""A hand: a flat palm, four fingers and a thumb whose segments know their joints, so that a view may close them.

The program has no finger joints: a hand is one body. Its segments are drawn flat, as an open hand; ``fingers`` finds how
they lie around what is held. Everything here is the left hand's for a length of 0.188 m, in the hand's frame: z from the
fingers to the wrist, x toward the thumb, the palm looking toward −y. The right hand is its mirror image.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import mujoco
import numpy as np

from interplay.models.base import VISUAL_GROUP, frame_quat
from interplay.models.shapes import Section, add_shape, loft

LENGTH = 0.1879
"""Length of the hand that the numbers below describe [m]."""

THICKNESS = 0.014
"""Half thickness of the palm [m]."""

GRIP_AT = 0.475
"""Where a handle lies across the palm, as part of the hand's length."""


class Finger(NamedTuple):
    """A finger: its first joint [m], where it points when flat, the axis of each joint, segments' lengths, radii [m], limits [rad]."""

    base: tuple[float, float, float]
    along: tuple[float, float, float]
    axes: tuple[tuple[float, float, float], ...]
    lengths: tuple[float, ...]
    radii: tuple[float, ...]
    limits: tuple[tuple[float, float], ...]


_BEND = (-1.0, 0.0, 0.0)
_REACH = ((-0.35, 1.65), (-0.15, 1.95), (-0.25, 1.4))


def _finger(x: float, z: float, lengths: tuple[float, float, float], thick: float) -> Finger:
    radii = (thick, 0.92 * thick, 0.85 * thick)
    return Finger((x, -0.0035, z), (0.0, 0.0, -1.0), (_BEND,) * 3, lengths, radii, _REACH)


FINGERS = {
    "index": _finger(0.0310, -0.100, (0.037, 0.023, 0.0160), 0.0096),
    "middle": _finger(0.0105, -0.103, (0.041, 0.026, 0.0165), 0.0098),
    "ring": _finger(-0.0100, -0.101, (0.038, 0.024, 0.0165), 0.0094),
    "little": _finger(-0.0300, -0.096, (0.030, 0.018, 0.0150), 0.0083),
    # The thumb lies in the palm's plane; its first joint swings it before the palm, the others bend it over a handle.
    "thumb": Finger(
        (0.020, -0.001, -0.032),
        (0.622, 0.0, -0.783),
        ((-0.783, 0.0, -0.622), (0.339, 0.901, 0.270), (0.339, 0.901, 0.270)),
        (0.041, 0.030, 0.021),
        (0.0130, 0.0108, 0.0097),
        ((0.0, 1.35), (-0.2, 1.2), (-0.2, 1.3)),
    ),
}
"""The fingers by name. A joint's axis is that of the flat hand, and goes along with the joints before it."""


class Hand:
    """The geometry of one hand of some length, in its body's frame."""

    def __init__(self, side: str, length: float):
        """Take the side (``left`` or ``right``) and the length from wrist to finger tip [m]."""
        self.side, self.k = side, length / LENGTH
        self.mirror = np.array([1.0, 1.0 if side == "left" else -1.0, 1.0])

    def names(self, finger: str) -> list[str]:
        """Return the names of a finger's segments, from the palm outward."""
        return [f"{self.side}_{finger}_{n + 1}" for n in range(len(FINGERS[finger].lengths))]

    def joints(self, finger: str, angles: np.ndarray) -> np.ndarray:
        """Return the joints of a finger and its tip (n + 1, 3) at some angles [rad]: the ends of its segments' axes."""
        return self.frames(finger, angles)[0]

    def frames(self, finger: str, angles: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the joints of a finger and its tip (n + 1, 3), and how its segments have turned since it was flat (n, 3, 3)."""
        shape = FINGERS[finger]
        turn, point, along = np.eye(3), np.asarray(shape.base), np.asarray(shape.along)
        along = along / np.linalg.norm(along)
        points, turns = [point], []
        for axis, length, angle in zip(shape.axes, shape.lengths, angles, strict=True):
            turn = turn @ _turn(np.asarray(axis), float(angle))
            point = point + length * (turn @ along)
            points.append(point)
            turns.append(turn)
        return self.k * self.mirror * np.array(points), np.array(turns) * np.outer(self.mirror, self.mirror)

    def sweep(self, finger: str, bent: Sequence[float], turns: np.ndarray) -> np.ndarray:
        """Return the ends (2, n, 3) of the segment behind those that are ``bent`` by some angles, at many angles of its own [rad]."""
        shape = FINGERS[finger]
        turn, point, along = np.eye(3), np.asarray(shape.base), np.asarray(shape.along)
        along = along / np.linalg.norm(along)
        for axis, length, angle in zip(shape.axes, shape.lengths, bent, strict=False):
            turn = turn @ _turn(np.asarray(axis), float(angle))
            point = point + length * (turn @ along)
        axis = np.asarray(shape.axes[len(bent)]) / np.linalg.norm(shape.axes[len(bent)])
        c, s = np.cos(turns)[:, None], np.sin(turns)[:, None]
        way = c * along + s * np.cross(axis, along) + (1 - c) * (axis @ along) * axis
        ends = point + shape.lengths[len(bent)] * way @ turn.T
        return self.k * self.mirror * np.array([np.broadcast_to(point, ends.shape), ends])

    def radii(self, finger: str) -> np.ndarray:
        """Return the radii of a finger's segments [m]."""
        return self.k * np.asarray(FINGERS[finger].radii)

    @property
    def palm(self) -> np.ndarray:
        """The middle of the palm's surface, where a handle lies across it."""
        return self.k * self.mirror * np.array([0.0, -THICKNESS, -GRIP_AT * LENGTH])

    def add(self, spec: mujoco.MjSpec, body: mujoco.MjsBody, rgba: list[float]) -> None:
        """Add palm and fingers, as they are seen, to a body."""
        k = self.k
        sections = tuple(Section(*(k * v for v in row)) for row in _PALM)
        add_shape(spec, body, f"{self.side}_hand_shape", loft(sections, exponent=4.0, dome=0.12), rgba)
        for finger, shape in FINGERS.items():
            ends = self.joints(finger, np.zeros(len(shape.lengths)))
            for name, radius, pose in zip(
                self.names(finger), self.radii(finger), map(segment_pose, ends[:-1], ends[1:]), strict=True
            ):
                body.add_geom(
                    name=name,
                    type=mujoco.mjtGeom.mjGEOM_CAPSULE,
                    pos=pose.pos.tolist(),
                    quat=pose.quat.tolist(),
                    size=[float(radius), pose.half, 0],
                    rgba=rgba,
                    mass=0,
                    contype=0,
                    conaffinity=0,
                    group=VISUAL_GROUP,
                )


class SegmentPose(NamedTuple):
    """Where a segment's capsule lies in its hand's frame: centre [m], quaternion (wxyz), half length of its axis [m]."""

    pos: np.ndarray
    quat: np.ndarray
    half: float


def segment_pose(start: np.ndarray, end: np.ndarray) -> SegmentPose:
    """Return the pose of a segment by the ends of its axis."""
    way = end - start
    return SegmentPose(
        0.5 * (start + end), np.array(frame_quat(tuple(way), (1, 0, 0))), 0.5 * float(np.linalg.norm(way))
    )


def _turn(axis: np.ndarray, angle: float) -> np.ndarray:
    """Return the rotation matrix about an axis."""
    x, y, z = axis / np.linalg.norm(axis)
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * cross @ cross


_PALM = (
    (-0.002, 0.0285, 0.0170),
    (-0.011, 0.0340, 0.0150),
    (-0.024, 0.0398, 0.0140),
    (-0.060, 0.0410, 0.0140),
    (-0.092, 0.0405, 0.0138),
    (-0.105, 0.0390, 0.0125),
)
"""Sections of the palm: height, half width, half thickness [m]."""
