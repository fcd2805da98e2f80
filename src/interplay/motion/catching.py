"""Where to step so as not to fall: the capture point, where it will be, and the path of a foot that is led there.

Standing on one foot and pressing at p, the capture point ξ = c + ċ/ω (ω² = g/h) runs away as ξ(t) = p + (ξ − p) e^{ωt} (the linear
inverted pendulum). A foot that lands where it will be stops her. Lengths are those of a body whose centre of mass is a metre high.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from interplay.maths.hull import convex_hull
from interplay.maths.rotations import turned
from interplay.motion.footsteps import Footprint, Gait, Swing, other_side, standing
from interplay.motion.touchdown import SEEKS
from interplay.objectives.balance import drawn_in, outside, support
from interplay.objectives.reference import Sample

if TYPE_CHECKING:
    from interplay.simulation import Simulation

SWING, QUICKEST = 0.23, 0.2
"""Seconds of a swing that catches her, and the least of any body."""
REACH_AHEAD, REACH_BACK, REACH_ASIDE, NARROWEST = 0.7, 0.6, 0.75, 0.17
"""How far from the standing foot the other one may land [m]: before, behind, to its own side at most and at least."""
BEYOND, OFF_EDGES = 0.05, 0.01
"""How far beyond where she will come to rest the foot is put [m]; how far from the edges of the other one she presses meanwhile [m]."""
MARGIN = 0.03
"""How far inside the support the capture point should be when a foot that goes back has landed [m]."""
CLEARANCE, LOW_CLEARANCE = 0.06, 0.04
"""How high a foot is lifted that catches her, and one that goes back [m]."""
SINK = 0.015
"""How far below the ground a foot is led [m] that lands when it feels it: it meets it on its way, not hovering a few millimetres above."""


class Capture(NamedTuple):
    """Where she would come to rest if she put a foot there at once (2,) [m], ω [1/s], the height of her centre of mass [m]."""

    point: np.ndarray
    rate: float
    height: float


def capture(sim: Simulation, model: str, on: str) -> Capture:
    """Return a character's capture point, seen from what she stands on, which may move."""
    soles = [f"{model}/left_sole", f"{model}/right_sole"]
    place, velocity = sim.com(model)
    height = max(float(place[2] - sim.middle(*soles)[2]), 0.1)
    rate = math.sqrt(sim.scene.gravity / height)
    return Capture(place[:2] + (velocity - moving(sim, model, on))[:2] / rate, rate, height)


def swing_seconds(seen: Capture) -> float:
    """Return how long a swing takes that catches her [s]: legs are pendulums."""
    return max(SWING * math.sqrt(seen.height), QUICKEST)


def moving(sim: Simulation, model: str, on: str) -> np.ndarray:
    """Return the velocity (3,) [m/s] of what a character stands on, where she stands."""
    body = int(sim.scene.model.site_bodyid[sim.scene.site(on)])
    return sim.terms.motion(body, sim.middle(f"{model}/left_sole", f"{model}/right_sole")).velocity[:3]


def off(sim: Simulation, soles: Iterable[str], point: np.ndarray) -> float:
    """Return how far a point (2,) is out of the support of some soles [m]."""
    return float(np.linalg.norm(outside(support(sim.terms, [sim.scene.site(sole) for sole in soles]), point)))


def aim(sim: Simulation, model: str, on: str, side: str, seen: Capture, seconds: float) -> tuple[Footprint, float]:
    """Return where a foot should land in so many seconds, and by how much the capture point will be missed [m]."""
    stance, height = standing(sim, model)[other_side(side)], seen.height
    sole = support(sim.terms, [sim.scene.site(f"{model}/{stance.side}_sole")])
    there, away = _later(drawn_in(sole, OFF_EDGES * height), seen, seconds)
    sign, (c, s) = 1.0 if side == "left" else -1.0, (math.cos(stance.heading), math.sin(stance.heading))
    turn, length = np.array([[c, s], [-s, c]]), float(np.linalg.norm(away))
    wished = turn @ (there + (BEYOND / length * away if length > 0 else 0.0) - stance.place[:2])
    x, y = float(wished[0]), max(sign * float(wished[1]), NARROWEST * height)
    # An ellipse about the place beside the standing foot: nobody steps as far obliquely as both ways together.
    ahead, least = (REACH_AHEAD if x > 0 else REACH_BACK) * height, NARROWEST * height
    far = math.hypot(x / ahead, (y - least) / (REACH_ASIDE * height - least))
    if far > 1.0:
        x, y = x / far, least + (y - least) / far
    place = stance.place[:2] + turn.T @ np.array([x, sign * y])
    return landing(sim, model, on, Footprint(side, place, stance.heading), seconds), float(
        np.linalg.norm(place - there)
    )


def _later(pressed: np.ndarray, seen: Capture, seconds: float) -> tuple[np.ndarray, np.ndarray]:
    """Return where the capture point will be while she presses within a polygon, as near as she can, and how far out it is now."""
    away = outside(pressed, seen.point)
    return seen.point - away + away * math.exp(seen.rate * max(seconds, 0.0)), away


