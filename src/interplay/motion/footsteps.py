"""Footstep plans: where each foot goes, along a straight, curved or sideways way, on the ground, a beam or stairs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numba
import numpy as np

from interplay.errors import InputError, number, pick
from interplay.maths.steps import minimum_jerk, out_and_back
from interplay.objectives.reference import Sample
from interplay.scene.scene import GROUND

if TYPE_CHECKING:
    from interplay.simulation import Simulation

SIDES = ("left", "right")
_IN_LINE = 0.02
"""Feet nearer to each other than this across the way [m] cannot stand side by side."""


class Footprint(NamedTuple):
    """Where a sole stands: its side, centre (3,) [m] and heading [rad]."""

    side: str
    place: np.ndarray
    heading: float


_USUAL = {
    "static": {"stride": 0.25, "swing": 0.9, "double": 1.1, "lower": 0.05},
    "preview": {"stride": 0.36, "swing": 0.56, "double": 0.16, "lower": 0.06},
}
"""What a style takes where nothing is given. Soles stay flat until they lift: a longer stride needs bent knees."""


@dataclass(frozen=True)
class Gait:
    """How to walk; stride, times and ``lower`` depend on the style where they are not given.

    Args:
        stride: how far each step goes forward [m].
        sideways: how far two steps go to the left [m].
        turn: how far each step turns to the left [rad].
        width: distance of the feet across the way [m]; None: as they stand. 0 on a beam.
        swing: seconds a foot is in the air.
        double: seconds both feet are on the ground between two steps.
        clearance: how high the swinging sole is lifted over the higher of its two places [m].
        aside: how far the swinging foot goes round the standing leg [m].
        toe: how far the foot points down after lifting and up before landing [rad].
        arm_swing: how far the arms swing against the legs [rad].
        lower: how far the centre of mass goes down while walking, so that the knees keep their bend [m].
        style: ``static``, the centre of mass is shifted over the standing foot before the other one lifts (vaillant2017);
            ``preview``, it runs ahead of the feet as a pendulum does.
    """

    stride: float = None  # type: ignore[assignment]  # filled in by the style
    sideways: float = 0.0
    turn: float = 0.0
    width: float | None = None
    swing: float = None  # type: ignore[assignment]
    double: float = None  # type: ignore[assignment]
    clearance: float = 0.05
    aside: float = 0.0
    toe: float = 0.25
    arm_swing: float = 0.3
    lower: float = None  # type: ignore[assignment]
    style: str = "preview"

    def __post_init__(self) -> None:
        """Fill in the times of the style; refuse what nobody can walk."""
        for name, usual in pick("Gait style", self.style, _USUAL).items():
            if getattr(self, name) is None:
                object.__setattr__(self, name, usual)
        bounds = {
            "stride": (-1.0, 1.2),
            "sideways": (-0.5, 0.5),
            "turn": (-0.8, 0.8),
            "swing": (0.05, 5.0),
            "double": (0.04, 5.0),
            "clearance": (0.005, 0.5),
            "aside": (0.0, 0.4),
            "toe": (0.0, 1.0),
            "arm_swing": (0.0, 1.2),
            "lower": (-0.05, 0.3),
        }
        for name, (low, high) in bounds.items():
            number(f"Gait {name}", getattr(self, name), low, high)
        if self.width is not None:
            number("Gait width", self.width, 0.0, 0.8, "m")


def standing(sim: Simulation, model: str) -> dict[str, Footprint]:
    """Return where a character's soles are."""
    out = {}
    for side in SIDES:
        site = sim.scene.site(f"{model}/{side}_sole")
        forward = sim.terms.site_xmat[site].reshape(3, 3)[:, 0]
        out[side] = Footprint(side, sim.terms.site_xpos[site].copy(), float(np.arctan2(forward[1], forward[0])))
    return out


def heading(feet: Mapping[str, Footprint]) -> float:
    """Return the heading [rad] between that of the two feet."""
    left, right = feet["left"].heading, feet["right"].heading
    return left + 0.5 * ((right - left + np.pi) % (2 * np.pi) - np.pi)


def footsteps(
    sim: Simulation,
    model: str,
    steps: int,
    gait: Gait,
    first: str,
    surfaces: str | Sequence[str] = GROUND,
    pivot: np.ndarray | None = None,
) -> list[Footprint]:
    """Return the footprints of a walk from where a character stands; the last step brings the feet side by side.

    In line (``width`` 0, on a beam) the last step is like the others. ``surfaces`` is what they step on: one surface, or one
    for each step; each must be level. ``pivot`` (2,) is the point [m] that goes the gait's way, by default between the feet: who
    stands beside it goes round it where the gait turns.
    """
    pick("first side", first, dict.fromkeys(SIDES))
    surfaces = one_for_each(surfaces, steps)
    stand = standing(sim, model)
    yaw = heading(stand)
    middle = 0.5 * (stand["left"].place + stand["right"].place)[:2]
    width = gait.width
    if width is None:
        width = float(_turned((stand["left"].place - stand["right"].place)[:2], -yaw)[1])
    # The way is counted from the foot that stays: two feet in line stand before and behind the middle.
    ahead = _turned(stand[other_side(first)].place[:2] - middle, -yaw)[0]
    middle = middle + _turned((ahead, 0.0), yaw)
    pivot = middle if pivot is None else pivot
    arm, first_yaw = middle - pivot, yaw
    out: list[Footprint] = []
    for k in range(steps):
        side = first if k % 2 == 0 else other_side(first)
        sign = 1.0 if side == "left" else -1.0
        if k < steps - 1 or width < _IN_LINE:
            # Aside, the foot on that side goes first and the other one follows.
            aside = gait.sideways if gait.sideways * sign > 0 else 0.0
            pivot = pivot + _turned((gait.stride, aside), yaw + 0.5 * gait.turn)
            yaw += gait.turn
        place = pivot + _turned(arm, yaw - first_yaw) + _turned((0.0, 0.5 * sign * width), yaw)
        height = sim.terms.site_xpos[sim.scene.site(surfaces[k])][2]
        out.append(Footprint(side, np.array([*place, height]), yaw))
    return out


