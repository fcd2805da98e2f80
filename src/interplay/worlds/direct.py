"""The direct world: the program's accelerations are integrated on the configuration manifold."""

from __future__ import annotations

import mujoco
import numpy as np

from interplay.control.state import Solution, State
from interplay.scene.scene import Scene


class DirectWorld:
    """Semi-implicit integration: v⁺ = v + q̈ Δt, then q⁺ = q ⊕ v⁺ Δt. The program itself is the physics (vaillant2017)."""

    name = "direct"

    def __init__(self, scene: Scene, dt: float):
        """Take the scene and the step [s]."""
        self._model, self._dt = scene.model, dt

    def advance(self, state: State, solution: Solution) -> State:
        """Return the next state; user pushes are not carried over."""
        qvel = state.qvel + solution.qacc * self._dt
        qpos = state.qpos.copy()
        mujoco.mj_integratePos(self._model, qpos, qvel, self._dt)
        mujoco.mj_normalizeQuat(self._model, qpos)
        return State(state.time + self._dt, qpos, qvel, np.zeros_like(qvel), solution.memory)
