"""One character's part of a spacetime problem: motion, warp, footprints, torques and ground forces (liu2006, section 4).

A part is a row of phases, in each of which either foot swings, or stands on its heel's edge, flat, or on the edge of its toes. Between knots,
which are evenly spaced in warped time t̂, the motion is a cubic (values and velocities at the knots are unknowns); the equations of
motion (3) hold at two Gauss points of each interval, so that forces may jump where contacts change. The warp's rate h = dt/dt̂ is an
unknown of each phase: real time is linear in the unknowns, and whatever is asked at a knot travels with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from interplay.spacetime.blocks import INF, Block, Kernel, Unknowns
from interplay.spacetime.body import ROOT, SIDES, Body, Point
from interplay.spacetime.carrying import forces_taken
from interplay.spacetime.feet import CLEARANCE, FLAT, HEEL, SWING, TOE, feet_stand
from interplay.spacetime.limbs import limbs_apart

MIRRORED, AGAIN = "mirrored", "again"
GAUSS = (0.5 - 0.5 / np.sqrt(3.0), 0.5 + 0.5 / np.sqrt(3.0))
TORQUE, FORCE, WRENCH, PULL = 50.0, 300.0, 100.0, 50.0
"""Units of torques [N·m], of ground forces [N], of the root's rows [N, N·m] and of forces of others [N] in the program, whose numbers are
then near 1."""
SHRINKS, STRETCHES, SHORTEST, LONGEST = 0.3, 1.8, 0.006, 0.06
"""Bounds of an interval, of what it is at first, and at least and at most [s]: where one is stretched, the motion cheats between its points."""
OFF_STOPS = 0.02
"""How far from their stops joints stay at knots [rad]: between them they may come nearer."""
STRENGTH = 0.8
"""What motors give at most at points, of what they can: between them they may have to give more."""
FRICTION = 0.8
HALF = 0.6
"""What is no longer than half a cycle [s]: of longer parts changes of ground forces are counted per second, too."""
CORNERS = ((1, 1), (1, -1), (-1, 1), (-1, -1))
"""Of a sole: toes, then heel."""
CARRIES = {SWING: (), HEEL: (2, 3), FLAT: (0, 1, 2, 3), TOE: (0, 1)}
EDGES = ((2, 3), (0, 1))
"""Corners of the heel's edge and of the toes': shoes give by whole edges, as soles stay level sideways."""
SUNK = 0.01
"""Unit of how far edges of shoes sink [m] in the program."""


class Phase(NamedTuple):
    """So many intervals, about so many seconds long, how either foot stands, and what is minimised in it, if not what is in all its part."""

    intervals: int
    seconds: float
    left: str
    right: str
    manner: Style | None = None

    def mode(self, side: str) -> str:
        """Return how a foot stands."""
        return self.left if side == "left" else self.right


class Course(NamedTuple):
    """What a character does, over real time (T,) [s]: coordinates (T, n) and their rates.

    Torques (T, n − 6) [N·m], ground forces at the corners of both soles (T, 2, 4, 3) and forces of others at the points at which they
    pull (T, H, 3) [N], where they are known.
    """

    time: np.ndarray
    q: np.ndarray
    v: np.ndarray
    torque: np.ndarray | None = None
    force: np.ndarray | None = None
    pull: np.ndarray | None = None

    def at(self, times: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Return values that are given at each of its times at others."""
        flat = values.reshape(len(values), -1)
        found = np.stack([np.interp(times, self.time, column) for column in flat.T], axis=1)
        return found.reshape(len(times), *values.shape[1:])


class Tie(NamedTuple):
    """Coordinates that go together: the square of their weighted sum (by index) less a value costs so much."""

    parts: tuple[tuple[int, float], ...]
    value: float
    weight: float


class Style(NamedTuple):
    """What is minimised, per second.

    Squares of torques and of their rates, of ground forces and their changes, of what is off the rest posture, of speeds, of ties, and
    of how far the share of time in the air is from what is liked.
    """

    effort: np.ndarray
    haste: np.ndarray
    rest: np.ndarray
    posture: np.ndarray
    calm: np.ndarray
    ties: tuple[Tie, ...] = ()
    force: float = 0.002
    jerk: float = 0.004
    lift: float = CLEARANCE
    """How high heels are at least in the middle of a swing [m]."""
    airborne: tuple[float, float] = (0.0, 0.0)
    """What share of the time no foot stands, as it is liked, and what the square of the difference costs."""