def one_for_each(surfaces: str | Sequence[str], steps: int) -> Sequence[str]:
    """Return a surface for each step, of one or as many."""
    if isinstance(surfaces, str):
        return [surfaces] * steps
    if len(surfaces) != steps:
        raise InputError(f"walk: expected one surface, or one for each of {steps} steps, got {len(surfaces)}")
    return surfaces


def other_side(side: str) -> str:
    """Return the other one of left and right."""
    return "right" if side == "left" else "left"


def _turned(v: Sequence[float] | np.ndarray, angle: float) -> np.ndarray:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([c * v[0] - s * v[1], s * v[0] + c * v[1]])


class Swing:
    """The pose of a sole from one footprint to the next: up first, over, toe down and then up, flat when it lands."""

    full: ClassVar[bool] = True

    def __init__(self, start: Footprint, end: Footprint, begin: float, gait: Gait):
        """Take both places, the time it begins and the gait."""
        self._end, self._gait = end, gait
        self._begin, self._seconds = begin, gait.swing
        self.lift(start)

    def lift(self, start: Footprint) -> None:
        """Let it begin elsewhere: where the foot has really landed."""
        end, gait = self._end, self._gait
        turn = (end.heading - start.heading + np.pi) % (2 * np.pi) - np.pi
        outward = _turned((0.0, gait.aside if end.side == "left" else -gait.aside), start.heading)
        # Climbing, the foot is up before it goes forward; going down, it goes forward first.
        rise = end.place[2] - start.place[2]
        early, late = (0.0, 0.35) if rise > _LEVEL else (0.35, 0.0) if rise < -_LEVEL else (0.0, 0.0)
        # Round a standing leg, it is aside before it comes beside that, and comes back behind it.
        wait = 0.15 if gait.aside > 0 else 0.0
        self._waits = np.array([late + wait, early + wait, early, late])
        self._way = start.place.copy(), end.place - start.place, np.array([*outward, gait.clearance])
        self._angles = np.array([start.heading, turn, gait.toe])

    def at(self, time: float) -> Sample:
        """Return pose (7,), twist and its derivative (world axes)."""
        return Sample(
            *_swing((time - self._begin) / self._seconds, self._seconds, self._waits, *self._way, self._angles)
        )


_LEVEL = 0.02
"""Places whose heights differ by less [m] are level."""


@numba.njit(cache=True)
def _stretched(s, before, after, T, out):
    """Write minimum jerk that waits for parts of the time before and after, with its derivatives by time (3,)."""
    length = 1.0 - before - after
    f, df, ddf = minimum_jerk((s - before) / length)
    out[0], out[1], out[2] = f, df / (length * T), ddf / (length * T) ** 2


@numba.njit(cache=True)
def _swing(s, T, waits, start, way, over, angles):
    """Return pose, twist and its derivative at the part s of a swing of T seconds."""
    level, turn, toe = angles[0], angles[1], angles[2]
    steps, moved = np.empty((5, 3)), np.empty((3, 3))
    forward, rise, out, back, up = steps[0], steps[1], steps[2], steps[3], steps[4]
    _stretched(s, waits[0], waits[1], T, forward)
    _stretched(s, waits[2], waits[3], T, rise)
    _stretched(s, 0.0, 0.55, T, out)
    _stretched(s, 0.55, 0.0, T, back)
    g, dg, ddg = out_and_back(s)
    up[0], up[1], up[2] = g, dg / T, ddg / T**2
    for k in range(3):
        aside = out[k] - back[k]
        moved[k, 0] = forward[k] * way[0] + aside * over[0]
        moved[k, 1] = forward[k] * way[1] + aside * over[1]
        moved[k, 2] = rise[k] * way[2] + up[k] * over[2]
    pose, twist, rate = np.empty(7), np.empty(6), np.empty(6)
    for i in range(3):
        pose[i], twist[i], rate[i] = start[i] + moved[0, i], moved[1, i], moved[2, i]
    # Toe down in the first half and up, less, in the second: 64 s³(1 − s)³ (1 − 1.6 s).
    slope = 1.0 - 1.6 * s
    pitch, dpitch = toe * up[0] * slope, toe * (up[1] * slope - 1.6 * up[0] / T)
    ddpitch = toe * (up[2] * slope - 3.2 * up[1] / T)
    yaw, dyaw, ddyaw = level + forward[0] * turn, forward[1] * turn, forward[2] * turn
    c, n = np.cos(yaw), np.sin(yaw)
    # Rz(yaw) Ry(pitch) Rx(π): a sole has z down.
    ca, sa, cb, sb = np.cos(yaw / 2), np.sin(yaw / 2), np.cos(pitch / 2), np.sin(pitch / 2)
    pose[3], pose[4], pose[5], pose[6] = sa * sb, ca * cb, sa * cb, -ca * sb
    # ω = ψ' ẑ + θ' y with y = (−sin ψ, cos ψ, 0), which itself turns by ψ' ẑ × y.
    twist[3], twist[4], twist[5] = -dpitch * n, dpitch * c, dyaw
    rate[3], rate[4], rate[5] = -ddpitch * n - dyaw * dpitch * c, ddpitch * c - dyaw * dpitch * n, ddyaw
    return pose, twist, rate
