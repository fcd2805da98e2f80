"""The direct world: the program's accelerations are integrated on the configuration manifold, as long as it is satisfied.

Where it had to give way, or counts on contacts that have opened, its accelerations are nobody's motion: then physics decides what its
torques lead to (:mod:`.physics`).
"""

from __future__ import annotations

import functools

import numpy as np

from interplay.constraints.manner import EXACT
from interplay.control.plan import Plan
from interplay.control.state import State, Touching
from interplay.scene.kinematics import Kinematics
from interplay.scene.scene import Scene
from interplay.worlds.physics import Physics
from interplay.worlds.world import Outcome, integrate


class DirectWorld:
    """The program itself is the physics (vaillant2017): the plan is what happens."""

    name = "direct"
    finds_contacts = False
    keeps_substeps: bool | None = None
    manner = EXACT

    @staticmethod
    def prepared(scene: Scene, dt: float) -> Scene:
        """Return a scene of its own."""
        return scene.snapshot()

    def __init__(self, scene: Scene, dt: float):
        """Take the scene and the step [s]."""
        self._scene, self._model, self._dt = scene, scene.model, dt
        self._nothing = np.zeros(scene.model.nv)

    @functools.cached_property
    def _physics(self) -> Physics:
        return Physics(self._scene, self._dt)

    def advance(self, state: State, plan: Plan, terms: Kinematics, time: float) -> Outcome:
        """Return the plan, carried out; forces from outside end with the step."""
        if not plan.possible:
            return self._physics.carry_out(state, plan, time)
        qpos, qvel = integrate(self._model, state.qpos, state.qvel, plan.qacc, self._dt)
        touching = Touching(plan.contacts, plan.wrenches)
        after = State(time, qpos, qvel, self._nothing, plan.memory._replace(felt=touching))
        return Outcome(after, plan.qacc, plan.tau, touching, plan.qfrc_contact, self._nothing, (), plan.conflicts, plan)

    def checkpoint(self) -> None:
        """Return nothing: all is in the state."""

    def restore(self, data: None) -> None:
        """Continue."""
