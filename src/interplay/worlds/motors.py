"""The motors of the simulated world: torques that are held, or servos that MuJoCo integrates implicitly, and what they gave."""

from __future__ import annotations

import mujoco
import numpy as np

from interplay.control.plan import Plan
from interplay.models.motors import torque_limits

_TORQUE, _SERVO = int(mujoco.mjtBias.mjBIAS_NONE), int(mujoco.mjtBias.mjBIAS_AFFINE)


class Motors:
    """The actuators of a scene that was furnished for the simulator; each is a torque or, by its bias, a servo."""

    def __init__(self, m: mujoco.MjModel):
        """Take the model, whose bias types change from plan to plan."""
        self._model, self._limit = m, np.nan_to_num(torque_limits(m), nan=0.0, posinf=np.inf)
        self._dof = m.jnt_dofadr[m.actuator_trnid[:, 0]].astype(np.int64)
        self._gear = m.actuator_gear[:, 0].copy()
        self._held, self._given, self._steps = np.zeros(m.nv), np.zeros(m.nu), 0
        self._on = np.zeros(m.nu, bool)
        """Which are servos …"""
        self._serves = True
        """… and whether any may be."""
        bounded = m.actuator_forcelimited.astype(bool)
        self._least = np.where(bounded, m.actuator_forcerange[:, 0], -np.inf)
        self._most = np.where(bounded, m.actuator_forcerange[:, 1], np.inf)
        self._bias = -self._gear * m.actuator_biasprm[:, 1], -self._gear * m.actuator_biasprm[:, 2]
        self._damping = m.actuator_biasprm[:, 2].copy()
        """Of servos: within which forces they are, what they ask by position and by speed wanted, and MuJoCo's kd."""

    def begin(self, d: mujoco.MjData, plan: Plan) -> None:
        """Take up a plan's torques and servos."""
        m, limit = self._model, self._limit
        self._held = np.minimum(np.maximum(plan.tau, -limit), limit)
        d.ctrl[:] = self._held[self._dof] / self._gear
        if plan.servo is None and not self._serves:
            return
        on = np.zeros(m.nv, bool)
        if plan.servo is not None:
            on[plan.servo.dofs] = True
        self._on, self._serves = on[self._dof], plan.servo is not None
        m.actuator_biastype[:] = np.where(self._on, _SERVO, _TORQUE)
        if plan.servo is not None:
            # MuJoCo adds −kp q − kd v, and limits the sum.
            wanted = np.zeros((2, m.nv))
            wanted[:, plan.servo.dofs] = plan.servo.position, plan.servo.velocity
            pull = self._bias[0] * wanted[0, self._dof] + self._bias[1] * wanted[1, self._dof]
            d.ctrl[:] = np.where(self._on, plan.tau[self._dof] / self._gear + pull, d.ctrl)
        self._given[:], self._steps = 0.0, 0

    def take(self, d: mujoco.MjData) -> None:
        """Add what the servos gave in a step of the simulator: implicitly, at the speed that the step led to, unless at their limits."""
        if self._serves:
            force = d.actuator_force
            within = (force > self._least) & (force < self._most)
            gained = self._gear * d.qvel[self._dof] - d.actuator_velocity
            self._given += self._gear * (force + within * (self._damping * gained))
            self._steps += 1

    def end(self) -> np.ndarray:
        """Return the mean torques (nv,) that motors gave, within their limits."""
        tau = self._held
        if self._serves:
            dofs = self._dof[self._on]
            tau[dofs] = np.clip(self._given[self._on] / self._steps, -self._limit[dofs], self._limit[dofs])
        return tau
