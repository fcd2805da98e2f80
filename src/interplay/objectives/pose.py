"""Where a body is: 3D point, orientation, 6D pose, of a character's link or of an object."""

from __future__ import annotations

from typing import Any, ClassVar

import numba
import numpy as np

from interplay.errors import quaternion, vector
from interplay.maths.rotations import quaternion_of, rotation, turn_from
from interplay.objectives.base import EFFORT, Effort, Feature, Objective
from interplay.objectives.reference import Constant, Reference, Sample, as_reference
from interplay.scene.frame import Frame
from interplay.scene.kinematics import Kinematics, point_motion_and_jacobian
from interplay.scene.scene import Scene

PUSH, TURN = (400.0 / 30.0, 40.0 / np.sqrt(120.0)), (2.0 / 30.0, 0.1 / np.sqrt(120.0))
"""Where forces are controlled, what stiffness [1/s²] and damping [1/s] are multiplied by, of places [kg] and turns [kg·m²]: by default they are
liu2012's of hands then, 400 N/m and 40 N·s/m, 2 N·m/rad and 0.1 N·m·s/rad."""
MOST = np.repeat([400.0, 30.0], 3)
"""What a place [N] and a turn [N·m] are asked for at most."""

UPRIGHT = 10.0
"""How many times more the weight of a turn counts where forces are controlled than that of a place: a trunk's of 1 is liu2012's 1000 then."""
FIRM, STRONGEST = 0.2, 300.0
"""Part of critical damping with which trunks are turned, whose joints feel less inertia than they carry (at 0.3 they chatter in steps of
5 ms); the most [N·m]."""


