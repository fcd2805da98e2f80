"""What characters with warps of their own share: functions of real time, of which each reads values at its own times (liu2006, section 4).

Characters' knots come at different times, which are unknown. What they exchange is therefore a cubic B-spline of real time with unknown
coefficients, tied to one character at that one's own knots, and read by others at theirs. Its knots are even shares of the duration. A
moment reads a window of coefficients around where it is guessed to be, and must stay within.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import casadi as ca
import numpy as np

from interplay.spacetime.blocks import INF, Block, Kernel, Unknowns
from interplay.spacetime.part import GAUSS, Part

HALF = 3
"""Half of how many coefficients a moment reads: it may come a knot of the spline earlier or later than guessed."""


class Moments:
    """Real times of some moments of a part: of each, unknowns (N, 2) and a constant (N,): t = z₀ + c z₁."""

    def __init__(self, where: np.ndarray, share: np.ndarray):
        """Take both."""
        self.where, self.share = where, share

    def some(self, of: Sequence[int] | np.ndarray) -> Moments:
        """Return some of them, by their indices."""
        return Moments(self.where[of], self.share[of])


class Clock:
    """Real times of a part's knots [s], as unknowns."""

    def __init__(self, part: Part, begin: float = 0.0):
        """Take a part, and when it begins."""
        self.part = part
        times, unknowns = begin + part.times(part.unknowns.guess), part.unknowns
        self.times = unknowns.add("clock", times, 0.0, 100.0)
        unknowns.low[self.times[0]] = unknowns.high[self.times[0]] = begin

    def block(self) -> Block:
        """Each interval takes what its phase's warp says."""
        part = self.part
        where = np.stack([self.times[:-1], self.times[1:], part.rate[part.phase_of]], axis=1)
        zero = np.zeros((len(where), 1))
        kernel = Kernel("clock", 3, 0, lambda y, c: (0, y[1] - y[0] - y[2]))
        return Block(kernel, where, np.zeros((len(where), 0)), zero, zero, lambda p, r: f"clock of {part.body.name}")

    def knots(self) -> Moments:
        """Return when its knots are."""
        last = len(self.times) - 1
        intervals = np.minimum(np.arange(last + 1), last - 1)
        return self._moments(intervals, (np.arange(last + 1) == last).astype(float))

    def points(self) -> Moments:
        """Return when the points are at which equations of motion hold."""
        count = len(self.times) - 1
        return self._moments(np.repeat(np.arange(count), 2), np.tile(GAUSS, count))

    def _moments(self, intervals: np.ndarray, share: np.ndarray) -> Moments:
        part = self.part
        return Moments(np.stack([self.times[intervals], part.rate[part.phase_of[intervals]]], axis=1), share)


class Curve:
    """A cubic B-spline of real time, with some values at each moment.

    ``travel``: it closes into itself, but that it comes so far (an unknown) along x in the duration, as far as its columns ``along`` go.
    """

    def __init__(
        self,
        unknowns: Unknowns,
        duration: np.ndarray,
        shares: np.ndarray,
        values: np.ndarray,
        count: int,
        travel: np.ndarray | None = None,
        along: tuple[int, ...] = (),
    ):
        """Fit values (T, d) at shares (T,) of the duration with ``count`` intervals."""
        self.unknowns, self.duration, self.count, self.size = unknowns, duration, count, values.shape[1]
        self.travel, self.along = travel, along
        rows = np.zeros((len(shares), count if travel is not None else count + 3))
        first = self._first(shares)
        for k in range(2 * HALF):
            np.add.at(rows, (np.arange(len(shares)), self._index(first + k)), _basis_at(shares * count - first - k))
        values = np.array(values)
        if travel is not None:
            values[:, along] -= (shares * unknowns.guess[travel])[:, None]
        smooth = 1e-3 * np.diff(np.eye(rows.shape[1]), 2, axis=0)
        target = np.concatenate([values, np.zeros((len(smooth), self.size))])
        fitted = np.linalg.lstsq(np.concatenate([rows, smooth]), target, rcond=None)[0]
        self.coefficients = unknowns.add("shared", fitted)

    @property
    def closed(self) -> bool:
        """Whether it begins anew where it ends."""
        return self.travel is not None

    def _first(self, shares: np.ndarray) -> np.ndarray:
        first = np.floor(np.asarray(shares) * self.count).astype(int) - HALF + 1
        return first if self.closed else np.clip(first, -1, self.count + 2 - 2 * HALF)

    def _index(self, knots: np.ndarray) -> np.ndarray:
        return knots % self.count if self.closed else knots + 1

    def window(self, moments: Moments) -> tuple[np.ndarray, np.ndarray]:
        """Return what gives its values at some moments: unknowns (N, ``width``) and constants (N, 2)."""
        guess, where = self.unknowns.guess, moments.where
        times = guess[where[:, 0]] + moments.share * guess[where[:, 1]]
        first = self._first(times / guess[self.duration])
        read = self.coefficients[self._index(first[:, None] + np.arange(2 * HALF))].reshape(len(where), -1)
        each = [self.duration] if self.travel is None else [self.duration, self.travel]
        common = np.broadcast_to(np.concatenate(each), (len(where), len(each)))
        return np.concatenate([where, read, common], axis=1), np.stack([moments.share, first], axis=1)

    @property
    def width(self) -> int:
        """How many unknowns a moment reads."""
        return 2 + 2 * HALF * self.size + (2 if self.closed else 1)

    def value(self, z: Any, c: Any) -> tuple[Any, Any]:
        """Return its values (d,) at a moment, and how far into its window that is, of what ``window`` says."""
        end = 2 + 2 * HALF * self.size
        share = (z[0] + c[0] * z[1]) / z[end]
        place = share * self.count - c[1]
        coefficients = ca.reshape(z[2:end], self.size, 2 * HALF)
        value = coefficients @ ca.vertcat(*(basis(place - k) for k in range(2 * HALF)))
        if self.closed:
            value += ca.DM(np.isin(np.arange(self.size), self.along).astype(float)) * (share * z[end + 1])
        return value, place

    def within(self, constants: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return bounds (N, 1) of how far into their windows moments may be."""
        low, high = np.full((len(constants), 1), 1.0), np.full((len(constants), 1), 2.0 * HALF - 2.0)
        if not self.closed:
            low[constants[:, 1] == -1] = -INF
            high[constants[:, 1] == self.count + 2 - 2 * HALF] = INF
        return low, high

    def at(self, x: np.ndarray, times: np.ndarray) -> np.ndarray:
        """Return its values (T, d) at real times, of what was found."""
        shares = times / x[self.duration]
        first = self._first(shares)
        out = np.zeros((len(shares), self.size))
        for k in range(2 * HALF):
            weight = _basis_at(shares * self.count - first - k)
            out += weight[:, None] * x[self.coefficients[self._index(first + k)]]
        if self.travel is not None:
            out[:, self.along] += (shares * x[self.travel])[:, None]
        return out


def basis(u: Any) -> Any:
    """Return the cubic B-spline of even knots that is not 0 from −2 to 2."""
    far, near = ca.fmax(0, 2 - ca.fabs(u)), ca.fmax(0, 1 - ca.fabs(u))
    return (far**3 - 4 * near**3) / 6


def _basis_at(u: np.ndarray) -> np.ndarray:
    return np.asarray(basis(ca.DM(u))).ravel()
