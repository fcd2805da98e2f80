"""A sparse QP on a fixed pattern, whose values are gathered from one source vector each step.

min ½ xᵀPx + cᵀx   subject to   A x = b,   h_l ≤ G x ≤ h_u,   x_l ≤ x ≤ x_u
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import numba
import numpy as np
from scipy import sparse


class QP(NamedTuple):
    """One problem. P holds its upper triangle; infinite bounds mark free sides; ``pattern`` identifies the sparsity pattern.

    ``names`` are numbers that identify each row of G, then each variable's bounds, from one pattern to the next.
    """

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
    names: np.ndarray | None = None

    def objective(self, x: np.ndarray) -> float:
        """Return the value of the objective at x."""
        upper = self.P @ x
        return float(x @ upper - 0.5 * x @ (self.P.diagonal() * x) + self.c @ x)

    def violation(self, x: np.ndarray) -> float:
        """Return the largest violation of any row or bound at x."""
        worst = [np.abs(self.A @ x - self.b), self.h_l - self.G @ x, self.G @ x - self.h_u, self.x_l - x, x - self.x_u]
        return max(float(part.max(initial=0.0)) for part in worst)


class Conflicting(NamedTuple):
    """Multipliers of the rows of A, of those of G and of the bounds that together no point satisfies (Farkas' lemma)."""

    A: np.ndarray
    G: np.ndarray
    x: np.ndarray


class QPSolution(NamedTuple):
    """A solution with its own proof; of a problem that has none, perhaps which rows are in conflict."""

    x: np.ndarray
    solved: bool
    status: str
    iterations: int
    primal_residual: float
    dual_residual: float
    gap: float
    seconds: float
    conflict: Conflicting | None = None


class QPSolver(Protocol):
    """What a solver offers: ``solve`` never raises on a hard problem, it says so in the status."""

    name: str

    def solve(self, qp: QP, most: int | None = None) -> QPSolution:
        """Solve one problem, with at most so much work (changes of rows, steps) where that is bounded: then it may not be solved."""
        ...

    def forget(self) -> None:
        """Solve the next problem as a new solver would, to the bit."""
        ...


class Entries(NamedTuple):
    """Entries of a matrix: row, column, and where in the source vector the value stands."""

    row: np.ndarray
    column: np.ndarray
    source: np.ndarray


def coordinates(matrix: sparse.csc_matrix) -> tuple[np.ndarray, np.ndarray]:
    """Return rows and columns of the entries in the order of their values."""
    columns = np.repeat(np.arange(len(matrix.indptr) - 1), np.diff(matrix.indptr))
    return matrix.indices.astype(np.int64), columns


class Pattern:
    """Collects entries (row, column, index into the source vector, sign); then gathers values into a fixed CSC matrix."""

    def __init__(self) -> None:
        """Start empty."""
        self._entries: list[tuple[np.ndarray, np.ndarray, np.ndarray, float]] = []

    def add(self, rows: np.ndarray, cols: np.ndarray, source: np.ndarray, sign: float = 1.0) -> None:
        """Add entries, one per element of the three arrays."""
        self._entries.append((rows, cols, source, sign))

    def add_blocks(self, row: int, heights: Sequence[int], columns: Sequence[np.ndarray], source: int) -> None:
        """Add dense blocks, one below the other from a row on, whose values stand row by row in the source from an index on."""
        if columns:
            widths = np.array([len(part) for part in columns], np.int64)
            rows, cols = _block_entries(np.array(heights, np.int64), widths, np.concatenate(columns), row)
            self.add(rows, cols, np.arange(source, source + len(rows)))

    def freeze(self, shape: tuple[int, int]) -> tuple[sparse.csc_matrix, Callable[[np.ndarray], None]]:
        """Return the matrix and a function that gathers its values from the source vector; an entry may stand only once."""
        none = (np.zeros(0, np.int64),) * 3
        parts = [(*none, 1.0), *self._entries]
        rows, cols, given = (np.concatenate([part[k] for part in parts]).astype(np.int64, copy=False) for k in range(3))
        signs = np.repeat([part[3] for part in parts], [len(part[0]) for part in parts])
        indptr, indices, position = compress(rows, cols, *shape)
        source, sign = np.empty_like(given), np.empty(len(given))
        source[position], sign[position] = given, signs
        return gathered(indptr, indices, source, sign, shape)


def gathered(
    indptr: np.ndarray, indices: np.ndarray, source: np.ndarray, sign: np.ndarray, shape: tuple[int, int]
) -> tuple[sparse.csc_matrix, Callable[[np.ndarray], None]]:
    """Return a matrix of compressed columns and a function that gathers its values from the source vector."""
    matrix = sparse.csc_matrix((np.ones(len(indices)), indices, indptr), shape=shape)
    data = matrix.data
    return matrix, lambda values: _gather(values, source, sign, data)


@numba.njit(cache=True)
def _block_entries(heights, widths, columns, row):
    """Return rows and columns of the entries of dense blocks, one below the other."""
    total = 0
    for b in range(heights.shape[0]):
        total += heights[b] * widths[b]
    rows, cols, at, first = np.empty(total, np.int64), np.empty(total, np.int64), 0, 0
    for b in range(heights.shape[0]):
        for _ in range(heights[b]):
            for j in range(first, first + widths[b]):
                rows[at], cols[at] = row, columns[j]
                at += 1
            row += 1
        first += widths[b]
    return rows, cols


@numba.njit(cache=True)
def compress(rows, cols, n_rows, n_cols):
    """Return pointers and row indices of compressed columns, and the position of each entry in them.

    Entries that fall on one place share it. Two counting sorts, by row and then by column.
    """
    count = rows.shape[0]
    by_row, start = np.empty(count, np.int64), np.zeros(n_rows + 1, np.int64)
    for e in range(count):
        start[rows[e] + 1] += 1
    for i in range(n_rows):
        start[i + 1] += start[i]
    for e in range(count):
        by_row[start[rows[e]]] = e
        start[rows[e]] += 1
    order, begin = np.empty(count, np.int64), np.zeros(n_cols + 1, np.int64)
    for e in range(count):
        begin[cols[e] + 1] += 1
    for j in range(n_cols):
        begin[j + 1] += begin[j]
    for k in range(count):
        e = by_row[k]
        order[begin[cols[e]]] = e
        begin[cols[e]] += 1
    pointers, indices = np.zeros(n_cols + 1, np.int32), np.empty(count, np.int32)
    position, places = np.empty(count, np.int64), 0
    for k in range(count):
        e, before = order[k], order[k - 1]
        if k == 0 or rows[e] != rows[before] or cols[e] != cols[before]:
            indices[places] = rows[e]
            pointers[cols[e] + 1] += 1
            places += 1
        position[e] = places - 1
    for j in range(n_cols):
        pointers[j + 1] += pointers[j]
    return pointers, indices[:places], position


@numba.njit(cache=True)
def _gather(values, source, sign, out):
    for e in range(source.shape[0]):
        out[e] = sign[e] * values[source[e]]
