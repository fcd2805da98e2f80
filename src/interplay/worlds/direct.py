"""The direct world: the program's accelerations are integrated on the configuration manifold."""

from __future__ import annotations

import mujoco
import numpy as np

from interplay.control.plan import Plan
from interplay.control.state import State, Touching
from interplay.scene.scene import Scene
from interplay.worlds.world import Outcome


def integrate(
    m: mujoco.MjModel, qpos: np.ndarray, qvel: np.ndarray, qacc: np.ndarray, dt: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return (q⁺, v⁺), semi-implicit: v⁺ = v + q̈ Δt, then q⁺ = q ⊕ v⁺ Δt."""
    qvel, qpos = qvel + qacc * dt, qpos.copy()
    mujoco.mj_integratePos(m, qpos, qvel, dt)
    mujoco.mj_normalizeQuat(m, qpos)
    return qpos, qvel


class DirectWorld:
    """The program itself is the physics (vaillant2017): the plan is what happens."""

    name = "direct"

    def __init__(self, scene: Scene, dt: float):
        """Take the scene and the step [s]."""
        self._model, self._dt = scene.model, dt

    def advance(self, state: State, plan: Plan, time: float) -> Outcome:
        """Return the plan, carried out; forces from outside end with the step."""
        qpos, qvel = integrate(self._model, state.qpos, state.qvel, plan.qacc, self._dt)
        touching = Touching(plan.contacts, plan.wrenches)
        after = State(time, qpos, qvel, np.zeros_like(qvel), plan.memory._replace(felt=touching))
        return Outcome(after, plan.qacc, plan.tau, touching, plan.qfrc_contact, plan.conflicts, plan)

    def checkpoint(self) -> None:
        """Return nothing: all is in the state."""

    def restore(self, data: None) -> None:
        """Continue."""
