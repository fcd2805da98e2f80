"""Fingers as they are drawn: closed around what a hand holds, relaxed otherwise, and on the way from one to the other.

The program has no finger joints. A view draws from a model of its own, in which the geoms of fingers move in their hand's frame.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import mujoco
import numpy as np

from interplay.models.fingers import (
    FLAT,
    REACHING,
    RELAXED,
    Angles,
    blend,
    closing,
    finger_angles,
    hand_of,
    held_distance,
    open_around,
    pose_fingers,
)


class Place(NamedTuple):
    """Where what is held lies in the hand's frame: position [m], quaternion (wxyz). It does not change while it is held."""

    position: tuple[float, ...]
    quat: tuple[float, ...]


class Hold(NamedTuple):
    """A hand on something: names of the two bodies, whether it is grasped or lies against the palm, and where."""

    hand: str
    held: str
    grasped: bool
    place: Place | None
    """None: the hand is on its way, and where it will be is not known."""


class Grip(NamedTuple):
    """A hold at a moment: how far the hand has opened for it, and how far the fingers are closed around it, each 0 to 1."""

    hold: Hold
    opened: float
    closure: float


class Pose(NamedTuple):
    """Angles [rad] of a hand that is about to hold something, and when it does."""

    opened: Angles
    closed: Angles


class Fingers:
    """The fingers of all hands of a model that is drawn; hands of bodies from files have none that could bend."""

    def __init__(self, model: mujoco.MjModel):
        """Relax all hands of a model, which is changed."""
        self._model, self._rest = model, mujoco.MjData(model)
        mujoco.mj_kinematics(model, self._rest)
        self._poses: dict[Hold, Pose] = {}
        """Of all that was ever held: a pose is as constant as its hold, and too dear to be found for every frame."""
        hands = {model.body(body).name: hand_of(model, body) for body in range(model.nbody)}
        self._hands = {name: hand for name, hand in hands.items() if hand is not None}
        self._shown: dict[str, tuple[Grip, ...]] = {}
        for name in self._hands:
            self._pose(name, RELAXED)

    def show(self, grips: Iterable[Grip]) -> None:
        """Lay the fingers as the grips of a moment say; of several of one hand, each is laid over those before it."""
        wanted: dict[str, tuple[Grip, ...]] = {}
        for grip in grips:
            if grip.hold.hand in self._hands:
                wanted[grip.hold.hand] = (*wanted.get(grip.hold.hand, ()), grip)
        if wanted == self._shown:
            return
        for hand in wanted.keys() | self._shown.keys():
            if wanted.get(hand) != self._shown.get(hand):
                self._pose(hand, self.angles(hand, wanted.get(hand, ())))
        self._shown = wanted

    def angles(self, hand: str, grips: Iterable[Grip]) -> Angles:
        """Return the angles of a hand [rad]; of the grips of a moment, its own are laid one over the other."""
        angles: Angles = RELAXED
        for hold, opened, closure in grips:
            if hold.hand == hand:
                pose = self._around(hold)
                angles = closing(blend(angles, pose.opened, opened), pose.closed, closure)
        return angles

    def _pose(self, hand: str, angles: Angles) -> None:
        pose_fingers(self._model, hand.rpartition("/")[0], self._hands[hand], angles)

    def _around(self, hold: Hold) -> Pose:
        """Return the angles at which fingers are open and closed around what is held."""
        if hold.place is None:
            return Pose(*2 * [REACHING if hold.grasped else FLAT])
        if hold not in self._poses:
            m, d, held = self._model, self._rest, self._model.body(hold.held).id
            turn = np.empty(9)
            mujoco.mju_quat2Mat(turn, np.array(hold.place.quat))
            # Where the hand would be with everything at rest; with what is held come the parts it hangs on (a handle's door).
            rotation = d.xmat[held].reshape(3, 3) @ turn.reshape(3, 3).T
            position = d.xpos[held] - rotation @ np.array(hold.place.position)
            near = {int(m.body_parentid[held]), *np.flatnonzero(m.body_parentid == held).tolist()} if held else set()
            hand, distance = self._hands[hold.hand], held_distance(m, d, position, rotation, {held} | (near - {0}))
            closed = finger_angles(hand, distance)
            self._poses[hold] = Pose(open_around(hand, distance, closed), closed)
        return self._poses[hold]
