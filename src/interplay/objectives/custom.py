"""Any feature of yours: a function of the state that returns (value, Jacobian, bias)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from interplay.errors import InputError
from interplay.objectives.base import Feature, Objective
from interplay.objectives.reference import Reference, as_reference
from interplay.scene.kinematics import Kinematics
from interplay.scene.scene import Scene


class Custom(Objective):
    """A user's feature x(q) of the named models.

    ``function(terms)`` returns the value (k,), the Jacobian (k, nv) over all DOFs of the scene, and the bias J̇q̇ (k,).
    """

    def __init__(
        self,
        function: Callable[[Kinematics], tuple[Any, Any, Any]],
        reference: Any,
        *models: str,
        weight: float = 10.0,
        stiffness: float = 20.0,
        max_speed: float | None = None,
        name: str | None = None,
    ):
        """Take the function, the reference (k numbers, a function of time or a reference) and the models whose DOFs it uses (none: all)."""
        super().__init__(weight, stiffness, max_speed=max_speed, name=name)
        self.function, self.models, self._given = function, models, reference

    def about(self) -> tuple[str, ...]:
        """Return the function's name and the models."""
        return getattr(self.function, "__name__", ""), "+".join(self.models)

    def bind(self, scene: Scene) -> None:
        """Call the function once and check what it returns."""
        trees = (
            sorted({t for name in self.models for t in scene.trees(name)}) if self.models else range(scene.model.ntree)
        )
        terms = scene.rest
        self.dofs = np.concatenate([terms.tree_dofs(t) for t in trees])
        value, jacobian, bias = (np.asarray(part, float) for part in self.function(terms))
        self.dim = value.size
        if jacobian.shape != (self.dim, scene.model.nv) or bias.size != self.dim:
            raise InputError(
                f"Custom {self.label!r}: expected value (k,), Jacobian (k, {scene.model.nv}) and bias (k,), "
                f"got shapes {value.shape}, {jacobian.shape}, {bias.shape}"
            )
        outside = np.delete(jacobian, self.dofs, axis=1)
        if outside.size and np.abs(outside).max() > 0:
            raise InputError(
                f"Custom {self.label!r}: the Jacobian uses DOFs of models that are not among {self.models}"
            )
        self.reference: Reference = as_reference(f"Custom {self.label!r}", self._given, self.dim)

    def feature(self, terms: Kinematics, time: float) -> Feature:
        """Return the user's feature."""
        value, jacobian, bias = (np.asarray(part, float) for part in self.function(terms))
        goal, velocity, acceleration = self.reference.at(time)
        J = np.ascontiguousarray(jacobian[:, self.dofs])
        return Feature(
            value.reshape(-1) - goal, J @ terms.qvel[self.dofs] - velocity, J, bias.reshape(-1) - acceleration
        )
