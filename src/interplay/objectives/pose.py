"""Where a body is: 3D point, orientation, gaze, 6D pose; also the pose of an object, and of one body relative to another."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np

from interplay.constraints.contact import rotation_log
from interplay.errors import InputError, quaternion, vector
from interplay.objectives.base import Feature, Objective
from interplay.objectives.reference import Constant, Reference, Sample, as_reference
from interplay.scene.kinematics import Kinematics
from interplay.scene.scene import Scene


class Frame:
    """A frame that moves with a body: a site, a body's own frame, or a model's root."""

    def __init__(self, scene: Scene, name: str):
        """Find a site of this name, otherwise a body."""
        m = scene.model
        self.site = mujoco.mj_name2id(m, mujoco.mjtObj.mjOBJ_SITE, name) if isinstance(name, str) else -1
        self.body = int(m.site_bodyid[self.site]) if self.site >= 0 else scene.body(name)
        self.chain = scene.kinematics().chain(self.body)

    def pose(self, terms: Kinematics) -> tuple[np.ndarray, np.ndarray]:
        """Return position (3,) and rotation (3, 3) in the world."""
        if self.site >= 0:
            return terms.site_xpos[self.site], terms.site_xmat[self.site].reshape(3, 3)
        return terms.xpos[self.body], terms.xmat[self.body].reshape(3, 3)


def rotation(quat: np.ndarray) -> np.ndarray:
    """Return the matrix of a quaternion (w, x, y, z)."""
    out = np.empty(9)
    mujoco.mju_quat2Mat(out, quat / np.linalg.norm(quat))
    return out.reshape(3, 3)


def log(R: np.ndarray) -> np.ndarray:
    """Return the rotation vector of a matrix."""
    out = np.empty(3)
    rotation_log(np.ascontiguousarray(R), out)
    return out


class _FrameObjective(Objective):
    """Shared by the objectives of one frame."""

    def __init__(self, frame: str, reference: Any, size: int, **options: Any):
        super().__init__(**options)
        self.frame_name, self._given, self._size = frame, reference, size

    def bind(self, scene: Scene) -> None:
        """Find the frame; without a reference it stays where it is in the initial state."""
        self.frame = Frame(scene, self.frame_name)
        if not len(self.frame.chain):
            raise InputError(f"{self.frame_name!r} cannot move: it belongs to the fixed environment")
        self.dofs, self.dim = self.frame.chain, min(self._size, 6) if self._size != 4 else 3
        what = f"{type(self).__name__} {self.frame_name!r}"
        self.reference: Reference = (
            Constant(self._now(scene.kinematics()))
            if self._given is None
            else as_reference(what, self._given, self._size)
        )

    def _now(self, terms: Kinematics) -> np.ndarray:
        p, R = self.frame.pose(terms)
        quat = np.empty(4)
        mujoco.mju_mat2Quat(quat, np.ascontiguousarray(R).reshape(-1))
        return {3: p.copy(), 4: quat, 7: np.concatenate([p, quat])}[self._size]


class Point(_FrameObjective):
    """Position [m] of a site or body in the world: a hand to reach with, an object's centre."""

    def __init__(
        self,
        frame: str,
        reference: Any = None,
        *,
        weight: float = 50.0,
        stiffness: float = 30.0,
        max_speed: float | None = 1.0,
        name: str | None = None,
    ):
        """Take the frame's name and a position (3,)."""
        super().__init__(frame, reference, 3, weight=weight, stiffness=stiffness, max_speed=max_speed, name=name)

    def feature(self, terms: Kinematics, time: float) -> Feature:
        """Return position error, velocity, Jacobian, bias."""
        p, _ = self.frame.pose(terms)
        value, velocity, acceleration = self.reference.at(time)
        v, a = terms.motion(self.frame.body, p)
        return Feature(
            p - value, v[:3] - velocity, terms.jacobian(self.frame.body, p, self.dofs)[:3], a[:3] - acceleration
        )


