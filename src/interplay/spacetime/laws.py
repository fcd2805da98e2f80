"""Laws: what must hold in a problem, where its row and its warp take it. A new one is one more class.

Each says who, and when in warped time; it travels with the motion. To have it at a real time, say when that moment is (`AtTime`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from interplay.errors import InputError
from interplay.spacetime.blocks import INF, Block, Kernel
from interplay.spacetime.body import Point
from interplay.spacetime.ends import hold
from interplay.spacetime.part import Course, Part
from interplay.spacetime.problem import BEGIN, END, Stage, When

PERIOD = 1.0
"""Effort over all of a motion counts as if over so long [s], where it is not per second or per metre."""

ASKEW = 0.15
"""How far off where she heads a foot may point [rad]."""
FARTHEST = 1.5
"""How far from where it would be a hand can be asked to be [m]: beyond, nobody's steps and arms reach."""
BELOW = 1e-3
"""How far below the ground it can be asked to be [m]: on it, but for rounding."""


class Given(NamedTuple):
    """The state at a moment: coordinates and rates, up to what is free of its place (0, 1: x, y; 3: yaw)."""

    who: str
    when: When
    q: np.ndarray
    v: np.ndarray
    free: tuple[int, ...] = ()

    def __call__(self, stage: Stage) -> list[Block]:
        """Hold the knot."""
        knot = stage.knot(self.who, self.when)
        return [] if knot is None else hold(stage.parts[self.who], knot, self.q, self.v, free=self.free)


class Between(NamedTuple):
    """Bounds of some coordinates at a moment, or of their rates, unless its state is given."""

    who: str
    when: When
    coordinates: tuple[int, ...]
    low: Sequence[float] | float
    high: Sequence[float] | float
    rates: bool = False

    def __call__(self, stage: Stage) -> list[Block]:
        """Bound unknowns."""
        knot = stage.knot(self.who, self.when)
        part = stage.parts.get(self.who)
        if part is not None and knot is not None and knot not in part.given:
            _bound(stage, (part.v if self.rates else part.q)[knot][list(self.coordinates)], self.low, self.high)
        return []


class Heads(NamedTuple):
    """As a phase begins, unless its state is given, she heads somewhere, goes somewhere, and lands there [rad].

    Hips alone would only twist for a moment.
    """

    who: str
    when: When
    yaw: float
    way: float

    def __call__(self, stage: Stage) -> list[Block]:
        """Hold both."""
        knot, part = stage.knot(self.who, self.when), stage.parts.get(self.who)
        if knot is None or part is None or knot in part.given:
            return []
        for mine, (_, first, _) in zip(part.prints, part.stances, strict=True):
            if first == part.phase_of[min(knot, part.intervals - 1)]:
                _bound(stage, mine[2:], self.yaw - ASKEW, self.yaw + ASKEW)
        c, s = float(np.cos(self.way)), float(np.sin(self.way))
        where = [np.array([part.q[knot, 3], *part.v[knot, :2]])]
        name = f"heading of {self.who} at knot {knot}"
        return _equal(name, where, lambda y, _: ca.vertcat(y[0] - self.yaw, c * y[2] - s * y[1]), rows=2)


class AtTime(NamedTuple):
    """A moment comes so long after the beginning [s]."""

    who: str
    when: When
    seconds: float

    def __call__(self, stage: Stage) -> list[Block]:
        """Fix what the warp takes until there, of which part is in the window."""
        knot, part = stage.knot(self.who, self.when), stage.parts.get(self.who)
        if self.when == BEGIN:
            raise InputError(
                f"{self.who} at {self.seconds:g} s: this is as she begins, at 0 s; expected a later step, or the end"
            )
        if knot is None or part is None or knot == 0:
            return []
        window, role = stage.windows[self.who], stage.problem.roles[self.who]
        gone = sum(phase.seconds for phase in role.phases[: window.first])
        share = np.bincount(part.phase_of[:knot], minlength=len(part.phases)).astype(float)
        least, most = (float(share @ bound[part.rate]) for bound in (stage.unknowns.low, stage.unknowns.high))
        if not least <= self.seconds - gone <= most:
            raise InputError(
                f"{self.who} at {self.seconds:g} s: expected from {least + gone:.2f} to {most + gone:.2f} s: no more than that can "
                "what she does by then be hurried or drawn out"
            )

        def inner(y: Any, c: Any) -> tuple[Any, Any]:
            return 0, ca.dot(c[:-1], y) - c[-1]

        where, zero = part.rate[None], np.zeros((1, 1))
        constants = np.concatenate([share, [self.seconds - gone]])[None]
        name = f"{self.who} at {self.seconds:g} s"
        return [
            Block(Kernel("moment", len(share), len(share) + 1, inner), where, constants, zero, zero, lambda p, r: name)
        ]


