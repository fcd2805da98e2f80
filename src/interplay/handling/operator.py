"""An operator's hands as data: declared as live controls, and, where nobody is there, led along a way, with a tremor and dropouts if wanted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from interplay.errors import InputError
from interplay.maths.rotations import quaternion_of, rotation, turn_from, turned
from interplay.maths.steps import minimum_jerk
from interplay.motion.controls import Control
from interplay.motion.targets import Target
from interplay.objectives.pose import pose_value

if TYPE_CHECKING:
    from interplay.simulation import Simulation

HANDS = ("left", "right")
RATE = 20.0
"""How often a hand's pose is told [1/s]."""
LOWEST, HIGHEST = 5.0, 11.0
"""Frequencies of a tremor [Hz]."""


class Waypoint(NamedTuple):
    """Where both hands are at a time: the middle between them (3,) [m], how that is turned about the vertical [rad], how far each is off [m]."""

    time: float
    middle: tuple[float, float, float]
    turn: float = 0.0
    apart: float = 0.2


class Manner(NamedTuple):
    """How steady an operator is."""

    tremor: float = 0.0
    """Root mean square of what hands tremble by [m]."""
    dropouts: float = 0.0
    """How often a second nothing is heard of the hands for up to half a second."""


STEADY = Manner()


def operator_hands(
    sim: Simulation, model: str, low: Sequence[float], high: Sequence[float], fastest: float = 1.5
) -> dict[str, Control]:
    """Declare the live controls that are an operator's hands, where the character's are, within bounds [m], and return them by side."""
    out = {}
    for side in HANDS:
        site = sim.scene.site(f"{model}/{side}_palm")
        pose = pose_value(sim.terms.site_xpos[site], quaternion_of(sim.terms.site_xmat[site].reshape(3, 3)))
        control = Control(
            f"{model} {side} hand",
            "pose",
            pose,
            low,
            high,
            max_speed=fastest,
            max_turn=2.0 * fastest,
            help=f"the operator's {side} hand",
        )
        out[side] = sim.live.add_control(control)
    return out


def lead_hands(
    sim: Simulation,
    model: str,
    ways: Sequence[Waypoint],
    fingers: Sequence[float],
    facing: Sequence[float] | None = None,
    manner: Manner = STEADY,
) -> None:
    """Lead an operator's hands along waypoints, smoothly from one to the next, as live input that is to come.

    ``fingers`` is where they point, ``facing`` where both palms look; None: at each other.
    """
    if [w.time for w in ways] != sorted({w.time for w in ways}):
        raise InputError(f"lead_hands {model!r}: expected waypoints at ascending times, got {[w.time for w in ways]}")
    tremors = {side: _tremor(sim.rng, manner.tremor) for side in HANDS}
    silent = _silences(sim.rng, ways[0].time, ways[-1].time, manner.dropouts)
    times = np.arange(ways[0].time, ways[-1].time + 0.5 / RATE, 1.0 / RATE)
    for side, sign in (("left", 1.0), ("right", -1.0)):
        palm = _palm(np.array(fingers, float), np.array((0.0, -sign, 0.0) if facing is None else facing, float))
        control = f"{model} {side} hand"
        begin = sim.live.controls[control].value
        known = [(w.time, _hand(w, sign, palm)) for w in ways]
        for time in times:
            if any(a < time < b for a, b in silent):
                continue
            pose = _between(begin, known, float(time))
            pose[:3] += tremors[side](float(time))
            sim.live.targets.append(Target(round(float(time), 4), control, pose))
    sim.live.targets.sort(key=lambda target: target.time)


def _hand(way: Waypoint, sign: float, palm: np.ndarray) -> np.ndarray:
    turn = np.array([0.0, 0.0, way.turn])
    across = sign * way.apart * np.array([-np.sin(way.turn), np.cos(way.turn), 0.0])
    return pose_value(np.array(way.middle) + across, turned(turn, quaternion_of(palm)))


def _palm(fingers: np.ndarray, facing: np.ndarray) -> np.ndarray:
    """Return the axes of a palm that looks somewhere, its fingers pointing as near to a direction as they can."""
    z = facing / np.linalg.norm(facing)
    x = fingers - (fingers @ z) * z
    x /= np.linalg.norm(x)
    return np.column_stack([x, np.cross(z, x), z])


def _between(begin: np.ndarray, known: Sequence[tuple[float, np.ndarray]], time: float) -> np.ndarray:
    """Return a pose on the way, at rest at each waypoint; the way to the first one begins a second before it."""
    points = [(known[0][0] - 1.0, begin), *known]
    for (a, one), (b, other) in pairwise(points):
        if time <= b:
            part = float(minimum_jerk(np.clip((time - a) / (b - a), 0.0, 1.0))[0])
            turn = turn_from(one[3:], rotation(other[3:]))
            return np.concatenate([one[:3] + part * (other[:3] - one[:3]), turned(part * turn, one[3:])])
    return points[-1][1].copy()


def _tremor(rng: np.random.Generator, size: float) -> Callable[[float], np.ndarray]:
    """Return what a hand is off at a time (3,) [m]: a few waves of random phase along each axis."""
    rates, phases = rng.uniform(LOWEST, HIGHEST, (3, 4)), rng.uniform(0.0, 2.0 * np.pi, (3, 4))
    scale = size / np.sqrt(2.0)  # four waves of amplitude a have a root mean square of a √2
    return lambda time: scale * np.sin(2.0 * np.pi * rates * time + phases).sum(axis=1)


def _silences(rng: np.random.Generator, begin: float, end: float, often: float) -> list[tuple[float, float]]:
    """Return when nothing is heard of the hands."""
    starts = rng.uniform(begin, end, rng.poisson(often * (end - begin)))
    return [(float(a), float(a + rng.uniform(0.1, 0.5))) for a in starts]