class Orientation(_FrameObjective):
    """Orientation of a site or body in the world, a quaternion (w, x, y, z); velocities are angular, world axes."""

    def __init__(
        self,
        frame: str,
        reference: Any = None,
        *,
        weight: float = 10.0,
        stiffness: float = 30.0,
        max_speed: float | None = 2.0,
        name: str | None = None,
    ):
        """Take the frame's name and a quaternion (4,)."""
        super().__init__(frame, reference, 4, weight=weight, stiffness=stiffness, max_speed=max_speed, name=name)

    def feature(self, terms: Kinematics, time: float) -> Feature:
        """Return the rotation vector from the reference, angular velocity, Jacobian, bias."""
        p, R = self.frame.pose(terms)
        value, velocity, acceleration = self.reference.at(time)
        v, a = terms.motion(self.frame.body, p)
        return Feature(
            log(R @ rotation(value).T),
            v[3:] - velocity,
            terms.jacobian(self.frame.body, p, self.dofs)[3:],
            a[3:] - acceleration,
        )


class Pose(_FrameObjective):
    """6D pose of a site, a body or an object: position [m] and quaternion (7,); velocities are (linear, angular), world axes."""

    def __init__(
        self,
        frame: str,
        reference: Any = None,
        *,
        weight: float = 50.0,
        stiffness: float = 30.0,
        max_speed: float | None = 1.0,
        name: str | None = None,
    ):
        """Take the frame's name and a pose (x, y, z, qw, qx, qy, qz)."""
        super().__init__(frame, reference, 7, weight=weight, stiffness=stiffness, max_speed=max_speed, name=name)

    def feature(self, terms: Kinematics, time: float) -> Feature:
        """Return pose error, twist, Jacobian, bias."""
        p, R = self.frame.pose(terms)
        value, velocity, acceleration = self.reference.at(time)
        v, a = terms.motion(self.frame.body, p)
        error = np.concatenate([p - value[:3], log(R @ rotation(value[3:]).T)])
        return Feature(error, v - velocity, terms.jacobian(self.frame.body, p, self.dofs), a - acceleration)


class Gaze(Objective):
    """Turns a frame's axis toward a point, or toward another frame: the head looks at what the hand does.

    The feature is the axis' deviation from the line of sight, â × l̂ (the target counts as fixed within a step).
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
        self._axis /= max(float(np.linalg.norm(self._axis)), 1e-12)

    def bind(self, scene: Scene) -> None:
        """Find the frame and the target."""
        self.frame = Frame(scene, self.frame_name)
        self.dofs, self.dim = self.frame.chain, 3
        self._seen = Frame(scene, self._target) if isinstance(self._target, str) else None
        self.reference = None if self._seen else as_reference("Gaze target", self._target, 3)

    def feature(self, terms: Kinematics, time: float) -> Feature:
        """Return axis × line of sight, as a rotation error, with the angular Jacobian."""
        p, R = self.frame.pose(terms)
        target = self._seen.pose(terms)[0] if self._seen else self.reference.at(time).value  # type: ignore[union-attr]
        axis, sight = R @ self._axis, target - p
        sight = sight / max(float(np.linalg.norm(sight)), 1e-9)
        v, a = terms.motion(self.frame.body, p)
        across = np.eye(3) - np.outer(sight, sight)  # turning about the line of sight is free
        return Feature(
            -np.cross(axis, sight),
            across @ v[3:],
            across @ terms.jacobian(self.frame.body, p, self.dofs)[3:],
            across @ a[3:],
        )


class RelativePose(Objective):
    """Pose of one frame relative to another (7,): position in the other's axes [m] and quaternion.

    The feature is the twist of the first relative to the second, taken at the first's origin in the second's axes.
    """

    def __init__(
        self,
        frame: str,
        base: str,
        reference: Any = None,
        *,
        weight: float = 50.0,
        stiffness: float = 30.0,
        max_speed: float | None = 1.0,
        name: str | None = None,
    ):
        """Take the two frames; without a reference their present relation is kept."""
        super().__init__(weight, stiffness, max_speed=max_speed, name=name)
        self._names, self._given = (frame, base), reference

    def bind(self, scene: Scene) -> None:
        """Find both frames and the DOFs that move one against the other."""
        self.frame, self.base = Frame(scene, self._names[0]), Frame(scene, self._names[1])
        sign = np.zeros(scene.model.nv)
        sign[self.frame.chain] += 1
        sign[self.base.chain] -= 1
        self.dofs, self.dim = np.flatnonzero(sign), 6
        if not len(self.dofs):
            raise InputError(f"{self._names[0]!r} and {self._names[1]!r} cannot move against each other")
        self._first, self._second = (
            np.searchsorted(self.dofs, self.frame.chain),
            np.searchsorted(self.dofs, self.base.chain),
        )
        self._in1, self._in2 = sign[self.frame.chain] != 0, sign[self.base.chain] != 0
        if self._given is None:
            p, R = self._relative(scene.kinematics())
            quat = np.empty(4)
            mujoco.mju_mat2Quat(quat, np.ascontiguousarray(R).reshape(-1))
            self.reference: Reference = Constant(np.concatenate([p, quat]))
        else:
            self.reference = as_reference("RelativePose", self._given, 7)

    def _relative(self, terms: Kinematics) -> tuple[np.ndarray, np.ndarray]:
        (p, R), (q, Q) = self.frame.pose(terms), self.base.pose(terms)
        return Q.T @ (p - q), Q.T @ R

    def feature(self, terms: Kinematics, time: float) -> Feature:
        """Return the relative pose error, twist, Jacobian and bias in the base's axes."""
        p, _ = self.frame.pose(terms)
        _, Q = self.base.pose(terms)
        position, turn = self._relative(terms)
        value, velocity, acceleration = self.reference.at(time)
        v1, a1 = terms.motion(self.frame.body, p)
        v2, a2 = terms.motion(self.base.body, p)
        jac = np.zeros((6, len(self.dofs)))
        jac[:, self._first[self._in1]] += terms.jacobian(self.frame.body, p, self.frame.chain)[:, self._in1]
        jac[:, self._second[self._in2]] -= terms.jacobian(self.base.body, p, self.base.chain)[:, self._in2]
        # d/dt of Qᵀ(v1 − v2) with v2 at the moving point: Coriolis 2 ω2 × (…) for the linear part, ω2 × (…) for the angular one.
        w, slip = v2[3:], v1 - v2
        bias = np.concatenate([a1[:3] - a2[:3] - 2 * np.cross(w, slip[:3]), a1[3:] - a2[3:] - np.cross(w, slip[3:])])
        to_base = np.kron(np.eye(2), Q.T)
        error = np.concatenate([position - value[:3], log(turn @ rotation(value[3:]).T)])
        return Feature(error, to_base @ slip - velocity, to_base @ jac, to_base @ bias - acceleration)


