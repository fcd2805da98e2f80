"""The direct world: the program's accelerations are integrated on the configuration manifold."""

from __future__ import annotations

import mujoco
import numpy as np

from interplay.control.state import Solution, State
from interplay.scene.scene import Scene


def integrate(
    m: mujoco.MjModel, qpos: np.ndarray, qvel: np.ndarray, qacc: np.ndarray, dt: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return (q⁺, v⁺), semi-implicit: v⁺ = v + q̈ Δt, then q⁺ = q ⊕ v⁺ Δt."""
    qvel, qpos = qvel + qacc * dt, qpos.copy()
    mujoco.mj_integratePos(m, qpos, qvel, dt)
    mujoco.mj_normalizeQuat(m, qpos)
    return qpos, qvel


class DirectWorld:
    """The program itself is the physics (vaillant2017): its accelerations are integrated."""

    name = "direct"

    def __init__(self, scene: Scene, dt: float):
        """Take the scene and the step [s]."""
        self._model, self._dt = scene.model, dt

    def advance(self, state: State, solution: Solution, time: float) -> State:
        """Return the state at the next time; user pushes are not carried over."""
        qpos, qvel = integrate(self._model, state.qpos, state.qvel, solution.qacc, self._dt)
        return State(time, qpos, qvel, np.zeros_like(qvel), solution.memory)
