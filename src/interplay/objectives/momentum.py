"""Centroidal angular momentum of a model: kept near zero it calms the arms; a reference makes it turn."""

from __future__ import annotations

from typing import Any

import numpy as np

from interplay.objectives.base import Feature, Objective
from interplay.objectives.reference import Reference, as_reference
from interplay.scene.kinematics import Kinematics
from interplay.scene.scene import Scene


class AngularMomentum(Objective):
    """Angular momentum [kg·m²/s] of one tree about its own COM. It is a velocity-level feature: L̇^d = −damping (L − L_ref) + L̇_ref."""

    priority: int = 2

    def __init__(
        self,
        model: str,
        reference: Any = (0.0, 0.0, 0.0),
        *,
        weight: float = 0.01,
        damping: float = 5.0,
        name: str | None = None,
    ):
        """Take the model and its reference momentum (3,)."""
        super().__init__(weight, 0.0, damping, name=name)
        self.model = model
        self.reference: Reference = as_reference("AngularMomentum", reference, 3)

    def about(self) -> tuple[str, ...]:
        """Return the model."""
        return (self.model,)

    def bind(self, scene: Scene) -> None:
        """Find the tree."""
        self._tree = scene.trees(self.model)[0]
        self.dofs, self.dim = scene.rest.tree_dofs(self._tree), 3

    def feature(self, terms: Kinematics, time: float) -> Feature:
        """Return zero error, momentum as the velocity, the angular half of the centroidal matrix and its bias."""
        value, velocity, _ = self.reference.at(time)
        h, matrix, bias = terms.momentum(self._tree)
        return Feature(np.zeros(3), h[3:] - value, matrix[3:], bias[3:] - velocity)