class Lasts(NamedTuple):
    """A motion lasts so long [s]."""

    who: str
    seconds: float

    def __call__(self, stage: Stage) -> list[Block]:
        """Fix the moment of its end."""
        return AtTime(self.who, END, self.seconds)(stage)


class PerDistance(NamedTuple):
    """Effort counts per metre between the beginning and the end of what is free, along a heading [rad]; by default it counts per second."""

    who: str
    heading: float = 0.0

    def __call__(self, stage: Stage) -> list[Block]:
        """Add the distance, and divide by it."""
        part = stage.parts.get(self.who)
        if part is None:
            return []
        guess = stage.unknowns.guess
        ahead = np.array([np.cos(self.heading), np.sin(self.heading)])
        far = max(float(ahead @ (guess[part.q[-1, :2]] - guess[part.q[0, :2]])), 0.1)
        distance = stage.unknowns.add("distance", np.array([far]), 0.05, INF)
        part.over = distance
        return _equal(
            f"distance of {self.who}",
            [np.concatenate([distance, part.q[-1, :2], part.q[0, :2]])],
            lambda y, c: y[0] - ca.dot(ca.DM(ahead), y[1:3] - y[3:]),
            rows=1,
        )


class InAll(NamedTuple):
    """Effort counts as a whole, neither per second nor per metre: for motions whose ends are given."""

    who: str

    def __call__(self, stage: Stage) -> list[Block]:
        """Divide by what does not change."""
        part = stage.parts.get(self.who)
        if part is not None:
            part.over = stage.unknowns.add("period", np.array([PERIOD]), PERIOD, PERIOD)
        return []


class Reaches(NamedTuple):
    """A surface of hers, its middle, is at a place [m] at a moment, and still there, if it shall be."""

    who: str
    site: str
    when: When
    place: tuple[float, float, float]
    still: bool = False
    name: str = "reach"

    def __call__(self, stage: Stage) -> list[Block]:
        """Hold a point, or draw it by a spring."""
        knot = stage.knot(self.who, self.when)
        if knot is None:
            return []
        part, n = stage.parts[self.who], stage.parts[self.who].body.n
        point, stiffness = part.body.point(self.site), stage.stiffness(self.name)
        there = place_at(part, point, stage.unknowns.guess[part.q[knot]])
        where = f"{self.who}'s {self.site} at ({', '.join(f'{v:.2f}' for v in self.place)})"
        if self.place[2] < -BELOW:
            raise InputError(f"{where}: below the ground; expected a height of 0 m at least")
        if (far := float(np.linalg.norm(there - self.place))) > FARTHEST:
            raise InputError(
                f"{where}: {far:.1f} m from where it would be then, "
                f"({', '.join(f'{v:.2f}' for v in there)}); expected a place within {FARTHEST:g} m of that"
            )

        def inner(y: Any, c: Any) -> tuple[Any, Any]:
            place = _place(part, point, y[:n])
            off = place - c
            if stiffness is not None:
                return 0.5 * stiffness * ca.sumsqr(off), ca.SX(0, 1)
            speed = ca.jtimes(place, y[:n], y[n:])
            return 0, ca.vertcat(off, speed) if self.still else off

        where = np.concatenate([part.q[knot], part.v[knot]])[None]
        kernel = Kernel("reach", 2 * n, 3, inner)
        zero = np.zeros((1, kernel.rows))
        label = f"{self.who}'s {self.site} at its place"
        return [Block(kernel, where, np.array([self.place], float), zero, zero, lambda place, row: label)]


class Follows(NamedTuple):
    """Every knot is as near to some coordinates as it can be: what it costs to be off, for each (n,), per second.

    The course is that of the role as it begins, on whatever mesh: it travels with the warp.
    """

    who: str
    course: Course
    weights: np.ndarray
    ends: np.ndarray
    """Real times of the ends of phases in the course (P + 1,)."""

    def __call__(self, stage: Stage) -> list[Block]:
        """Add to the objective."""
        part = stage.parts.get(self.who)
        if part is None:
            return []
        first, n = stage.windows[self.who].first, part.body.n
        times = [self.ends[first]]
        for k, phase in enumerate(part.phases):
            times += list(np.linspace(self.ends[first + k], self.ends[first + k + 1], phase.intervals + 1)[1:])
        there = self.course.at(np.array(times), self.course.q)
        there[:, 6:] = np.clip(there[:, 6:], part.body.low, part.body.high)
        share = np.gradient(np.array(times)) / (times[-1] - times[0])

        def inner(y: Any, c: Any) -> tuple[Any, Any]:
            off = y - c[:n]
            return c[n] * ca.dot(ca.DM(self.weights) * off, off), ca.SX(0, 1)

        where, none = part.q, np.zeros((len(part.q), 0))
        constants = np.column_stack([there, share])
        return [Block(Kernel("follow", n, n + 1, inner), where, constants, none, none, lambda p, r: "")]


