"""The base of every objective: w‖ẍ − ẍ^d‖² with ẍ^d = −k(x − x_ref) − 2√k(ẋ − ẋ_ref) + ẍ_ref, (32)-(34)."""

from __future__ import annotations

import itertools
from typing import Any, ClassVar, NamedTuple

import numpy as np

from interplay.constraints.contact import smooth
from interplay.errors import InputError, number
from interplay.scene.kinematics import Kinematics
from interplay.scene.scene import Scene

FADE = 0.4
"""Seconds over which a phase's objectives hand over to the next one's, and contacts take up or give up their load, by default."""

_ids = itertools.count()


class Feature(NamedTuple):
    """A feature at one state, over the objective's DOFs: x ⊖ x_ref, ẋ − ẋ_ref, Jacobian (k, n), J̇q̇ − ẍ_ref."""

    error: np.ndarray
    velocity: np.ndarray
    jacobian: np.ndarray
    bias: np.ndarray


class Objective:
    """Subclasses say which DOFs a feature moves with (``bind``) and what it is at a state (``feature``)."""

    dofs: np.ndarray
    """DOFs the feature depends on, ascending; set by ``bind``."""
    dim: int
    """Number of rows of the feature; set by ``bind``."""
    diagonal: ClassVar[bool] = False
    """Whether the feature selects single DOFs, so that its cost is diagonal (``Cost.add_diagonal``)."""

    def __init__(
        self,
        weight: float,
        stiffness: float,
        damping: float | None = None,
        max_speed: float | None = None,
        name: str | None = None,
    ):
        """Take weight w, stiffness k [1/s²], damping [1/s] (2√k if not given) and the speed [feature/s] the pull is limited to."""
        kind = type(self).__name__
        self.weight = number(f"{kind} weight", weight, 0, 1e9)
        self.stiffness = number(f"{kind} stiffness", stiffness, 0, 1e6, "1/s²")
        self.damping = (
            2.0 * np.sqrt(self.stiffness) if damping is None else number(f"{kind} damping", damping, 0, 1e6, "1/s")
        )
        self.max_speed = (
            np.inf if max_speed is None or max_speed == np.inf else number(f"{kind} max_speed", max_speed, 1e-6)
        )
        self.name = name or f"{kind.lower()}{next(_ids)}"
        self.fades: tuple[tuple[float, float, float, float], ...] = ()
        """For each phase that owns this objective, when it takes it up and over how many seconds, when it lets it go and over
        how many; none: always in force."""
        self._bound: Scene | None = None

    def bind(self, scene: Scene) -> None:
        """Find ids and DOFs in a scene; called once before the first step."""
        raise TypeError(f"{type(self).__name__} does not define bind()")

    def feature(self, terms: Kinematics, time: float) -> Feature:
        """Return the feature at the present state."""
        raise TypeError(f"{type(self).__name__} does not define feature()")

    def attach(self, scene: Scene) -> None:
        """Bind to a scene; an objective belongs to one simulation."""
        if self._bound is None:
            self.bind(scene)
            self._bound = scene
        elif self._bound is not scene:
            raise InputError(
                f"the objective {self.name!r} belongs to another simulation: make a new one for this scene"
            )

    def level(self, time: float) -> float:
        """Return the part of the weight in force at a time: phases hand their objectives over smoothly."""
        total = 0.0 if self.fades else 1.0
        for rise, rising, fall, falling in self.fades:
            if rise + rising <= time < fall:
                return 1.0
            total += smooth((time - rise) / rising) * (1.0 - smooth((time - fall) / falling))
        return min(total, 1.0)

    def weight_at(self, terms: Kinematics, time: float) -> float:
        """Return the weight in force at a state and time."""
        return self.weight * self.level(time)

    def add_to(self, terms: Kinematics, time: float, cost: Any) -> None:
        """Add this objective's quadratic cost; ``cost`` is the controller's :class:`interplay.control.cost.Cost`."""
        cost.add(self, self.weight_at(terms, time), self.feature(terms, time))

    def error(self, terms: Kinematics, time: float) -> np.ndarray:
        """Return x ⊖ x_ref at the present state."""
        return self.feature(terms, time).error
