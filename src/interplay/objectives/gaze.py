"""Gaze: a frame's axis turned toward a point or another frame."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from interplay.errors import InputError, vector
from interplay.maths.rotations import turn_between
from interplay.objectives.base import Feature, Objective
from interplay.objectives.reference import as_reference
from interplay.scene.frame import Frame
from interplay.scene.kinematics import Kinematics, point_motion_and_jacobian
from interplay.scene.scene import Scene


class Gaze(Objective):
    """Turns a frame's axis toward a point, or toward another frame: the head looks at what the hand does.

    The error is the rotation vector from the line of sight to the axis; its derivative is taken as the angular velocity across
    the line of sight, which is exact where the axis points at the target. The target counts as fixed within a step.
    """

    def __init__(
        self,
        frame: str,
        target: Any,
        *,
        axis: Any = (1, 0, 0),
        weight: float = 2.0,
        stiffness: float = 20.0,
        max_speed: float | None = 2.0,
        name: str | None = None,
    ):
        """Take the frame, a point (3,), reference or frame name to look at, and the axis (in the frame) that looks."""
        super().__init__(weight, stiffness, max_speed=max_speed, name=name)
        self.frame_name, self._target, self._axis = frame, target, vector("Gaze axis", axis, 3)
        length = float(np.linalg.norm(self._axis))
        if length < 1e-9:
            raise InputError("Gaze axis: expected a direction, got one of zero length")
        self._axis /= length

    def about(self) -> tuple[str, ...]:
        """Return the frame."""
        return (self.frame_name,)

    def bind(self, scene: Scene) -> None:
        """Find the frame and the target."""
        self.frame = Frame.moving(scene, self.frame_name)
        self.dofs, self.dim = self.frame.chain, 3
        self._seen = Frame(scene, self._target) if isinstance(self._target, str) else None
        if self._seen is not None and self._seen.body == self.frame.body:
            raise InputError(f"{self.frame_name!r} cannot look at {self._target!r}: it is a part of the same body")
        self.reference = None if self._seen else as_reference("Gaze target", self._target, 3)

    def _looked_at(self, terms: Kinematics, time: float) -> np.ndarray:
        return self._seen.pose(terms)[0] if self._seen else self.reference.at(time).value  # type: ignore[union-attr]

    def places(self, terms: Kinematics, time: float) -> tuple[np.ndarray, np.ndarray] | None:
        """Return what the axis points at, as far away as the target, and the target."""
        (p, R), target = self.frame.pose(terms), self._looked_at(terms, time)
        return p + R @ self._axis * float(np.linalg.norm(target - p)), target.copy()

    def feature(self, terms: Kinematics, time: float) -> Feature:
        """Return the rotation error with the angular Jacobian across the line of sight."""
        p, R = self.frame.pose(terms)
        return Feature(*_across(*terms.moving, self.frame.body, p, R, self._axis, self._looked_at(terms, time)))


@numba.njit(cache=True)
def _across(cdof, cvel, bias_acc, com, root, chain_start, chain_dofs, body, p, R, axis, target):
    """Return the rotation from the line of sight to an axis, and the parts of a frame's turning across that line.

    Turning about the line of sight is free: 1 − s sᵀ takes it out.
    """
    v, a, J = point_motion_and_jacobian(cdof, cvel, bias_acc, com, root, chain_start, chain_dofs, body, p)
    sight, looks, far = np.empty(3), np.empty(3), 0.0
    for i in range(3):
        looks[i] = R[i, 0] * axis[0] + R[i, 1] * axis[1] + R[i, 2] * axis[2]
        sight[i] = target[i] - p[i]
        far += sight[i] * sight[i]
    far = np.sqrt(far)
    for i in range(3):
        sight[i] = sight[i] / far if far > 1e-9 else looks[i]  # where the frame itself is, every way is the right one
    velocity, jacobian, bias = np.empty(3), np.empty((3, J.shape[1])), np.empty(3)
    moving = sight[0] * v[3] + sight[1] * v[4] + sight[2] * v[5]
    changing = sight[0] * a[3] + sight[1] * a[4] + sight[2] * a[5]
    for i in range(3):
        velocity[i], bias[i] = v[3 + i] - sight[i] * moving, a[3 + i] - sight[i] * changing
    for k in range(J.shape[1]):
        along = sight[0] * J[3, k] + sight[1] * J[4, k] + sight[2] * J[5, k]
        for i in range(3):
            jacobian[i, k] = J[3 + i, k] - sight[i] * along
    turn = np.empty(3)
    turn_between(sight, looks, turn)
    return turn, velocity, jacobian, bias
