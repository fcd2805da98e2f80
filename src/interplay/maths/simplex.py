"""Small linear programs, solved again and again for other goals: max gᵀx subject to A x = b, 0 ≤ x ≤ u.

The simplex method with bounded variables on a dense tableau: for a dozen rows it takes microseconds, and from one goal to the
next a few pivots.
"""

from __future__ import annotations

import numba
import numpy as np

_FEASIBLE, _GAIN, _PIVOT = 1e-8, 1e-10, 1e-9
"""What counts as nothing: of a row, of a goal's slope, of a pivot. Rows and variables are expected to be of the order of 1."""


class LinearProgram:
    """A x = b, 0 ≤ x ≤ u (u may be infinite); ``feasible`` says whether anything solves it, ``best`` maximises a goal."""

    def __init__(self, A: np.ndarray, b: np.ndarray, upper: np.ndarray):
        """Find a first solution: each row begins with what it lacks as a variable of its own, and their sum is brought to zero."""
        rows, self._size = A.shape
        sign = np.where(b < 0.0, -1.0, 1.0)
        self._tableau = np.ascontiguousarray(A * sign[:, None], float)
        self._values = b * sign
        self._basis = np.arange(self._size, self._size + rows)
        self._at_upper = np.zeros(self._size, np.bool_)
        self._upper = np.concatenate([upper, np.full(rows, np.inf)]).astype(float)
        lack = np.concatenate([np.zeros(self._size), np.full(rows, -1.0)])
        self._maximise(lack)
        self.feasible = bool(self._values[self._basis >= self._size].sum() < _FEASIBLE * max(rows, 1))
        self._upper[self._size :] = 0.0

    def best(self, goal: np.ndarray) -> np.ndarray:
        """Return an x at which the goal (n,) is largest; it must be bounded."""
        self._maximise(np.concatenate([goal, np.zeros(len(self._basis))]))
        x = np.where(self._at_upper, self._upper[: self._size], 0.0)
        own = self._basis < self._size
        x[self._basis[own]] = self._values[own]
        return x

    def _maximise(self, goal: np.ndarray) -> None:
        if not _maximise(self._tableau, self._values, self._basis, self._at_upper, self._upper, goal):
            raise ArithmeticError("a linear program without bound, or one whose pivots do not end")


@numba.njit(cache=True)
def _maximise(tableau, values, basis, at_upper, upper, goal):
    """Exchange basic variables until none of the others can improve the goal; False if that does not end.

    The steepest variable enters; after some steps of no length the first one that gains does, and the first that is in the
    way leaves (Bland), until a step has some length again: so it never goes round in circles.
    """
    rows, n = tableau.shape
    slope, idle = np.empty(n), 0
    for _ in range(1000 + 50 * rows):
        stuck = idle > rows
        for j in range(n):
            slope[j] = goal[j]
        for i in range(rows):
            price = goal[basis[i]]
            if price != 0.0:
                for j in range(n):
                    slope[j] -= price * tableau[i, j]
        for i in range(rows):
            if basis[i] < n:
                slope[basis[i]] = 0.0
        enter, steepest = -1, _GAIN
        for j in range(n):
            gain = -slope[j] if at_upper[j] else slope[j]
            if gain > steepest and upper[j] > 0.0:
                enter, steepest = j, gain
                if stuck:
                    break
        if enter < 0:
            return True
        way = -1.0 if at_upper[enter] else 1.0
        length, leave, to_upper = upper[enter], -1, False
        for i in range(rows):
            rate = way * tableau[i, enter]  # at which the i-th basic variable falls
            if abs(rate) < _PIVOT:
                continue
            room = values[i] if rate > 0.0 else upper[basis[i]] - values[i]
            reach = max(room, 0.0) / abs(rate)
            tie = leave >= 0 and abs(reach - length) <= 1e-12
            if tie:
                first = basis[i] < basis[leave] if stuck else abs(rate) > abs(tableau[leave, enter])
            else:
                first = reach < length
            if first:
                length, leave, to_upper = min(reach, length), i, rate < 0.0
        if length == np.inf:
            return False
        idle = idle + 1 if length <= 1e-12 else 0
        for i in range(rows):
            values[i] -= way * length * tableau[i, enter]
        if leave < 0:  # it goes from one of its bounds to the other
            at_upper[enter] = not at_upper[enter]
            continue
        entering = length if way > 0.0 else upper[enter] - length
        if basis[leave] < n:
            at_upper[basis[leave]] = to_upper
        at_upper[enter] = False
        basis[leave], values[leave] = enter, entering
        pivot = tableau[leave, enter]
        for j in range(n):
            tableau[leave, j] /= pivot
        for i in range(rows):
            factor = tableau[i, enter]
            if i != leave and factor != 0.0:
                for j in range(n):
                    tableau[i, j] -= factor * tableau[leave, j]
                tableau[i, enter] = 0.0
        tableau[leave, enter] = 1.0
    return False
