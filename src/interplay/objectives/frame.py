"""Frames that move with bodies, and rotations as quaternions, matrices and vectors."""

from __future__ import annotations

import mujoco
import numba
import numpy as np

from interplay.constraints.contact import rotation_log
from interplay.scene.kinematics import Kinematics
from interplay.scene.scene import Scene


class Frame:
    """A frame that moves with a body: a site, a body's own frame, or a model's root."""

    def __init__(self, scene: Scene, name: str):
        """Find a site of this name, otherwise a body."""
        m = scene.model
        self.site = mujoco.mj_name2id(m, mujoco.mjtObj.mjOBJ_SITE, name) if isinstance(name, str) else -1
        self.body = int(m.site_bodyid[self.site]) if self.site >= 0 else scene.body(name)
        self.chain = scene.rest.chain(self.body)

    def pose(self, terms: Kinematics) -> tuple[np.ndarray, np.ndarray]:
        """Return position (3,) and rotation (3, 3) in the world."""
        if self.site >= 0:
            return terms.site_xpos[self.site], terms.site_xmat[self.site].reshape(3, 3)
        return terms.xpos[self.body], terms.xmat[self.body].reshape(3, 3)


@numba.njit(cache=True)
def rotation(quat):
    """Return the matrix (3, 3) of a quaternion (w, x, y, z)."""
    w, x, y, z = quat / np.sqrt(quat[0] ** 2 + quat[1] ** 2 + quat[2] ** 2 + quat[3] ** 2)
    return np.array(
        [
            [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)],
            [2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x)],
            [2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)],
        ]
    )


@numba.njit(cache=True)
def turn_from(quat, R):
    """Return the rotation vector (3,), world axes, from the orientation of a quaternion to that of a matrix."""
    out, Q, turn = np.empty(3), rotation(quat), np.zeros((3, 3))
    for i in range(3):
        for j in range(3):
            for k in range(3):
                turn[i, j] += R[i, k] * Q[j, k]
    rotation_log(turn, out)
    return out


def quaternion_of(R: np.ndarray) -> np.ndarray:
    """Return the quaternion (w, x, y, z) of a matrix."""
    out = np.empty(4)
    mujoco.mju_mat2Quat(out, np.ascontiguousarray(R).reshape(-1))
    return out


@numba.njit(cache=True)
def turned(vector, quat):
    """Return a quaternion turned by a rotation vector (world axes)."""
    angle = np.sqrt(vector[0] ** 2 + vector[1] ** 2 + vector[2] ** 2)
    scale = np.sin(0.5 * angle) / angle if angle > 1e-12 else 0.5
    a, (x, y, z) = np.cos(0.5 * angle), (scale * vector[0], scale * vector[1], scale * vector[2])
    b, u, v, w = quat[0], quat[1], quat[2], quat[3]
    return np.array(
        [
            a * b - x * u - y * v - z * w,
            a * u + b * x + y * w - z * v,
            a * v + b * y + z * u - x * w,
            a * w + b * z + x * v - y * u,
        ]
    )