def caught(sim: Simulation, model: str, end: Footprint, seen: Capture, seconds: float) -> float:
    """Return how far inside the support the capture point will be [m] when a foot has gone to its place in so many seconds.

    Below 0: outside.
    """
    stance = sim.scene.site(f"{model}/{other_side(end.side)}_sole")
    sole = support(sim.terms, [stance])
    there, _ = _later(sole, seen, seconds)
    half, turn = sim.scene.model.site_size[stance], end.heading
    axes = np.array([[math.cos(turn), math.sin(turn)], [-math.sin(turn), math.cos(turn)]])
    corners = np.array([(a * half[0], b * half[1]) for a in (-1, 1) for b in (-1, 1)]) @ axes + end.place[:2]
    hull = convex_hull(np.concatenate([sole, corners]))
    inward = drawn_in(hull, MARGIN * seen.height)
    return MARGIN * seen.height - float(np.linalg.norm(outside(inward, there)))


def landing(sim: Simulation, model: str, on: str, wished: Footprint, seconds: float) -> Footprint:
    """Return where a footprint (2,) on what she stands on will be in so many seconds: it may move."""
    place = wished.place[:2] + seconds * moving(sim, model, on)[:2]
    return Footprint(wished.side, np.array([*place, level(sim, on, wished.place[:2])]), wished.heading)


def seen_from(sim: Simulation, on: str, foot: Footprint) -> Footprint:
    """Return a footprint of the world in the frame of a surface, which may move."""
    origin, R, yaw = _frame(sim, on)
    return Footprint(foot.side, R.T @ (foot.place - origin), foot.heading - yaw)


def put_on(sim: Simulation, on: str, foot: Footprint) -> Footprint:
    """Return in the world what is given in the frame of a surface."""
    origin, R, yaw = _frame(sim, on)
    return Footprint(foot.side, origin + R @ foot.place, foot.heading + yaw)


def _frame(sim: Simulation, on: str) -> tuple[np.ndarray, np.ndarray, float]:
    """Return origin, axes and heading [rad] of a surface."""
    site = sim.scene.site(on)
    R = sim.terms.site_xmat[site].reshape(3, 3)
    return sim.terms.site_xpos[site], R, math.atan2(R[1, 0], R[0, 0])


def level(sim: Simulation, on: str, place: np.ndarray) -> float:
    """Return the height [m] of a surface, which may be tilted, at a place (2,)."""
    site = sim.scene.site(on)
    origin, normal = sim.terms.site_xpos[site], sim.terms.site_xmat[site].reshape(3, 3)[:, 2]
    return float(origin[2] - normal[:2] @ (place - origin[:2]) / max(float(normal[2]), 0.1))


class Step(NamedTuple):
    """A step under way: which foot, from where, since when [s], for how long [s], and whether it catches her or goes back.

    ``goal`` is where it goes back to, seen from the standing foot, in world axes; ``lunging``: it begins in a lunge.
    """

    side: str
    start: Footprint
    begin: float
    seconds: float
    catching: bool
    goal: Footprint
    lunging: bool = False


class Aimed:
    """The pose of a swinging sole, parallel to what it lands on; where it ends may change."""

    full: ClassVar[bool] = True

    def __init__(self, step: Step, end: Footprint, slope: np.ndarray, sink: float):
        """Take the step, where it ends, the slope of the ground and how far below that the foot is led [m].

        A slope is the rotation vector (3,) that tilts what is level.
        """
        self._step, self._sink = step, sink
        self._gait = Gait(swing=step.seconds, clearance=CLEARANCE if step.catching else LOW_CLEARANCE, toe=0.1)
        self.aim(end, slope)

    def aim(self, end: Footprint, slope: np.ndarray) -> None:
        """Let it end elsewhere."""
        self.end, self.slope = end, slope
        below = end._replace(place=end.place - [0.0, 0.0, self._sink])
        self._swing = Swing(self._step.start, below, self._step.begin, self._gait)

    def at(self, time: float) -> Sample:
        """Return pose (7,), twist and its derivative; a foot that is late goes on downward."""
        late = max(time - self._step.begin - self._step.seconds, 0.0)
        sample = self._swing.at(time - late)
        sample.value[2] -= SEEKS * late
        if self.slope.any():
            sample.value[3:] = turned(self.slope, sample.value[3:])
        return sample


def slope(sim: Simulation, on: str) -> np.ndarray:
    """Return the rotation vector (3,) that tilts what is level to a surface."""
    normal = sim.terms.site_xmat[sim.scene.site(on)].reshape(3, 3)[:, 2]
    axis = np.array([-normal[1], normal[0], 0.0])
    size = float(np.linalg.norm(axis))
    return axis * (math.asin(min(size, 1.0)) / size) if size > 1e-9 else np.zeros(3)
