"""A large problem as blocks: the same small function of some unknowns, at many places, with exact derivatives.

A block is y = Y(z, c), then cost and rows of y, for each place's unknowns z and constants c. Values and derivatives at all places of a block
come from one tape (`kernels.py`); where they belong in the gradient and the sparse matrices of the whole is settled once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numba
import numpy as np
import scipy.sparse as sp

from interplay.spacetime.kernels import Kernel
from interplay.spacetime.tapes import Tape

INF = np.inf

__all__ = ["INF", "Block", "Kernel", "Program", "Unknowns"]


class Block(NamedTuple):
    """A kernel at N places: which unknowns (N, m), constants (N, k), bounds of its rows (N, r), and what rows are called."""

    kernel: Kernel
    where: np.ndarray
    constants: np.ndarray
    low: np.ndarray
    high: np.ndarray
    label: Callable[[int, int], str]
    margin: float = INF
    """Rows that are guessed to be farther than this within their bounds sleep: they are left out, until what was found violates them."""

    @property
    def kept(self) -> np.ndarray:
        """Which rows bound anything (N·r,)."""
        return (np.isfinite(self.low) | np.isfinite(self.high)).ravel()

    def values(self, x: np.ndarray) -> np.ndarray:
        """Return its rows at all places (N, r)."""
        found = self.kernel.tapes.value.run(np.vstack([x[self.where.T], self.constants.T]), self.kernel.blanks)
        return found[1:, : len(self.where)].T

    def near(self, x: np.ndarray) -> np.ndarray:
        """Return which rows are near their bounds, or beyond them (N, r)."""
        if not np.isfinite(self.margin):
            return np.ones_like(self.low, dtype=bool)
        values = self.values(x)
        return ~((values - self.low > self.margin) & (self.high - values > self.margin))

    def only(self, rows: np.ndarray) -> Block:
        """Return it with some of its rows (N, r): others bound nothing."""
        return self._replace(low=np.where(rows, self.low, -INF), high=np.where(rows, self.high, INF))


class Unknowns:
    """All unknowns of a problem: bounds, first guess, and what they are called."""

    def __init__(self) -> None:
        """Begin with none."""
        self.low, self.high, self.guess = np.zeros(0), np.zeros(0), np.zeros(0)
        self.names: list[tuple[str, int, int]] = []

    def add(self, name: str, guess: np.ndarray, low: Any = -INF, high: Any = INF) -> np.ndarray:
        """Add some, and return their indices, in the shape of the guess."""
        guess = np.asarray(guess, float)
        first = self.guess.size
        self.guess = np.concatenate([self.guess, guess.ravel()])
        self.low = np.concatenate([self.low, np.broadcast_to(low, guess.shape).ravel()])
        self.high = np.concatenate([self.high, np.broadcast_to(high, guess.shape).ravel()])
        self.names.append((name, first, guess.size))
        return np.arange(first, first + guess.size).reshape(guess.shape)

    @property
    def size(self) -> int:
        """How many."""
        return self.guess.size


class Program:
    """Blocks put together: objective f and rows g of all unknowns x, with first and second derivatives."""

    def __init__(self, unknowns: Unknowns, blocks: Sequence[Block]):
        """Settle where everything belongs."""
        self.size, self.blocks, n = unknowns.size, list(blocks), unknowns.size
        self.low, self.high = (
            np.concatenate([np.zeros(0), *(getattr(b, side).ravel()[b.kept] for b in blocks)])
            for side in ("low", "high")
        )
        self.rows = [(b, int(k)) for b, block in enumerate(blocks) for k in np.flatnonzero(block.kept)]
        """Where each row comes from: block, and row of all its places."""
        count = len(self.rows)
        self._values, self._slopes, self._jacobians, self._hessians = [], [], [], []
        self._lam: list[np.ndarray] = []
        first, at_jacobian, at_hessian = 0, [], []
        for block in blocks:
            k, places, where = block.kernel, len(block.where), np.asarray(block.where, np.int64)
            row = np.full(places * k.rows, -1)
            row[block.kept] = first + np.arange(block.kept.sum())
            row, first = row.reshape(places, k.rows), first + int(block.kept.sum())
            self._lam.append(row.T)
            self._values.append(np.vstack([np.full(places, count), row.T]))
            self._slopes.append(where.T)
            r, c = row.T[k.tapes.jacobian.row], where.T[k.tapes.jacobian.column]
            at_jacobian.append(np.where(r < 0, -1, c * count + r))
            one, other = where.T[k.tapes.hessian.row], where.T[k.tapes.hessian.column]
            at_hessian.append(np.maximum(one, other) * n + np.minimum(one, other))
        self.jacobian_pattern, self._jacobians = _pattern(at_jacobian, (count, n))
        at_hessian.append(np.arange(n)[None] * (n + 1))
        self.hessian_pattern, self._hessians = _pattern(at_hessian, (n, n))

    def values(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the objective and the rows."""
        found = self._summed("value", x, self._values, len(self.low) + 1)
        return float(found[-1]), found[:-1]

    def gradient(self, x: np.ndarray) -> np.ndarray:
        """Return that of the objective."""
        return self._summed("gradient", x, self._slopes, self.size)

    def jacobian(self, x: np.ndarray) -> np.ndarray:
        """Return the entries of that of the rows, in the order of its pattern."""
        return self._summed("jacobian", x, self._jacobians, self.jacobian_pattern.nnz)

    def hessian(self, x: np.ndarray, scale: float, multipliers: np.ndarray, damping: float = 0.0) -> np.ndarray:
        """Return the entries of the upper triangle of that of the Lagrangian, scale · objective + multipliers · rows + ½ damping x²."""
        lam = np.append(multipliers, 0.0)  # of rows that bound nothing
        beside = [np.vstack([np.full(at.shape[1], scale), lam[at]]) for at in self._lam]
        out = self._summed("hessian", x, self._hessians, self.hessian_pattern.nnz, beside)
        out[self._hessians[-1][0]] += damping
        return out

    def _summed(
        self, what: str, x: np.ndarray, to: Sequence[np.ndarray], size: int, beside: Sequence[np.ndarray] | None = None
    ):
        """Run a tape of each block, and add what comes out where it belongs."""
        out = np.zeros(size)
        for b, block in enumerate(self.blocks):
            tape: Tape = getattr(block.kernel.tapes, what)
            if tape.outputs and len(block.where):
                given = [x[block.where.T], block.constants.T, *([] if beside is None else [beside[b]])]
                _add(out, to[b], tape.run(np.concatenate(given), block.kernel.blanks))
        return out


@numba.njit(cache=True, error_model="numpy")
def _add(out, to, values):  # pragma: no cover - compiled
    for k in range(to.shape[0]):
        for p in range(to.shape[1]):
            if to[k, p] >= 0:
                out[to[k, p]] += values[k, p]


def _pattern(codes: Sequence[np.ndarray], shape: tuple[int, int]) -> tuple[Any, list[np.ndarray]]:
    """Return a sparse matrix of ones, and where in its entries each value belongs, of codes column · height + row (−1: nowhere)."""
    code = np.sort(np.concatenate([np.zeros(0, int), *(one.ravel() for one in codes)]))
    code = code[(code >= 0) & np.concatenate([[True], code[1:] != code[:-1]])[: code.size]]
    column, row = np.divmod(code, max(shape[0], 1))
    starts = np.searchsorted(column, np.arange(shape[1] + 1))
    pattern = sp.csc_matrix((np.ones(code.size), row, starts), shape)
    return pattern, [np.where(one < 0, -1, np.searchsorted(code, one)) for one in codes]
