"""Relative pose: where one body is, seen from another one."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from interplay.errors import InputError, number
from interplay.maths.rotations import quaternion_of, turn_from
from interplay.objectives.base import Feature, Objective
from interplay.objectives.pose import Pose
from interplay.objectives.reference import Constant, Reference, as_reference
from interplay.scene.frame import Frame
from interplay.scene.kinematics import Kinematics
from interplay.scene.scene import Scene


class RelativePose(Objective):
    """Pose of one frame relative to another (7,): position in the other's axes [m] and quaternion.

    The feature is the twist of the first relative to the second, taken at the first's origin in the second's axes.
    ``turn_weight`` (by default ``weight``) lets the orientation yield to the position, or the other way round.
    """

    def __init__(
        self,
        frame: str,
        base: str,
        reference: Any = None,
        *,
        weight: float = 50.0,
        turn_weight: float | None = None,
        stiffness: float = 30.0,
        max_speed: float | None = 1.0,
        name: str | None = None,
    ):
        """Take the two frames; without a reference their present relation is kept."""
        super().__init__(weight, stiffness, max_speed=max_speed, name=name)
        self._names, self._given = (frame, base), reference
        turn = self.weight if turn_weight is None else number("turn_weight", turn_weight, 0, 1e9)
        share = np.sqrt(turn / self.weight) if self.weight > 0 else 1.0
        self._scale = np.array([1.0, 1.0, 1.0, share, share, share])

    def about(self) -> tuple[str, ...]:
        """Return the two frames."""
        return self._names[0], "in", self._names[1]

    def bind(self, scene: Scene) -> None:
        """Find both frames and the DOFs that move one against the other."""
        self.frame, self.base = Frame(scene, self._names[0]), Frame(scene, self._names[1])
        sign = np.zeros(scene.model.nv)
        sign[self.frame.chain] += 1
        sign[self.base.chain] -= 1
        self.dofs, self.dim = np.flatnonzero(sign), 6
        if not len(self.dofs):
            raise InputError(f"{self._names[0]!r} and {self._names[1]!r} cannot move against each other")
        # Columns of the two chains' DOFs; −1: what moves both alike does not count.
        self._first, self._second = (
            np.where(sign[chain] != 0, np.searchsorted(self.dofs, chain), -1)
            for chain in (self.frame.chain, self.base.chain)
        )
        if self._given is None:
            p, R = self._relative(scene.rest)
            self.reference: Reference = Constant(np.concatenate([p, quaternion_of(R)]), 6)
        else:
            self.reference = as_reference("RelativePose", self._given, 7, 6, Pose.between)

    def _relative(self, terms: Kinematics) -> tuple[np.ndarray, np.ndarray]:
        (p, R), (q, Q) = self.frame.pose(terms), self.base.pose(terms)
        return Q.T @ (p - q), Q.T @ R

    def places(self, terms: Kinematics, time: float) -> tuple[np.ndarray, np.ndarray] | None:
        """Return where the frame is and where it should be, seen from the other."""
        q, Q = self.base.pose(terms)
        return self.frame.pose(terms)[0].copy(), q + Q @ self.reference.at(time).value[:3]

    def feature(self, terms: Kinematics, time: float) -> Feature:
        """Return the relative pose error, twist, Jacobian and bias in the base's axes."""
        p, _ = self.frame.pose(terms)
        _, Q = self.base.pose(terms)
        position, turn = self._relative(terms)
        value, velocity, acceleration = self.reference.at(time)
        v1, a1, J1 = terms.point(self.frame.body, p)
        v2, a2, J2 = terms.point(self.base.body, p)
        rate, bias, jac = -velocity, -acceleration, np.zeros((6, len(self.dofs)))
        _seen_from(v1, a1, J1, v2, a2, J2, self._first, self._second, Q, rate, bias, jac)
        error = np.concatenate([position - value[:3], turn_from(value[3:], turn)])
        s = self._scale
        return Feature(s * error, s * rate, s[:, None] * jac, s * bias)


@numba.njit(cache=True)
def _seen_from(v1, a1, J1, v2, a2, J2, columns1, columns2, Q, rate, bias, jac):
    """Add Qᵀ(v1 − v2), its bias, and write its Jacobian, of a point of the first body as the second, with axes Q, sees it."""
    slip, acceleration = v1 - v2, a1 - a2
    # d/dt of Qᵀ(v1 − v2) with v2 at the moving point: Coriolis 2 ω2 × (…) for the linear part, ω2 × (…) for the angular one.
    for part in range(2):
        for i in range(3):
            j, k = (i + 1) % 3, (i + 2) % 3
            turning = v2[3 + j] * slip[3 * part + k] - v2[3 + k] * slip[3 * part + j]
            acceleration[3 * part + i] -= (2 - part) * turning
    for part in range(2):
        for i in range(3):
            row = 3 * part + i
            for j in range(3):
                rate[row] += Q[j, i] * slip[3 * part + j]
                bias[row] += Q[j, i] * acceleration[3 * part + j]
            for columns, J, sign in ((columns1, J1, 1.0), (columns2, J2, -1.0)):
                for c in range(columns.shape[0]):
                    if columns[c] >= 0:
                        for j in range(3):
                            jac[row, columns[c]] += sign * Q[j, i] * J[3 * part + j, c]
