"""A sparse QP on a fixed pattern, whose values are gathered from one source vector each step.

min ½ xᵀPx + cᵀx   subject to   A x = b,   h_l ≤ G x ≤ h_u,   x_l ≤ x ≤ x_u
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

import numba
import numpy as np
from scipy import sparse


class QP(NamedTuple):
    """One problem. P holds its upper triangle; infinite bounds mark free sides; ``pattern`` identifies the sparsity pattern."""

    P: sparse.csc_matrix
    c: np.ndarray
    A: sparse.csc_matrix
    b: np.ndarray
    G: sparse.csc_matrix
    h_l: np.ndarray
    h_u: np.ndarray
    x_l: np.ndarray
    x_u: np.ndarray
    pattern: object

    def objective(self, x: np.ndarray) -> float:
        """Return the value of the objective at x."""
        upper = self.P @ x
        return float(x @ upper - 0.5 * x @ (self.P.diagonal() * x) + self.c @ x)

    def violation(self, x: np.ndarray) -> float:
        """Return the largest violation of any row or bound at x."""
        worst = [np.abs(self.A @ x - self.b), self.h_l - self.G @ x, self.G @ x - self.h_u, self.x_l - x, x - self.x_u]
        return max(float(part.max(initial=0.0)) for part in worst)


class QPSolution(NamedTuple):
    """A solution with its own proof."""

    x: np.ndarray
    solved: bool
    status: str
    iterations: int
    primal_residual: float
    dual_residual: float
    gap: float
    seconds: float


class QPSolver(Protocol):
    """What a solver offers: ``solve`` never raises on a hard problem, it says so in the status."""

    name: str

    def solve(self, qp: QP) -> QPSolution:
        """Solve one problem."""
        ...


class Pattern:
    """Collects entries (row, column, index into the source vector, sign); then gathers values into a fixed CSC matrix."""

    def __init__(self) -> None:
        """Start empty."""
        self._rows: list[np.ndarray] = []
        self._cols: list[np.ndarray] = []
        self._source: list[np.ndarray] = []
        self._sign: list[np.ndarray] = []

    def add(self, rows, cols, source, sign: float = 1.0) -> None:
        """Add entries; the arguments broadcast against each other."""
        r, c, s, g = np.broadcast_arrays(rows, cols, source, sign)
        self._rows.append(r.ravel())
        self._cols.append(c.ravel())
        self._source.append(s.ravel())
        self._sign.append(g.ravel())

    def freeze(self, shape: tuple[int, int]) -> tuple[sparse.csc_matrix, Callable[[np.ndarray], None]]:
        """Return the matrix and a function that gathers its values from the source vector; an entry may stand only once."""
        rows, cols, source, sign = (
            np.concatenate(part) if part else np.zeros(0) for part in (self._rows, self._cols, self._source, self._sign)
        )
        order = np.lexsort((rows, cols))
        rows, cols, source, sign = (
            rows[order].astype(np.int32),
            cols[order].astype(np.int32),
            source[order].astype(np.int64),
            sign[order].astype(float),
        )
        indptr = np.zeros(shape[1] + 1, np.int32)
        np.cumsum(np.bincount(cols, minlength=shape[1]), out=indptr[1:])
        matrix = sparse.csc_matrix((np.ones(len(rows)), rows, indptr), shape=shape)
        data = matrix.data

        return matrix, lambda values: _gather(values, source, sign, data)


@numba.njit(cache=True)
def _gather(values, source, sign, out):
    for e in range(source.shape[0]):
        out[e] = sign[e] * values[source[e]]
