"""Footstep plans: where each foot goes, along a straight, curved or sideways way, on the ground, a beam or stairs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from interplay.errors import InputError, number, pick
from interplay.objectives.reference import Sample, minimum_jerk, out_and_back
from interplay.scene.scene import GROUND

if TYPE_CHECKING:
    from interplay.simulation import Simulation

SIDES = ("left", "right")
_IN_LINE = 0.02
"""Feet nearer to each other than this across the way [m] cannot stand side by side."""


class Footprint(NamedTuple):
    """Where a sole stands: its side, centre (3,) [m], heading [rad] and the surface under it."""

    side: str
    place: np.ndarray
    heading: float
    surface: str


_USUAL = {
    "static": {"stride": 0.25, "swing": 0.9, "double": 1.1, "lower": 0.05},
    "preview": {"stride": 0.36, "swing": 0.58, "double": 0.18, "lower": 0.06},
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
            "swing": (0.2, 5.0),
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
    """Return where a character's soles are, and on what."""
    out = {}
    for side in SIDES:
        name = f"{model}/{side}_sole"
        site, contact = sim.scene.site(name), sim.contacts.find(name)
        forward = sim.terms.site_xmat[site].reshape(3, 3)[:, 0]
        surface = contact.second.name if contact.first.name == name else contact.first.name
        out[side] = Footprint(
            side, sim.terms.site_xpos[site].copy(), float(np.arctan2(forward[1], forward[0])), surface
        )
    return out


def heading(feet: Mapping[str, Footprint]) -> float:
    """Return the heading [rad] between that of the two feet."""
    left, right = feet["left"].heading, feet["right"].heading
    return left + 0.5 * ((right - left + np.pi) % (2 * np.pi) - np.pi)


def footsteps(
    sim: Simulation, model: str, steps: int, gait: Gait, first: str, surfaces: str | Sequence[str] = GROUND
) -> list[Footprint]:
    """Return the footprints of a walk from where a character stands; the last step brings the feet side by side.

    In line (``width`` 0, on a beam) the last step is like the others. ``surfaces`` is what they step on: one surface, or one
    for each step; each must be level.
    """
    number("walk steps", steps, 1, 1000)
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
    out: list[Footprint] = []
    for k in range(steps):
        side = first if k % 2 == 0 else other_side(first)
        sign = 1.0 if side == "left" else -1.0
        if k < steps - 1 or width < _IN_LINE:
            # Aside, the foot on that side goes first and the other one follows.
            aside = gait.sideways if gait.sideways * sign > 0 else 0.0
            middle = middle + _turned((gait.stride, aside), yaw + 0.5 * gait.turn)
            yaw += gait.turn
        place = middle + _turned((0.0, 0.5 * sign * width), yaw)
        height = sim.terms.site_xpos[sim.scene.site(surfaces[k])][2]
        out.append(Footprint(side, np.array([*place, height]), yaw, surfaces[k]))
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
        self._start, self._end, self._begin, self._gait = start, end, begin, gait
        turn = end.heading - start.heading
        self._turn = (turn + np.pi) % (2 * np.pi) - np.pi
        # Climbing, the foot is up before it goes forward; going down, it goes forward first.
        rise = end.place[2] - start.place[2]
        self._early, self._late = (0.0, 0.35) if rise > _LEVEL else (0.35, 0.0) if rise < -_LEVEL else (0.0, 0.0)
        # Round a standing leg, it is aside before it comes beside that, and comes back behind it.
        self._wait = 0.15 if gait.aside > 0 else 0.0

    def at(self, time: float) -> Sample:
        """Return pose (7,), twist and its derivative (world axes)."""
        gait, T = self._gait, self._gait.swing
        s = (time - self._begin) / T
        wait = self._wait
        f, h = _stretched(s, self._late + wait, self._early + wait, T), _stretched(s, self._early, self._late, T)
        aside = [out - back for out, back in zip(_stretched(s, 0.0, 0.55, T), _stretched(s, 0.55, 0.0, T), strict=True)]
        up = [x / T**k for k, x in enumerate(out_and_back(s))]
        way, level = self._end.place - self._start.place, self._start.heading
        forward = np.array([np.cos(level), np.sin(level), 0.0])
        outward = np.array([-forward[1], forward[0], 0.0]) * (1.0 if self._end.side == "left" else -1.0)
        p, v, a = (
            (self._start.place if k == 0 else 0.0)
            + np.array([f[k] * way[0], f[k] * way[1], h[k] * way[2]])
            + gait.clearance * up[k] * _UP
            + gait.aside * aside[k] * outward
            for k in range(3)
        )
        yaw = [level * (k == 0) + x * self._turn for k, x in enumerate(f)]
        # Down in the first half and up, less, in the second: 64 s³(1 − s)³ (1 − 1.6 s).
        slope = 1.0 - 1.6 * s
        pitch = [
            gait.toe * x for x in (up[0] * slope, up[1] * slope - 1.6 * up[0] / T, up[2] * slope - 3.2 * up[1] / T)
        ]
        axis = np.array([-np.sin(yaw[0]), np.cos(yaw[0]), 0.0])
        swing = np.array([-np.cos(yaw[0]), -np.sin(yaw[0]), 0.0])  # ẑ × axis
        turning = yaw[1] * _UP + pitch[1] * axis
        speeding = yaw[2] * _UP + pitch[2] * axis + yaw[1] * pitch[1] * swing
        return Sample(
            np.concatenate([p, _sole(yaw[0], pitch[0])]), np.concatenate([v, turning]), np.concatenate([a, speeding])
        )


_UP = np.array([0.0, 0.0, 1.0])
_LEVEL = 0.02


def _stretched(s: float, before: float, after: float, T: float) -> list[float]:
    """Return minimum jerk that waits for parts of the time before and after, with its derivatives by time."""
    length = 1.0 - before - after
    return [x / (length * T) ** k for k, x in enumerate(minimum_jerk((s - before) / length))]


def _sole(yaw: float, pitch: float) -> np.ndarray:
    """Return the quaternion of a sole (z down) with a heading and turned by ``pitch``, toe down."""
    a, b = yaw / 2, pitch / 2
    # Rz(yaw) Ry(pitch) Rx(π)
    return np.array(
        [
            np.sin(a) * np.sin(b),
            np.cos(a) * np.cos(b),
            np.sin(a) * np.cos(b),
            -np.cos(a) * np.sin(b),
        ]
    )
