"""What the motors of a compiled model can do."""

from __future__ import annotations

from typing import NamedTuple

import mujoco
import numpy as np

STIFFNESS, DAMPING = 3.0, 0.25
"""Gains of servos as multiples of the motors' limits: a motor gives all it can a third of a radian off, or at 4 rad/s."""
UNLIMITED = 100.0
"""The limit [N·m] from which the gains of a motor without one follow."""


class Gains(NamedTuple):
    """Gains of the servos of every DOF: stiffness (nv,) [N·m/rad] and damping (nv,) [N·m·s/rad]; 0 without a motor."""

    stiffness: np.ndarray
    damping: np.ndarray


def servo_gains(m: mujoco.MjModel) -> Gains:
    """Return the gains of servos, from the limits of their motors."""
    limit = np.nan_to_num(torque_limits(m), nan=0.0, posinf=UNLIMITED)
    return Gains(STIFFNESS * limit, DAMPING * limit)


def torque_limits(m: mujoco.MjModel) -> np.ndarray:
    """Return the torque limit of every DOF (nv,): NaN where no motor drives it, infinite where nothing limits the motor."""
    limit = np.full(m.nv, np.nan)
    for motor in range(m.nu):
        if m.actuator_trntype[motor] != int(mujoco.mjtTrn.mjTRN_JOINT):
            continue
        joint = int(m.actuator_trnid[motor, 0])
        gear = abs(float(m.actuator_gear[motor, 0]))
        tightest = np.inf
        if m.actuator_forcelimited[motor]:
            tightest = min(tightest, gear * float(np.abs(m.actuator_forcerange[motor]).min()))
        plain = m.actuator_biastype[motor] == 0 and m.actuator_gaintype[motor] == 0  # a servo's control is no torque
        if m.actuator_ctrllimited[motor] and plain:
            tightest = min(
                tightest,
                gear * float(np.abs(m.actuator_ctrlrange[motor]).min()) * float(abs(m.actuator_gainprm[motor, 0])),
            )
        if m.jnt_actfrclimited[joint]:
            tightest = min(tightest, float(np.abs(m.jnt_actfrcrange[joint]).min()))
        dof = int(m.jnt_dofadr[joint])
        limit[dof] = tightest if np.isnan(limit[dof]) else limit[dof] + tightest
    return limit
