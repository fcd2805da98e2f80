"""Coulomb's law at the end of a step: the impulses that unilateral rows, friction and bounded grips give.

With u = H x + b the velocities after the step along the rows (less what is wanted there), the impulses x obey: a normal presses
(x ≥ 0) and does not approach (u ≥ 0), never both; friction |x| ≤ μ x_n stops its row (u = 0) or opposes it at its bound; a row with
bounds (a grip, a stop) gives what stops it, at most its bound. That is what a step is under these laws, bodies rigid and impacts
without rebound. Gauss–Seidel sweeps come near it; then the rows that give way and those that hold are known, and one linear system
has the exact answer (a semismooth Newton step). Where it does not help, sweeps go on: they always end in admissible impulses.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

FREE = -1
"""The normal of a row that is no friction."""

_SWEEPS, _ROUNDS = 20, 12
"""Sweeps between two Newton steps, and how often both are tried."""

_SETTLED = 1e-9
"""Largest change of a velocity [m/s, rad/s] in a sweep that is none."""

COMPLIANCE = 1e-8
"""How much a row yields, relative to what it moves: decides the impulses that rigid bodies leave undecided."""


class Laws(NamedTuple):
    """What each row (k,) may give: bounds of its impulse, and for friction the row of its normal and the coefficient."""

    low: np.ndarray
    high: np.ndarray
    normal: np.ndarray
    friction: np.ndarray


def settle(H: np.ndarray, b: np.ndarray, laws: Laws) -> tuple[np.ndarray, bool]:
    """Return the impulses (k,), and whether they obey the laws to within rounding; if not, they are admissible ones."""
    return _settle(H, b, laws.low, laws.high, laws.normal, laws.friction)


@numba.njit(cache=True)
def _sweep(H, diagonal, u, low, high, normal, friction, x):
    """Go once through the rows, each taking what it needs as the others are now; return the largest change of a velocity."""
    largest = 0.0
    for i in range(x.shape[0]):
        if normal[i] < 0:
            least, most = low[i], high[i]
        else:
            most = friction[i] * x[normal[i]]
            least = -most
        new = min(max(x[i] - u[i] / diagonal[i], least), most)
        change = new - x[i]
        if change != 0.0:
            x[i] = new
            for j in range(x.shape[0]):
                u[j] += H[j, i] * change
            largest = max(largest, abs(change) * diagonal[i])
    return largest


@numba.njit(cache=True)
def _newton(H, diagonal, b, u, low, high, normal, friction, x):
    """Return the impulses under which those rows hold that seem to, and the others stay at their bounds."""
    n = x.shape[0]
    free, value, slope = np.zeros(n, np.bool_), np.zeros(n), np.zeros(n)
    for i in range(n):
        aim = x[i] - u[i] / diagonal[i]
        if normal[i] < 0:
            if low[i] < aim < high[i]:
                free[i] = True
            else:
                value[i] = low[i] if aim <= low[i] else high[i]
        else:
            bound = friction[i] * x[normal[i]]
            if -bound < aim < bound:
                free[i] = True
            else:
                slope[i] = friction[i] if aim > 0.0 else -friction[i]
    rows = np.flatnonzero(free)
    place = np.full(n, -1)
    place[rows] = np.arange(rows.shape[0])
    A, r = np.zeros((rows.shape[0], rows.shape[0])), np.zeros(rows.shape[0])
    for k in range(rows.shape[0]):
        i = rows[k]
        r[k] = -b[i]
        for j in range(n):
            if free[j]:
                A[k, place[j]] += H[i, j]
            elif slope[j] != 0.0 and free[normal[j]]:  # friction at its bound goes with its normal
                A[k, place[normal[j]]] += slope[j] * H[i, j]
            else:
                r[k] -= H[i, j] * (value[j] if normal[j] < 0 else slope[j] * value[normal[j]])
        A[k, k] += COMPLIANCE * diagonal[i]
    found = value.copy()
    if rows.shape[0]:
        found[rows] = np.linalg.solve(A, r)
    for i in range(n):
        if normal[i] < 0:
            found[i] = min(max(found[i], low[i]), high[i])
    for i in range(n):
        if normal[i] >= 0:
            bound = friction[i] * found[normal[i]]
            found[i] = min(max(found[i], -bound), bound) if free[i] else slope[i] * found[normal[i]]
    return found


@numba.njit(cache=True)
def _settle(H, b, low, high, normal, friction):
    n = b.shape[0]
    x, u, diagonal = np.zeros(n), b.copy(), np.empty(n)
    for i in range(n):
        diagonal[i] = max(H[i, i], 1e-12)
    for _ in range(_ROUNDS):
        change = np.inf
        for _ in range(_SWEEPS):
            change = _sweep(H, diagonal, u, low, high, normal, friction, x)
            if change < _SETTLED:
                return x, True
        trial = _newton(H, diagonal, b, u, low, high, normal, friction, x)
        if not np.isfinite(trial).all():
            continue
        moved = H @ trial + b
        if _sweep(H, diagonal, moved, low, high, normal, friction, trial) < change:
            x, u = trial, moved
    return x, _sweep(H, diagonal, u, low, high, normal, friction, x) < 1e-6