class Prints(NamedTuple):
    """Bounds of footprints [m]: of the stances of a foot in order (or of both feet's that stand from a phase on), x and y."""

    who: str
    phase: int
    low: tuple[float, float] = (-INF, -INF)
    high: tuple[float, float] = (INF, INF)
    side: str | None = None

    def __call__(self, stage: Stage) -> list[Block]:
        """Bound footprints of stances that include the phase."""
        part, window = stage.parts.get(self.who), stage.windows.get(self.who)
        if part is None or window is None:
            return []
        phase = (
            self.phase if self.phase >= 0 else len(stage.problem.roles[self.who].phases) + self.phase
        ) - window.first
        for mine, (side, first, end) in zip(part.prints, part.stances, strict=True):
            if first <= phase < end and self.side in (None, side):
                _bound(stage, mine[:2], self.low, self.high)
        return []


class OnTop(NamedTuple):
    """Feet that stand in a phase do so at a height [m]."""

    who: str
    phase: int
    height: float

    def __call__(self, stage: Stage) -> list[Block]:
        """Raise the ground under their stances."""
        part, window = stage.parts.get(self.who), stage.windows.get(self.who)
        if part is not None and window is not None:
            count = len(stage.problem.roles[self.who].phases)
            phase = (self.phase if self.phase >= 0 else count + self.phase) - window.first
            for k, (_, first, end) in enumerate(part.stances):
                if first <= phase < end:
                    part.ground[k] = self.height
        return []


class Within(NamedTuple):
    """A point of a surface of hers (in its half sizes) stays within bounds [m] from one moment until another."""

    who: str
    site: str
    offset: tuple[float, float, float]
    first: When
    last: When
    low: tuple[float, float, float] = (-INF, -INF, -INF)
    high: tuple[float, float, float] = (INF, INF, INF)

    def __call__(self, stage: Stage) -> list[Block]:
        """Bound its place at knots that are free."""
        part = stage.parts.get(self.who)
        first, last = stage.knot(self.who, self.first), stage.knot(self.who, self.last)
        if part is None or first is None or last is None:
            return []
        knots = [k for k in range(first, last + 1) if k not in part.given]
        point = part.body.point(self.site, self.offset)
        low, high = (np.tile(np.array(one, float), (len(knots), 1)) for one in (self.low, self.high))
        kernel = Kernel("within", part.body.n, 0, lambda y, c: (0, _place(part, point, y)))
        name = f"{self.who}'s {self.site} within its bounds"
        return [Block(kernel, part.q[knots], np.zeros((len(knots), 0)), low, high, lambda place, row: name)]


class Fixed(NamedTuple):
    """What is not free: timing, footprints, or both, stay as they begin."""

    who: str
    timing: bool = False
    footprints: bool = False

    def __call__(self, stage: Stage) -> list[Block]:
        """Pin unknowns to their guess."""
        part = stage.parts.get(self.who)
        if part is not None:
            for where in ([part.rate] if self.timing else []) + ([part.prints] if self.footprints else []):
                value = stage.unknowns.guess[where]
                stage.unknowns.low[where] = stage.unknowns.high[where] = value
        return []


def starts(who: str, q: np.ndarray, v: np.ndarray) -> Given:
    """Return that it begins in a state."""
    return Given(who, BEGIN, q, v)


def _bound(stage: Stage, where: np.ndarray, low: Any, high: Any) -> None:
    unknowns = stage.unknowns
    low, high = (np.broadcast_to(np.asarray(one, float), where.shape) for one in (low, high))
    unknowns.low[where] = np.maximum(unknowns.low[where], low)
    unknowns.high[where] = np.minimum(unknowns.high[where], high)
    unknowns.guess[where] = np.clip(unknowns.guess[where], low, high)


def _place(part: Part, point: Point, q: Any) -> Any:
    R, p = part.body.frames(q)[point.link]
    return p + R @ ca.DM(point.place)


def place_at(part: Part, point: Point, q: np.ndarray) -> np.ndarray:
    """Return where a point is (3,) [m] in some coordinates (n,)."""
    R, p = part.body.posed(point.link, q)
    return p + R @ point.place


def _equal(name: str, where: Sequence[np.ndarray], rows_of: Any, rows: int) -> list[Block]:
    """Return rows that are zero."""
    at, zero = np.array(where), np.zeros((len(where), rows))
    kernel = Kernel("equal", at.shape[1], 0, lambda y, c: (0, rows_of(y, c)))
    return [Block(kernel, at, np.zeros((len(at), 0)), zero, zero, lambda place, row: name)]