class _Placement(Objective):
    """Shared by the objectives of one frame: which rows of its 6D motion they take, and how many numbers their value has."""

    rows: ClassVar[slice]
    size: ClassVar[int]
    defaults: ClassVar[tuple[float, float]]
    """Weight, and speed the pull is limited to."""

    def __init__(
        self,
        frame: str,
        reference: Any = None,
        *,
        weight: float | None = None,
        stiffness: float = 30.0,
        max_speed: float | None = None,
        name: str | None = None,
    ):
        """Take the name of a site, body or model, and its reference; without one it stays where it is in the initial state.

        ``max_speed`` [m/s, rad/s] limits how fast a far reference is approached; ``inf`` lifts the limit.
        """
        default_weight, default_speed = self.defaults
        super().__init__(
            default_weight if weight is None else weight,
            stiffness,
            max_speed=default_speed if max_speed is None else max_speed,
            name=name,
        )
        self.frame_name, self._given = frame, reference

    def about(self) -> tuple[str, ...]:
        """Return the frame."""
        return (self.frame_name,)

    def bind(self, scene: Scene) -> None:
        """Find the frame."""
        self.frame = Frame.moving(scene, self.frame_name)
        self.dofs, self.dim = self.frame.chain, self.rows.stop - self.rows.start
        what = f"{type(self).__name__} {self.frame_name!r}"
        self.reference: Reference = (
            Constant(self.value(*self.frame.pose(scene.rest)), self.dim)
            if self._given is None
            else as_reference(what, self._given, self.size, self.dim, self.between)
        )

    @staticmethod
    def value(p: np.ndarray, R: np.ndarray) -> np.ndarray:
        """Return the feature's value at a position and rotation."""
        raise TypeError("a placement defines value()")

    @staticmethod
    def difference(p: np.ndarray, R: np.ndarray, value: np.ndarray) -> np.ndarray:
        """Return what separates a position and rotation from a value, in tangent space."""
        raise TypeError("a placement defines difference()")

    @classmethod
    def between(cls, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Return value a minus value b in tangent space."""
        p, quat = (a[:3] if cls.size != 4 else np.zeros(3)), a[-4:]
        return cls.difference(p, rotation(quat) if cls.size > 3 else np.eye(3), b)

    def sample(self, terms: Kinematics, time: float) -> Sample:
        """Return the reference at a time; a subclass may let it depend on the state."""
        return self.reference.at(time)

    def places(self, terms: Kinematics, time: float) -> tuple[np.ndarray, np.ndarray] | None:
        """Return where the frame is and where its reference is; an orientation has no place."""
        return None if self.size == 4 else (self.frame.pose(terms)[0].copy(), self.sample(terms, time).value[:3])

    def effort(self, terms: Kinematics, time: float) -> Effort:
        """Return the wrench by PD in SE(3) that draws the frame to its reference (3)."""
        x, rows = self.feature(terms, time), self.rows
        stiff, damped = (np.repeat(of, 3)[rows] for of in zip(PUSH, TURN, strict=True))
        wrench = stiff * self.pulled(x, 0.0) - damped * self.damping * x.velocity
        return Effort(wrench, self.dofs, x.jacobian, EFFORT * self.weight_at(terms, time), MOST[rows])

    def feature(self, terms: Kinematics, time: float) -> Feature:
        """Return error, velocity, Jacobian and bias, world axes."""
        p, R = self.frame.pose(terms)
        rows = self.rows
        return Feature(*_placed(*terms.moving, self.frame.body, p, R, rows.start, rows.stop, *self.sample(terms, time)))


@numba.njit(cache=True)
def _placed(cdof, cvel, bias_acc, com, root, chain_start, chain_dofs, body, p, R, first, last, value, velocity, acc):
    """Return the feature of a frame; of its 6 rows (linear, angular) those from ``first`` to ``last``."""
    v, a, J = point_motion_and_jacobian(cdof, cvel, bias_acc, com, root, chain_start, chain_dofs, body, p)
    error = np.empty(last - first)
    if first == 0:
        for i in range(3):
            error[i] = p[i] - value[i]
    if last == 6:
        turn = turn_from(value[value.shape[0] - 4 :], R)
        for i in range(3):
            error[3 - first + i] = turn[i]
    for i in range(last - first):
        v[first + i] -= velocity[i]
        a[first + i] -= acc[i]
    return error, v[first:last], J[first:last], a[first:last]


class Point(_Placement):
    """Position (3,) [m] of a site or body in the world: a hand to reach with, an object's centre."""

    rows: ClassVar[slice] = slice(0, 3)
    size: ClassVar[int] = 3
    defaults: ClassVar[tuple[float, float]] = (50.0, 1.0)

    @staticmethod
    def value(p: np.ndarray, R: np.ndarray) -> np.ndarray:
        """Return the position."""
        return p.copy()

    @staticmethod
    def difference(p: np.ndarray, R: np.ndarray, value: np.ndarray) -> np.ndarray:
        """Return the displacement."""
        return p - value


class Orientation(_Placement):
    """Orientation of a site or body in the world, a quaternion (w, x, y, z); velocities are angular, world axes."""

    rows: ClassVar[slice] = slice(3, 6)
    size: ClassVar[int] = 4
    defaults: ClassVar[tuple[float, float]] = (10.0, 2.0)

    def effort(self, terms: Kinematics, time: float) -> Effort:
        """Return the torque that turns the body, with all that it carries as if that were rigid: a trunk is firm, a hand is not."""
        x, carried = self.feature(terms, time), terms.crb[self.frame.body]
        m, h = carried[9], carried[6:9]
        inertia = max(float(carried[:3].sum() / 3.0 - 2.0 / 3.0 * h @ h / m), 0.0)
        wrench, weight = inertia * self.pulled(x, FIRM * self.damping), UPRIGHT * EFFORT * self.weight_at(terms, time)
        return Effort(wrench, self.dofs, x.jacobian, weight, np.full(3, STRONGEST))

    @staticmethod
    def value(p: np.ndarray, R: np.ndarray) -> np.ndarray:
        """Return the quaternion."""
        return quaternion_of(R)

    @staticmethod
    def difference(p: np.ndarray, R: np.ndarray, value: np.ndarray) -> np.ndarray:
        """Return the rotation vector from the reference."""
        return turn_from(value, R)


class Pose(_Placement):
    """6D pose of a site, a body or an object: position [m] and quaternion (7,); velocities are (linear, angular), world axes."""

    rows: ClassVar[slice] = slice(0, 6)
    size: ClassVar[int] = 7
    defaults: ClassVar[tuple[float, float]] = (50.0, 1.0)

    @staticmethod
    def value(p: np.ndarray, R: np.ndarray) -> np.ndarray:
        """Return position and quaternion."""
        return np.concatenate([p, quaternion_of(R)])

    @staticmethod
    def difference(p: np.ndarray, R: np.ndarray, value: np.ndarray) -> np.ndarray:
        """Return displacement and rotation vector."""
        return np.concatenate([p - value[:3], turn_from(value[3:], R)])


def pose_value(pos: Any, quat: Any = (1, 0, 0, 0)) -> np.ndarray:
    """Return a pose (7,) from a position [m] and a quaternion (w, x, y, z)."""
    return np.concatenate([vector("position", pos, 3), quaternion("quaternion", quat)])
