"""Contact forces as an objective: how hard a hand presses, how a load is shared."""

from __future__ import annotations

from typing import Any

import numpy as np

from interplay.objectives.base import Objective
from interplay.objectives.reference import Reference, as_reference
from interplay.scene.kinematics import Kinematics
from interplay.scene.scene import Scene


class ContactForce(Objective):
    """Cost w‖f − f_ref‖² [1/N²] on the force (3,) ON a surface by its contact, in contact axes (z: into the surface)."""

    def __init__(
        self, surface: str, reference: Any = (0.0, 0.0, 0.0), *, weight: float = 1e-4, name: str | None = None
    ):
        """Take the surface and the wanted force; it counts only while that surface is in contact."""
        super().__init__(weight, 0.0, name=name)
        self.surface = surface
        self.reference: Reference = as_reference("ContactForce", reference, 3)

    def about(self) -> tuple[str, ...]:
        """Return the surface."""
        return (self.surface,)

    def bind(self, scene: Scene) -> None:
        """Check the surface; a force has no DOFs."""
        scene.site(self.surface)
        self.dofs, self.dim = np.zeros(0, np.int64), 0

    def add_to(self, terms: Kinematics, time: float, cost: Any) -> None:
        """Add the cost of the force."""
        cost.add_force(self.surface, self.weight * self.level(time), np.asarray(self.reference.at(time).value))

    def error(self, terms: Kinematics, time: float) -> np.ndarray:
        """Return nothing: a force is not a function of the state."""
        return np.zeros(0)
