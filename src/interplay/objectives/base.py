"""The base of every objective: w‖ẍ − ẍ^d‖² with ẍ^d = −k(x − x_ref) − 2√k(ẋ − ẋ_ref) + ẍ_ref, (32)-(34)."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np

from interplay.errors import number
from interplay.maths.steps import smooth_step
from interplay.scene.demand import Demand
from interplay.scene.kinematics import Kinematics

FADE = 0.4
"""Seconds over which a phase's objectives hand over to the next one's, and contacts take up or give up their load, by default."""


class Gains(NamedTuple):
    """Weight, stiffness [1/s²] and damping [1/s]; None leaves what an objective has of its own."""

    weight: float | None = None
    stiffness: float | None = None
    damping: float | None = None

    @classmethod
    def checked(cls, what: str, weight: Any, stiffness: Any, damping: Any) -> Gains:
        """Return gains as numbers inside their bounds, or raise an error that names them and what they are of."""
        given = {"weight": weight, "stiffness": stiffness, "damping": damping}
        return cls(**{name: None if value is None else _gain(what, name, value) for name, value in given.items()})

    def over(self, others: Gains) -> Gains:
        """Return these gains, and the others' where these leave one open."""
        return Gains(*(mine if mine is not None else other for mine, other in zip(self, others, strict=True)))


AS_DECLARED = Gains()
"""Every gain as the objective was made with."""


def _gain(what: str, name: str, value: Any) -> float:
    highest, unit = {"weight": (1e9, ""), "stiffness": (1e6, "1/s²"), "damping": (1e6, "1/s")}[name]
    return number(f"{what} {name}", value, 0, highest, unit)


class Feature(NamedTuple):
    """A feature at one state, over the objective's DOFs: x ⊖ x_ref, ẋ − ẋ_ref, Jacobian (k, n), J̇q̇ − ẍ_ref."""

    error: np.ndarray
    velocity: np.ndarray
    jacobian: np.ndarray
    bias: np.ndarray


class Effort(NamedTuple):
    """What an objective wants to push with, where forces are controlled (liu2012): it is the character's, on all else."""

    wrench: np.ndarray
    """W^d (k,) [N, N·m] …"""
    dofs: np.ndarray
    """… by which DOFs (n,) …"""
    jacobian: np.ndarray
    """… (k, n) …"""
    weight: float
    """… and the weight of what it is off [1/N²]."""
    most: np.ndarray
    """What it may be at most (k,) [N, N·m]."""
    leads: str = ""
    """The surface that it leads, if it does: no balance counts on what touches there."""


EFFORT = 100.0
"""How many times more a weight counts where forces are controlled: those of centre of mass, trunk and hands are then liu2012's 10⁴, 10³, 2·10³."""


class Objective(Demand):
    """Subclasses say which DOFs a feature moves with (``bind``) and what it is at a state (``feature``)."""

    what: ClassVar[str] = "objective"
    diagonal: ClassVar[bool] = False
    """Whether the feature selects single DOFs, so that its cost is diagonal (``Cost.add_diagonal``)."""
    priority: int = 1
    """Where priorities are strict (``controller="prioritised"``), objectives of a smaller number are served before all others."""
    yields: bool = True
    """Whether it gives way to the user's hand, as far as its stiffness allows, or holds against it."""

    def __init__(
        self,
        weight: float,
        stiffness: float,
        damping: float | None = None,
        max_speed: float | None = None,
        name: str | None = None,
    ):
        """Take weight w, stiffness k [1/s²], damping [1/s] (2√k if not given) and the speed [feature/s] the pull is limited to."""
        super().__init__(name)
        kind = type(self).__name__
        self.weight, self.stiffness = _gain(kind, "weight", weight), _gain(kind, "stiffness", stiffness)
        self.damping = 2.0 * np.sqrt(self.stiffness) if damping is None else _gain(kind, "damping", damping)
        self.max_speed = (
            np.inf if max_speed is None or max_speed == np.inf else number(f"{kind} max_speed", max_speed, 1e-6)
        )
        self._declared: tuple[float, float, float] | None = None
        self.fades: tuple[tuple[float, float, float, float], ...] = ()
        """For each phase that owns this objective, when it takes it up and over how many seconds, when it lets it go and over
        how many; none: always in force."""

    def adjust(self, gains: Gains) -> None:
        """Use some gains instead of its own, and its own where they leave one open.

        A damping that was critical, 2√k, follows the stiffness.
        """
        if self._declared is None and gains == AS_DECLARED:
            return
        own = self._declared = self._declared or (self.weight, self.stiffness, self.damping)
        self.weight, self.stiffness, self.damping = (
            given if given is not None else mine for given, mine in zip(gains, own, strict=True)
        )
        if gains.damping is None and own[2] == 2.0 * np.sqrt(own[1]):
            self.damping = 2.0 * np.sqrt(self.stiffness)

    def feature(self, terms: Kinematics, time: float) -> Feature:
        """Return the feature at the present state."""
        raise TypeError(f"{type(self).__name__} does not define feature()")

    @property
    def longest_dt(self) -> float:
        """The longest control step [s] at which it settles: with v⁺ = v − (k x + d v)Δt, x⁺ = x + v⁺Δt, as long as kΔt² + 2dΔt < 4."""
        k, d = self.stiffness, self.damping
        if k <= 0.0:
            return 2.0 / d if d > 0.0 else np.inf
        return float((np.sqrt(d * d + 4.0 * k) - d) / k)

    def level(self, time: float) -> float:
        """Return the part of the weight in force at a time: phases hand their objectives over smoothly."""
        total = 0.0 if self.fades else 1.0
        for rise, rising, fall, falling in self.fades:
            if rise + rising <= time < fall:
                return 1.0
            total += smooth_step((time - rise) / rising) * (1.0 - smooth_step((time - fall) / falling))
        return min(total, 1.0)

    def weight_at(self, terms: Kinematics, time: float) -> float:
        """Return the weight in force at a state and time."""
        return self.weight * self.level(time)

    def add_to(self, terms: Kinematics, time: float, cost: Any) -> None:
        """Add this objective's quadratic cost; ``cost`` is the controller's :class:`interplay.control.cost.Cost`."""
        cost.add(self, self.weight_at(terms, time), self.feature(terms, time))

    def effort(self, terms: Kinematics, time: float) -> Effort | None:
        """Return what it wants to push with, where forces are controlled; None: nothing, it is not heeded there."""
        return None

    def pulled(self, x: Feature, damping: float | None = None) -> np.ndarray:
        """Return −k(x − x_ref) − d(ẋ − ẋ_ref) (k,), where the former is limited so that it approaches no faster than ``max_speed``."""
        d = self.damping if damping is None else damping
        size, fastest = self.stiffness * float(np.sqrt(x.error @ x.error)), self.max_speed * self.damping
        return -self.stiffness * min(1.0, fastest / size if size > 0.0 else 1.0) * x.error - d * x.velocity

    def error(self, terms: Kinematics, time: float) -> np.ndarray:
        """Return x ⊖ x_ref at the present state."""
        return self.feature(terms, time).error

    def places(self, terms: Kinematics, time: float) -> tuple[np.ndarray, np.ndarray] | None:
        """Return where in the world (3,) [m] what it is about is, and where it should be; None without such a place."""
        return None