class Part:
    """A character's unknowns and blocks in a problem."""

    def __init__(
        self,
        body: Body,
        phases: Sequence[Phase],
        style: Style,
        unknowns: Unknowns,
        begin: Course,
        pulled: Sequence[Point] = (),
    ):
        """Take the phases, a motion to begin with, and at which points others pull."""
        self.pulled = list(pulled)
        self.body, self.phases, self.style, self.unknowns = body, list(phases), style, unknowns
        self.manners = [phase.manner or style for phase in phases]
        """What is minimised in each phase."""
        n, counts = body.n, [phase.intervals for phase in phases]
        self.intervals = sum(counts)
        self.phase_of = np.repeat(np.arange(len(counts)), counts)
        """The phase of each interval."""
        pace = np.array([phase.seconds / phase.intervals for phase in phases])
        shortest = np.minimum(np.maximum(SHRINKS * pace, SHORTEST), pace)
        self.rate = unknowns.add("rates", pace, shortest, np.maximum(np.minimum(STRETCHES * pace, LONGEST), pace))
        times = self.times(unknowns.guess)
        low, high = np.full(n, -INF), np.full(n, INF)
        low[ROOT:], high[ROOT:] = body.low + OFF_STOPS, body.high - OFF_STOPS
        low[4:6], high[4:6] = -1.2, 1.2
        at_knots, inside = (
            begin.at(times, begin.q),
            np.clip(begin.at(times, begin.q)[:, ROOT:], low[ROOT:], high[ROOT:]),
        )
        at_knots[:, ROOT:] = inside
        self.q = unknowns.add("q", at_knots, low, high)
        fastest = np.concatenate([np.full(ROOT, INF), body.speed])
        self.v = unknowns.add("velocities", np.clip(begin.at(times, begin.v), -fastest, fastest), -fastest, fastest)
        points = 2 * self.intervals
        between = (times[:-1, None] + np.diff(times)[:, None] * np.array(GAUSS)).ravel()
        torque = np.zeros((points, n - ROOT)) if begin.torque is None else begin.at(between, begin.torque) / TORQUE
        strength = STRENGTH * body.torque / TORQUE
        self.tau = unknowns.add("torques", np.clip(torque, -strength, strength), -strength, strength)
        force, bound = np.zeros((points, 2, 4, 3)), np.zeros((points, 2, 4, 3))
        for p in range(points):
            modes = [CARRIES[self.phases[self.phase_of[p // 2]].mode(side)] for side in SIDES]
            count = max(sum(map(len, modes)), 1)
            for side, corners in enumerate(modes):
                force[p, side, list(corners), 2] = body.mass * body.gravity / FORCE / count
                bound[p, side, list(corners)] = 10.0 * body.mass * body.gravity / FORCE
        if begin.force is not None:
            force = np.clip(begin.at(between, begin.force) / FORCE, -bound, bound)
        self._forces_known = begin.force is not None
        floor = bound.copy()
        floor[..., 2] = 0.0
        self.force = unknowns.add("forces", force, -floor, bound)
        pull = np.zeros((points, len(self.pulled), 3))
        if self.pulled and begin.pull is not None and begin.pull.shape[1:] == pull.shape[1:]:
            pull = begin.at(between, begin.pull) / PULL
        self.pull = unknowns.add("pulls", pull)
        self.span = unknowns.add("span", np.array([sum(phase.seconds for phase in phases)]), 0.05, 100.0)
        self.before: dict[str, int] = dict.fromkeys(SIDES, 0)
        self.after: dict[str, int] = dict.fromkeys(SIDES, 0)
        """For how many intervals a swing goes on before the part begins, and after it ends."""
        self.wraps: str | None = None
        """What follows: ``MIRRORED``, its mirror image, or ``AGAIN``, itself, somewhere else; or something else (None)."""
        self.given: set[int] = set()
        """Knots whose states are given, or follow from others: there feet say where footprints are, and nothing else."""
        self.over = self.span
        """What the objective is divided by: by default the time, that is per second."""
        self.stances = self._stances()
        self.prints = unknowns.add("footprints", np.zeros((len(self.stances), 3)))
        self.reprint(at_knots)
        self.ground = np.zeros(len(self.stances))
        """How high the ground is under each stance [m]."""

    # -- feet ----------------------------------------------------------------------------------------------------------

    def _stances(self) -> list[tuple[str, int, int]]:
        """Return which foot stands from which phase until before which."""
        out = []
        for side in SIDES:
            first = None
            for k, phase in enumerate([*self.phases, None]):
                stands = phase is not None and phase.mode(side) != SWING
                if stands and first is None:
                    first = k
                if not stands and first is not None:
                    out.append((side, first, k))
                    first = None
        return out

    def knots_of(self, phase: int) -> range:
        """Return the knots of a phase, its ends included."""
        mine = np.flatnonzero(self.phase_of == phase)
        return range(int(mine[0]), int(mine[-1]) + 2)

    def reprint(self, guess: np.ndarray) -> None:
        """Guess footprints from where feet are in some coordinates at knots (K + 1, n)."""
        for mine, (side, first, _) in zip(self.prints, self.stances, strict=True):
            self.unknowns.guess[mine] = self._guessed(guess, side, first)

    def _guessed(self, guess: np.ndarray, side: str, phase: int) -> np.ndarray:
        """Return where a foot stands, (x, y, yaw), by the edge that carries it in the middle of a stance's first phase."""
        knots, toes = self.knots_of(phase), self.phases[phase].mode(side) == TOE
        q = guess[knots[len(knots) // 2]]
        toe, heel = self.sole(side, 1.0), self.sole(side, -1.0)
        R, p = self.body.posed(toe.link, q)
        yaw, half = np.arctan2(-R[0, 1], R[1, 1]), float(np.linalg.norm(toe.place - heel.place)) / 2
        edge = p + R @ (toe if toes else heel).place
        back = -half if toes else half
        return np.array([edge[0] + back * np.cos(yaw), edge[1] + back * np.sin(yaw), yaw])

    def sole(self, side: str, x: float = 0.0, y: float = 0.0) -> Point:
        """Return a point of a sole: its middle, or so many half lengths ahead and half widths to the left of it."""
        return self.body.point(f"{side}_sole", (x, y, 0.0))

    def mode_before(self, side: str) -> str:
        """Return how a foot stands before the part begins; where nothing is known of that, as it does then."""
        if self.wraps:
            other = SIDES[1 - SIDES.index(side)]
            return self.phases[-1].mode(other if self.wraps == MIRRORED else side)
        return SWING if self.before[side] else self.phases[0].mode(side)

    def carries(self, phase: int, side: str, edge: tuple[int, ...]) -> bool:
        """Return whether an edge of a foot carries in a phase."""
        return set(edge) <= set(CARRIES[self.phases[phase].mode(side)])

    def heights(self, side: str) -> np.ndarray:
        """Return how high the ground is under a foot in each phase (P,) [m]; 0 where it swings."""
        out = np.zeros(len(self.phases))
        for height, (of, first, end) in zip(self.ground, self.stances, strict=True):
            if of == side:
                out[first:end] = height
        return out

    # -- blocks --------------------------------------------------------------------------------------------------------

    def blocks(self) -> list[Block]:
        """Return all that makes it a motion: dynamics, friction, feet, time."""
        return [
            *self._dynamics(),
            self._friction(),
            self._changes(),
            self._haste(),
            *feet_stand(self),
            limbs_apart(self),
            self._time(),
            *self._airborne(),
        ]

    def _dynamics(self) -> list[Block]:
        """Return equations of motion and what is minimised, of the phases of each manner."""
        blocks, unknowns, guess = [], self.unknowns, self.unknowns.guess
        unknown = not guess[self.tau].any()  # nothing is known of torques and forces: those that the motion takes
        for manner in {id(manner): manner for manner in self.manners}.values():
            mine = [i for i in range(self.intervals) if self.manners[self.phase_of[i]] is manner]
            moves = self._moves(manner, mine)
            blocks.append(moves)
            if unknown:
                points = np.repeat(mine, 2) * 2 + np.tile([0, 1], len(mine))
                tau, force = self.tau[points], self.force[points]
                if not self._forces_known:
                    first, carries = 4 * self.body.n + 1 + tau.shape[1], unknowns.high[force[..., 2]] > 0
                    taken = forces_taken(moves, guess, first, carries.reshape(len(points), -1), FRICTION)
                    guess[force] = np.clip(taken.reshape(force.shape), unknowns.low[force], unknowns.high[force])
                taken = moves.values(guess)[:, ROOT : self.body.n]
                guess[tau] = np.clip(taken, unknowns.low[tau], unknowns.high[tau])
        return blocks

    def _moves(self, style: Style, intervals: Sequence[int]) -> Block:
        body, n = self.body, self.body.n
        nj, own = n - ROOT, 3 * n + n - ROOT
        soles = [[self.sole(side, x, y) for x, y in CORNERS] for side in SIDES]

        def outer(z: Any, c: Any) -> Any:
            (q0, v0, q1, v1), rate = [z[k * n : (k + 1) * n] for k in range(4)], z[4 * n]
            q, dq, ddq = hermite(q0, rate * v0, q1, rate * v1, c[0])
            return ca.vertcat(q, dq / rate, ddq / rate**2, z[4 * n + 1 : -1], rate / (2 * z[-1]))

        def inner(y: Any, c: Any) -> tuple[Any, Any]:
            q, v, a = y[:n], y[n : 2 * n], y[2 * n : 3 * n]
            tau, force, pull, weight = y[3 * n : own], y[own : own + 24], y[own + 24 : -1], y[-1]
            forces = {
                soles[s][0].link: [(soles[s][k], FORCE * force[12 * s + 3 * k : 12 * s + 3 * k + 3]) for k in range(4)]
                for s in range(2)
            }
            for k, point in enumerate(self.pulled):
                forces.setdefault(point.link, []).append((point, PULL * pull[3 * k : 3 * k + 3]))
            needed = body.inverse_dynamics(q, v, a, forces)
            rows = [needed[:ROOT] / WRENCH, needed[ROOT:] / TORQUE - tau]
            if body.shoes:
                frames = body.frames(q)
                for s, side in enumerate(SIDES):
                    for ahead, corners in zip((-1.0, 1.0), EDGES, strict=True):
                        (R, p), edge = frames[soles[s][0].link], self.sole(side, ahead)
                        given = sum(force[12 * s + 3 * k + 2] for k in corners)
                        height = (p + R @ ca.DM(edge.place))[2] - c[1 + s]
                        rows.append(height / SUNK + FORCE / (body.shoes * SUNK) * given)
            cost = ca.dot(ca.DM(style.effort) * tau, tau) + style.force * ca.dot(force, force)
            cost += ca.dot(ca.DM(style.posture) * (q - ca.DM(style.rest)), q - ca.DM(style.rest))
            cost += ca.dot(ca.DM(style.calm) * v, v)
            for tie in style.ties:
                cost += tie.weight * (sum(share * q[k] for k, share in tie.parts) - tie.value) ** 2
            return weight * cost, ca.vertcat(*rows)

        key = "dynamics", *(one.tobytes() if isinstance(one, np.ndarray) else one for one in style)
        key += tuple((point.link, point.place.tobytes()) for point in self.pulled)
        size = 4 * n + 1 + nj + 24 + 3 * len(self.pulled) + 1
        shod = len(SIDES) * len(EDGES) if body.shoes else 0
        kernel = body.kernel(key, lambda: Kernel("dynamics", size, 3 if shod else 1, inner, outer))
        where = []
        for i in intervals:
            knots, rate = (self.q[i], self.v[i], self.q[i + 1], self.v[i + 1]), self.rate[[self.phase_of[i]]]
            for p in (2 * i, 2 * i + 1):
                unknown = (self.tau[p], self.force[p].ravel(), self.pull[p].ravel())
                where.append(np.concatenate([*knots, rate, *unknown, self.over]))
        constants = np.tile(np.array(GAUSS)[:, None], (len(intervals), 1))
        low, high = (np.full((len(where), n + shod), bound) for bound in (-INF, INF))
        low[:, :n] = high[:, :n] = 0.0
        if shod:
            phases = self.phase_of[np.repeat(intervals, 2)]
            constants = np.column_stack([constants, *(self.heights(side)[phases] for side in SIDES)])
            carries = np.array([[self.carries(k, s, e) for s in SIDES for e in EDGES] for k in phases])
            low[:, n:][carries] = high[:, n:][carries] = 0.0

        def label(place: int, row: int) -> str:
            if row >= n:
                return f"shoes of {body.name} in phase {self.phase_of[intervals[place // 2]]}"
            what = "root" if row < ROOT else body.joints[row - ROOT]
            return f"motion of {body.name}: {what} in phase {self.phase_of[intervals[place // 2]]}"

        return Block(kernel, np.array(where), constants, low, high, label)

    def _friction(self) -> Block:
        def inner(y: Any, c: Any) -> tuple[Any, Any]:
            slack = FRICTION / np.sqrt(2.0) * y[2]
            return 0, ca.vertcat(slack - y[0], slack + y[0], slack - y[1], slack + y[1])

        used = np.array(
            [
                self.force[p, s, k]
                for p in range(2 * self.intervals)
                for s, side in enumerate(SIDES)
                for k in CARRIES[self.phases[self.phase_of[p // 2]].mode(side)]
            ]
        )
        low = np.zeros((len(used), 4))
        return Block(
            Kernel("friction", 3, 0, inner),
            used,
            np.zeros((len(used), 0)),
            low,
            np.full_like(low, INF),
            lambda place, row: f"friction of {self.body.name}",
        )

    def _changes(self) -> Block:
        """What ground forces change by from point to point, as whole feet."""

        def inner(y: Any, c: Any) -> tuple[Any, Any]:
            a, b = ca.reshape(y[:12], 3, 4), ca.reshape(y[12:], 3, 4)
            change = ca.sum2(b) - ca.sum2(a)
            return c[0] * ca.dot(change, change), ca.SX(0, 1)

        points = 2 * self.intervals
        pairs = [(self.force[p, s], self.force[p + 1, s]) for p in range(points - 1) for s in (0, 1)]
        if self.wraps:
            pairs += [
                (self.force[points - 1, 1 - s if self.wraps == MIRRORED else s], self.force[0, s]) for s in (0, 1)
            ]
        where = np.array([np.concatenate([a.ravel(), b.ravel()]) for a, b in pairs])
        seconds = sum(phase.seconds for phase in self.phases)
        jerks = np.array([manner.jerk for manner in self.manners])[self.phase_of]
        cost = np.repeat([jerks[min(k // 2, self.intervals - 1)] for k in range(len(where) // 2)], 2)
        each = seconds / float(self.unknowns.guess[self.over][0])  # per what all else counts per, not per second
        constants = points / 20 * min(1.0, HALF / seconds) ** 2 * each * cost[:, None]
        none = np.zeros((len(where), 0))
        return Block(Kernel("changes", 24, 1, inner), where, constants, none, none, lambda place, row: "")

    def _haste(self) -> Block:
        """How fast torques change: muscles take time, and what is quick costs more than what is strong."""
        nj, points = self.body.n - ROOT, 2 * self.intervals
        within, across = GAUSS[1] - GAUSS[0], GAUSS[0]

        def inner(y: Any, c: Any) -> tuple[Any, Any]:
            before, after, (first, second), over = y[:nj], y[nj : 2 * nj], ca.vertsplit(y[2 * nj : -1]), y[-1]
            change = c[2 : 2 + nj] * after - before
            seconds = c[0] * first + c[1] * second
            return ca.dot(c[2 + nj :] * change, change) / (seconds * over), ca.SX(0, 1)

        rates = self.rate[self.phase_of]
        pairs = [(p, p + 1, np.ones(nj), np.arange(nj)) for p in range(points - 1)]
        if self.wraps == MIRRORED:
            order, sign = self.body.mirror()
            pairs.append((points - 1, 0, sign[ROOT:], order[ROOT:] - ROOT))
        elif self.wraps == AGAIN:
            pairs.append((points - 1, 0, np.ones(nj), np.arange(nj)))
        where, constants = [], []
        for p, q, sign, order in pairs:
            a, b = p // 2, q // 2
            where.append(np.concatenate([self.tau[p], self.tau[q][order], [rates[a], rates[b]], self.over]))
            cost = self.manners[self.phase_of[a]].haste
            seconds = [within, 0.0] if a == b and q > p else [across, across]
            if (
                rates[a] == rates[b]
            ):  # one unknown counts once: second derivatives know nothing of two that are the same
                seconds = [sum(seconds), 0.0]
            constants.append(np.concatenate([seconds, sign, cost]))
        none = np.zeros((len(where), 0))
        kernel = self.body.kernel(("haste",), lambda: Kernel("haste", 2 * nj + 3, 2 + 2 * nj, inner))
        return Block(kernel, np.array(where), np.array(constants), none, none, lambda place, row: "")

    def _time(self) -> Block:
        """The span is what the warp takes."""
        share = np.array([phase.intervals for phase in self.phases])

        def inner(y: Any, c: Any) -> tuple[Any, Any]:
            return 0, y[-1] - ca.dot(ca.DM(share), y[:-1])

        where, zero = np.concatenate([self.rate, self.span])[None], np.zeros((1, 1))
        return Block(Kernel("time", where.size, 0, inner), where, np.zeros((1, 0)), zero, zero, lambda p, r: "time")

    def _airborne(self) -> list[Block]:
        """What manners like of flight: torques alone would have runs skim the ground."""
        blocks = []
        for manner in {id(manner): manner for manner in self.manners}.values():
            mine = [k for k, one in enumerate(self.manners) if one is manner]
            stands = [{self.phases[k].left, self.phases[k].right} != {SWING} for k in mine]
            share, weight = manner.airborne
            if not weight or all(stands):
                continue
            counts = np.array([self.phases[k].intervals for k in mine])

            def inner(
                y: Any, c: Any, share=share, weight=weight, counts=counts, standing=counts * stands
            ) -> tuple[Any, Any]:
                time, stood = (ca.dot(ca.DM(of), y[:-1]) for of in (counts, standing))
                return weight * (1.0 - share - stood / time) ** 2 * time / y[-1], ca.SX(0, 1)

            where, none = np.concatenate([self.rate[mine], self.over])[None], np.zeros((1, 0))
            kernel = Kernel("airborne", where.size, 0, inner)
            blocks.append(Block(kernel, where, none, none, none, lambda place, row: ""))
        return blocks

    # -- what was found ------------------------------------------------------------------------------------------------

    def times(self, x: np.ndarray) -> np.ndarray:
        """Return the real time of each knot (K + 1,)."""
        return np.concatenate([[0.0], np.cumsum(x[self.rate[self.phase_of]])])

    def course(self, x: np.ndarray, times: np.ndarray | None = None) -> tuple[Course, np.ndarray, np.ndarray]:
        """Return what was found at some times (by default at all Gauss points), its accelerations, and the phase of each moment."""
        knots = self.times(x)
        if times is None:
            times = (knots[:-1, None] + np.diff(knots)[:, None] * np.array(GAUSS)).ravel()
        i = np.clip(np.searchsorted(knots, times, side="right") - 1, 0, self.intervals - 1)
        phase = self.phase_of[i]
        rate = x[self.rate[phase]][:, None]
        u = (times - knots[i])[:, None] / rate
        q, dq, ddq = hermite(x[self.q[i]], rate * x[self.v[i]], x[self.q[i + 1]], rate * x[self.v[i + 1]], u)
        w = (u - GAUSS[0]) / (GAUSS[1] - GAUSS[0])
        tau, force, pull = (
            x[of[2 * i]] + (x[of[2 * i + 1]] - x[of[2 * i]]) * w.reshape(-1, *[1] * (of.ndim - 1))
            for of in (self.tau, self.force, self.pull)
        )
        return Course(times, q, dq / rate, TORQUE * tau, FORCE * force, PULL * pull), ddq / rate**2, phase


def hermite(z0: Any, s0: Any, z1: Any, s1: Any, u: Any) -> tuple[Any, Any, Any]:
    """Return a cubic at u in [0, 1] and its first two derivatives, of values and slopes at its ends."""
    value = (
        (2 * u**3 - 3 * u**2 + 1) * z0 + (u**3 - 2 * u**2 + u) * s0 + (3 * u**2 - 2 * u**3) * z1 + (u**3 - u**2) * s1
    )
    slope = (6 * u**2 - 6 * u) * (z0 - z1) + (3 * u**2 - 4 * u + 1) * s0 + (3 * u**2 - 2 * u) * s1
    bend = (12 * u - 6) * (z0 - z1) + (6 * u - 4) * s0 + (6 * u - 2) * s1
    return value, slope, bend
