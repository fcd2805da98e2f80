"""The rigid world: what the plan's torques lead to when bodies are rigid and contacts obey Coulomb's law.

Nothing of a plan is taken for granted but its torques, within the limits of their motors, and where contacts were meant to be:
accelerations and all wrenches follow from the coupled equation of motion (12) and Coulomb's law (:mod:`.physics`).
"""

from __future__ import annotations

from interplay.constraints.manner import EXACT
from interplay.control.plan import Plan
from interplay.control.state import State
from interplay.scene.kinematics import Kinematics
from interplay.scene.scene import Scene
from interplay.worlds.physics import Physics
from interplay.worlds.world import Outcome


class RigidWorld:
    """Exact contact of rigid bodies under given torques."""

    name = "rigid"
    finds_contacts = False
    keeps_substeps: bool | None = None
    manner = EXACT

    @staticmethod
    def prepared(scene: Scene, dt: float) -> Scene:
        """Return a scene of its own."""
        return scene.snapshot()

    def __init__(self, scene: Scene, dt: float):
        """Take the scene and the step [s]."""
        self._physics = Physics(scene, dt)

    def advance(self, state: State, plan: Plan, terms: Kinematics, time: float) -> Outcome:
        """Return what the plan's torques lead to."""
        return self._physics.carry_out(state, plan, time)

    def checkpoint(self) -> None:
        """Return nothing: all is in the state."""

    def restore(self, data: None) -> None:
        """Continue."""