def pose_value(pos: Any, quat: Any = (1, 0, 0, 0)) -> np.ndarray:
    """Return a pose (7,) from a position [m] and a quaternion (w, x, y, z)."""
    return np.concatenate([vector("position", pos, 3), quaternion("quaternion", quat)])


class PosePath:
    """A pose that moves from one to another in minimum-jerk time: a straight line, turning about one axis."""

    def __init__(self, start: np.ndarray, end: np.ndarray, begin: float, seconds: float, arch: Any = (0, 0, 0)):
        """Take two poses (7,), the time it begins, its duration [s], and by how much [m] (3,) it arches out half-way."""
        self.start, self.end, self.begin, self.seconds, self.arch = start, end, begin, seconds, vector("arch", arch, 3)
        self._turn = log(rotation(end[3:]) @ rotation(start[3:]).T)

    def at(self, time: float) -> Sample:
        """Return pose, twist and its derivative (world axes)."""
        T = self.seconds
        s = min(max((time - self.begin) / T, 0.0), 1.0)
        f, df, ddf = (
            s**3 * (10 - 15 * s + 6 * s * s),
            s * s * (30 - 60 * s + 30 * s * s) / T,
            s * (60 - 180 * s + 120 * s * s) / T**2,
        )
        way = np.concatenate([self.end[:3] - self.start[:3], self._turn])
        value = np.empty(7)
        value[:3] = self.start[:3] + f * way[:3]
        turn = np.empty(4)
        angle = float(np.linalg.norm(self._turn))
        mujoco.mju_axisAngle2Quat(turn, self._turn / angle if angle > 1e-12 else np.array([1.0, 0, 0]), angle * f)
        quat = np.empty(4)
        mujoco.mju_mulQuat(quat, turn, self.start[3:])
        value[3:] = quat
        velocity, acceleration = df * way, ddf * way
        # 64 s³(1 − s)³: out and back with zero velocity and acceleration at both ends.
        r = 1 - s
        value[:3] += self.arch * 64 * (s * r) ** 3
        velocity[:3] += self.arch * 192 * (s * r) ** 2 * (r - s) / T
        acceleration[:3] += self.arch * 384 * s * r * ((r - s) ** 2 - s * r) / T**2
        return Sample(value, velocity, acceleration)
