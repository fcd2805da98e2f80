"""Limits of joints: velocity (30) and position by a velocity damper (31) as bounds on q̈, torque (28); how they give way."""

from __future__ import annotations

from typing import NamedTuple

import mujoco
import numba
import numpy as np

from interplay.constraints.base import GivesWay, RowBlock
from interplay.constraints.damper import approach_limit, damper_gain
from interplay.models.motors import torque_limits

SECURITY, INFLUENCE = 0.002, 0.25
"""Distances d_s and d_i [rad or m] of the position damper; d_i is at most 15 % of the joint's range."""

BRAKING = 40.0
"""Deceleration [rad/s² or m/s²] that a joint is trusted with on its way to a limit."""

DAMPING, OFFSET = 0.5, 0.2
"""ξ0 and the offset added on activation [rad/s or m/s]."""


JOINT, TORQUE = GivesWay("limit", 2, 3000.0, "rad/s²"), GivesWay("torque", 3, 1000.0, "N·m")
"""How bounds on q̈ and torque limits give way."""


class JointLimits(NamedTuple):
    """The limited joints of a scene: DOF, configuration address, range, influence distance; speeds of every DOF."""

    dof: np.ndarray
    adr: np.ndarray
    low: np.ndarray
    high: np.ndarray
    influence: np.ndarray
    speed: np.ndarray
    torque: np.ndarray

    @classmethod
    def of(cls, m: mujoco.MjModel) -> JointLimits:
        """Read the limits of a model: ranges, velocity limits in the joints' user data, torque limits of the motors."""
        scalar = np.isin(m.jnt_type, [int(mujoco.mjtJoint.mjJNT_HINGE), int(mujoco.mjtJoint.mjJNT_SLIDE)])
        limited = np.flatnonzero(scalar & (m.jnt_limited > 0))
        low, high = m.jnt_range[limited, 0].copy(), m.jnt_range[limited, 1].copy()
        speed = np.full(m.nv, np.inf)
        if m.nuser_jnt:
            for joint in np.flatnonzero(scalar & (m.jnt_user[:, 0] > 0)):
                speed[m.jnt_dofadr[joint]] = m.jnt_user[joint, 0]
        influence = np.minimum(INFLUENCE, 0.15 * (high - low))
        return cls(
            m.jnt_dofadr[limited].astype(np.int64),
            m.jnt_qposadr[limited].astype(np.int64),
            low,
            high,
            influence,
            speed,
            torque_limits(m),
        )

    def bounds(
        self,
        qpos: np.ndarray,
        qvel: np.ndarray,
        dt: float,
        xi: np.ndarray,
        lower: np.ndarray,
        upper: np.ndarray,
        braking: float = np.inf,
    ) -> None:
        """Fill bounds on q̈ (nv,); ``xi`` (2, joints) keeps the damping of active joints, 0 where inactive, and is updated.

        No bound asks for more than ``braking`` [rad/s², m/s²].
        """
        _bounds(
            self.dof,
            self.adr,
            self.low,
            self.high,
            self.influence,
            self.speed,
            qpos,
            qvel,
            dt,
            braking,
            xi,
            lower,
            upper,
        )


def joint_rows(m: mujoco.MjModel, lower: np.ndarray, upper: np.ndarray, driven: np.ndarray) -> list[RowBlock]:
    """Return the rows of a program's joints: bounds on q̈ (nv,), and the torques of some DOFs, which stand first in G."""

    def name(dof: int) -> str:
        return m.joint(int(m.dof_jntid[dof])).name or f"dof {dof}"

    bounded = np.flatnonzero(np.isfinite(lower) | np.isfinite(upper))
    return [
        RowBlock("x", bounded, JOINT, name),
        RowBlock("G", np.arange(len(driven)), TORQUE, lambda row: name(int(driven[row]))),
    ]


@numba.njit(cache=True)
def _bounds(dof, adr, low, high, influence, speed, qpos, qvel, dt, braking, xi, lower, upper):
    for i in range(qvel.shape[0]):
        lower[i] = (-speed[i] - qvel[i]) / dt
        upper[i] = (speed[i] - qvel[i]) / dt
    for k in range(dof.shape[0]):
        i, q, v = dof[k], qpos[adr[k]], qvel[dof[k]]
        below, above = q - low[k], high[k] - q
        xi[0, k] = damper_gain(xi[0, k], below, -v, influence[k], SECURITY, DAMPING, OFFSET, dt)
        xi[1, k] = damper_gain(xi[1, k], above, v, influence[k], SECURITY, DAMPING, OFFSET, dt)
        # Where bounds cross, position wins over velocity (31).
        bound = (-approach_limit(below, xi[0, k], influence[k], SECURITY, BRAKING, dt) - v) / dt
        lower[i] = max(lower[i], bound)
        upper[i] = max(upper[i], bound)
        bound = (approach_limit(above, xi[1, k], influence[k], SECURITY, BRAKING, dt) - v) / dt
        upper[i] = min(upper[i], bound)
        lower[i] = min(lower[i], bound)
    for i in range(qvel.shape[0]):
        lower[i], upper[i] = min(lower[i], braking), max(upper[i], -braking)
