"""A room for a point: it stays inside a box with sides along the world's axes, by a velocity damper as joints have it (31)."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from interplay.constraints.base import GivesWay, Limit, LimitRows
from interplay.constraints.damper import approach_limit, braking_speed
from interplay.errors import InputError
from interplay.scene.frame import Frame
from interplay.scene.kinematics import Kinematics
from interplay.scene.scene import Scene

SECURITY, INFLUENCE = 0.002, 0.1
"""Distances d_s and d_i [m] of the damper; d_i is at most 15 % of the room."""

BRAKING, RETURN_SPEED = 20.0, 0.2
"""Deceleration [m/s²] that a point is trusted with; how fast [m/s] one that is outside is brought back."""

_NARROWEST = 0.02
"""A room is at least this wide [m]: ten times the distance kept to its sides."""


class KeepWithin(Limit):
    """A point of a body (a site, a body's frame or a model's root) stays between ``low`` and ``high`` (3,) [m], world axes.

    An infinite side is open. The point slows down before a side and rests 2 mm before it; one that is outside is brought back.
    """

    gives_way = GivesWay("within", 1, 1000.0, "m/s²")

    def __init__(self, frame: str, low: Any, high: Any, *, name: str | None = None):
        """Take the name of a site, body or model, and the corners of the room."""
        super().__init__(name)
        self.frame_name = frame
        self.low, self.high = _corner(f"KeepWithin {frame!r} low", low), _corner(f"KeepWithin {frame!r} high", high)
        if not ((self.low < np.inf) & (self.high > -np.inf) & (self.low + _NARROWEST <= self.high)).all():
            raise InputError(
                f"KeepWithin {frame!r}: expected low + {_NARROWEST:g} m ≤ high, got {self.low.tolist()} and {self.high.tolist()}"
            )

    def about(self) -> tuple[str, ...]:
        """Return the frame."""
        return (self.frame_name,)

    def bind(self, scene: Scene) -> None:
        """Find the frame."""
        self.frame = Frame.moving(scene, self.frame_name)
        self.dofs, self.dim = self.frame.chain, 3

    def rows(self, terms: Kinematics, time: float, dt: float) -> LimitRows:
        """Return the rows of the three axes: after the step, the point approaches no side faster than it can stop."""
        p = self.frame.pose(terms)[0]
        velocity, bias, jacobian = terms.point(self.frame.body, p)
        return LimitRows(jacobian[:3], *_room(self.low, self.high, p, velocity, bias, dt))

    def row_name(self, row: int) -> str:
        """Return the limit and the axis."""
        return f"{self.label} {'xyz'[row]}"


def _corner(what: str, value: Any) -> np.ndarray:
    """Return a corner (3,), of which sides may be infinite, or raise an error that names it."""
    try:
        corner = np.array(value, float).reshape(-1)
    except (TypeError, ValueError):
        corner = np.zeros(0)
    if corner.size != 3 or np.isnan(corner).any():
        raise InputError(f"{what}: expected 3 numbers [m], ±inf where it is open, got {value!r}")
    return corner


@numba.njit(cache=True)
def _room(low, high, p, velocity, bias, dt):
    """Return bounds (3,) on J q̈."""
    lower, upper = np.empty(3), np.empty(3)
    for i in range(3):
        influence, v = min(INFLUENCE, 0.15 * (high[i] - low[i])), velocity[i]
        lower[i] = (-_allowed(p[i] - low[i], -v, influence, dt) - v) / dt - bias[i]
        upper[i] = (_allowed(high[i] - p[i], v, influence, dt) - v) / dt - bias[i]
        lower[i] = min(lower[i], upper[i])  # beyond one side of a narrow room, that side counts
    return lower, upper


@numba.njit(cache=True)
def _allowed(distance, rate, influence, dt):
    """Return the largest speed of approach to a side.

    The damper's ξ is the speed from which braking ends within the zone: the two laws meet at its border, so that nothing need be
    remembered of how fast the point came in. Outside, it is brought back without being thrown.
    """
    reach = influence - SECURITY
    xi = min(braking_speed(reach, BRAKING, dt), 0.9 * reach / dt) if distance < influence else 0.0
    allowed = approach_limit(distance, xi, influence, SECURITY, BRAKING, dt)
    return max(allowed, -RETURN_SPEED, rate - BRAKING * dt) if distance < SECURITY else allowed
