"""What was found of a part, knot by knot, and how a part begins and ends: given, given up to where it lies, or as it began (a cycle).

Windows of motions are cut and joined by what is at their knots (values, velocities, rates of time), never by coefficients of a warp.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from interplay.spacetime.blocks import Block, Kernel
from interplay.spacetime.part import AGAIN, GAUSS, Course, Part, Phase, hermite

PLACE = [0, 1, 3]
"""Coordinates that say where a character is and which way it heads: x, y, yaw."""


class Knots(NamedTuple):
    """A motion at its knots: coordinates and rates (K + 1, n), and seconds of an interval of each phase (P,).

    Torques (2K, n − 6), forces (2K, 2, 4, 3) and what others pull with (2K, H, 3) are those at Gauss points, in the units of the program.
    """

    q: np.ndarray
    v: np.ndarray
    rate: np.ndarray
    tau: np.ndarray
    force: np.ndarray
    pull: np.ndarray

    def between(self, phases: Sequence[Phase], first: int, end: int | None) -> Knots:
        """Return the knots of some phases of its row."""
        ends = np.cumsum([0, *(phase.intervals for phase in phases)])
        end = len(phases) if end is None else end
        a, b = int(ends[first]), int(ends[end])
        points = slice(2 * a, 2 * b)
        at_points = (self.tau[points], self.force[points], self.pull[points])
        return Knots(self.q[a : b + 1], self.v[a : b + 1], self.rate[first:end], *at_points)

    @staticmethod
    def joined(pieces: Sequence[Knots]) -> Knots:
        """Return pieces one after another; where two meet, the state of the later one counts, unless it is empty."""
        pieces = [piece for piece in pieces if len(piece.rate)]
        q, v = (np.concatenate([*(p[k][:-1] for p in pieces), pieces[-1][k][-1:]]) for k in (0, 1))
        return Knots(q, v, *(np.concatenate([p[k] for p in pieces]) for k in range(2, 6)))

    def on(self, phases: Sequence[Phase], others: Sequence[Phase]) -> Knots:
        """Return the same motion with other numbers of intervals in its phases."""
        return Knots.joined(
            [_resampled(self.between(phases, k, k + 1), other.intervals) for k, other in enumerate(others)]
        )

    def at(self, time: np.ndarray, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return coordinates and rates at some times, of the times of its knots."""
        i = np.clip(np.searchsorted(time, times, side="right") - 1, 0, len(time) - 2)
        rate = (time[i + 1] - time[i])[:, None]
        u = (times - time[i])[:, None] / rate
        q, dq, _ = hermite(self.q[i], rate * self.v[i], self.q[i + 1], rate * self.v[i + 1], u)
        return q, dq / rate

    def at_points(self, time: np.ndarray, times: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return torques, forces and what others pull with at some times, of the times of its knots."""
        points = (time[:-1, None] + np.diff(time)[:, None] * np.array(GAUSS)).ravel()

        def found(of: np.ndarray) -> np.ndarray:
            columns = [np.interp(times, points, column) for column in of.reshape(len(of), -1).T]
            return np.array(columns).T.reshape(len(times), *of.shape[1:])

        return found(self.tau), found(self.force), found(self.pull)

    def course(self, phases: Sequence[Phase]) -> Course:
        """Return it over real time, at its knots."""
        steps = np.repeat(self.rate, [phase.intervals for phase in phases])
        return Course(np.concatenate([[0.0], np.cumsum(steps)]), self.q, self.v)


def _resampled(one: Knots, intervals: int) -> Knots:
    """Return the knots of one phase at others."""
    count, rate = len(one.q) - 1, float(one.rate[0])
    if count == intervals:
        return one
    old, new = np.arange(count + 1) * rate, np.linspace(0.0, count * rate, intervals + 1)
    points = (new[:-1, None] + np.diff(new)[:, None] * np.array(GAUSS)).ravel()
    return Knots(*one.at(old, new), one.rate * count / intervals, *one.at_points(old, points))


def knots_of(part: Part, x: np.ndarray) -> Knots:
    """Return what was found of a part."""
    return Knots(x[part.q], x[part.v], x[part.rate], x[part.tau], x[part.force], x[part.pull])


def recall(part: Part, knots: Knots) -> None:
    """Begin with exactly what was found before, on the same mesh."""
    guess = part.unknowns.guess
    for where, value in zip((part.q, part.v, part.rate, part.tau, part.force, part.pull), knots, strict=True):
        guess[where] = value
    guess[part.span] = part.times(guess)[-1]
    part.reprint(guess[part.q])


def place_of(q: np.ndarray) -> np.ndarray:
    """Return where a character is and heads: x, y, yaw."""
    return q[PLACE]


def moved(knots: Knots, origin: np.ndarray, place: np.ndarray) -> Knots:
    """Return a motion moved along the ground, so that what was at ``origin`` (x, y, yaw) is at ``place``."""
    q, v, force, pull = (one.copy() for one in (knots.q, knots.v, knots.force, knots.pull))
    turn = place[2] - origin[2]
    R = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    q[:, :2] = place[:2] + (q[:, :2] - origin[:2]) @ R.T
    q[:, 3] += turn
    v[:, :2] = v[:, :2] @ R.T
    for one in (force, pull):
        one[..., :2] = one[..., :2] @ R.T
    return knots._replace(q=q, v=v, force=force, pull=pull)


# -- how a part begins and ends -----------------------------------------------------------------------------------------


def hold(
    part: Part,
    knot: int,
    q: np.ndarray | None = None,
    v: np.ndarray | None = None,
    *,
    free: Sequence[int] = (),
) -> list[Block]:
    """Give the state of a knot: by default what is guessed there; up to what is free of its place (0, 1: x, y; 3: yaw)."""
    unknowns, n = part.unknowns, part.body.n
    q = unknowns.guess[part.q[knot]] if q is None else q
    v = unknowns.guess[part.v[knot]] if v is None else v
    part.given.add(knot)
    kept = [k for k in range(n) if k not in free]
    moving = slice(2 if 3 in free else 0, n)
    for where, value in ((part.q[knot][kept], q[kept]), (part.v[knot][moving], v[moving])):
        unknowns.low[where] = unknowns.high[where] = unknowns.guess[where] = value
    if 3 not in free:
        return []

    def inner(y: Any, c: Any) -> tuple[Any, Any]:
        turn = y[0] - c[0]
        ahead = ca.vertcat(ca.cos(turn) * c[1] - ca.sin(turn) * c[2], ca.sin(turn) * c[1] + ca.cos(turn) * c[2])
        return 0, y[1:] - ahead

    where = np.array([[part.q[knot, 3], part.v[knot, 0], part.v[knot, 1]]])
    zero, constants = np.zeros((1, 2)), np.array([[q[3], v[0], v[1]]])
    name = f"velocity of {part.body.name} at knot {knot}"
    return [Block(Kernel("heading", 3, 3, inner), where, constants, zero, zero, lambda place, row: name)]


def again(part: Part) -> list[Block]:
    """Make a part a full cycle: it ends as it began, somewhere else and heading elsewhere."""
    n = part.body.n
    part.wraps = AGAIN
    part.given.add(part.intervals)
    kept = [k for k in range(n) if k not in PLACE]

    def inner(y: Any, c: Any) -> tuple[Any, Any]:
        q0, q1, v0, v1 = (y[k * n : (k + 1) * n] for k in range(4))
        turn = q1[3] - q0[3]
        vx, vy = ca.cos(turn) * v0[0] - ca.sin(turn) * v0[1], ca.sin(turn) * v0[0] + ca.cos(turn) * v0[1]
        return 0, ca.vertcat(q1[kept] - q0[kept], v1[0] - vx, v1[1] - vy, v1[2:] - v0[2:])

    where = np.concatenate([part.q[0], part.q[-1], part.v[0], part.v[-1]])[None]
    zero = np.zeros((1, 2 * n - 3))
    name = f"cycle of {part.body.name}"
    return [Block(Kernel("cycle", 4 * n, 0, inner), where, np.zeros((1, 0)), zero, zero, lambda place, row: name)]
