"""When a program has no solution: relax rows with penalised slack, order by order, until it has one, and say which gave way."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import NamedTuple

import numpy as np
from scipy import sparse

from interplay.qp.problem import QP, Conflicting, QPSolution, QPSolver, compress, coordinates

PENALTY, COST_SCALE = 1.0, 1e-3
"""Weight of the squared slack of order 0 (each order more weighs ten times as much), and of the program's own cost.

Only their ratio matters; scaling the cost down instead of the penalty up keeps the multipliers small, which an interior
point method would otherwise take for a sign of infeasibility. Costs above ``LARGE_COST`` are scaled down further: no
weight buys a violation.
"""

LARGE_COST = 300.0

CLOSE = 1e-4
"""Where all rows are relaxed at once: how closely a solution that is not the best yet must satisfy its rows to be taken."""

_PART = 1e-9
"""A row has a part in a conflict from this multiplier on, relative to the largest."""

THRESHOLD, ROUGH_THRESHOLD = 1e-4, 1e-2
"""Slack above which a row counts as relaxed; and where all are relaxed at once."""


class Slack(NamedTuple):
    """A row that may give way: 'A', 'G' or 'x', its index, its order (lower ones first) and how far before the next order."""

    block: str
    index: int
    order: float
    cap: float


class Elastic(NamedTuple):
    """Rows with slack: of each, its block, its index there, its order and its cap."""

    block: np.ndarray
    index: np.ndarray
    order: np.ndarray
    cap: np.ndarray

    @classmethod
    def of(cls, rows: Sequence[Slack]) -> Elastic:
        """Return some rows."""
        block, index, order, cap = zip(*rows, strict=True) if rows else ((), (), (), ())
        return cls(np.array(block, str), np.array(index, np.int64), np.array(order, float), np.array(cap, float))


_NO_SLACK = Elastic.of(())


class Relaxed(NamedTuple):
    """Solution of the relaxed program, and for each row that gave way: 'A', 'G' or 'x', its index and by how much."""

    solution: QPSolution
    slack: list[tuple[str, int, float]]

    @property
    def worst(self) -> float:
        """How far the row gave way that did so most."""
        return max((abs(amount) for *_, amount in self.slack), default=0.0)


def relax_at_once(qp: QP, rows: Elastic, solver: QPSolver, most: int) -> Relaxed | None:
    """Solve with slack on all rows that may give way, in at most so many steps; None: that does not suffice.

    What satisfies all rows then, is taken, whether or not it is the best already.
    """
    solution = solver.solve(slim(_scaled(qp), rows), most)
    close = solution.primal_residual < CLOSE and bool(np.isfinite(solution.x).all())
    return _told(rows, solution, ROUGH_THRESHOLD) if solution.solved or close else None


def relax(qp: QP, rows: Iterable[Slack], solver: QPSolver, conflict: Conflicting | None = None) -> Relaxed | None:
    """Solve with slack on more and more of the rows that may give way; None: nothing helped.

    Of the orders before the first that has a part in a known conflict it is known that they do not suffice. What even all of
    them do not solve is solved without caps.
    """
    qp = _scaled(qp)
    elastic: list[Slack] = []
    levels: list[list[Slack]] = []
    for _, level in groupby(sorted(rows, key=lambda row: (row.order, row.block, row.index)), lambda row: row.order):
        elastic = [*elastic, *level]
        if conflict is None or _concerns(conflict, elastic):
            levels.append(elastic)
    # What one level solves, later ones do: after the first, which often suffices, halve what is left.
    found, low, high, middle = None, 0, len(levels), 0
    while low < high:
        better = _try(qp, Elastic.of(levels[middle]), solver)
        if better is not None:
            found, high = better, middle
        else:
            low = middle + 1
        middle = (low + high) // 2
    return found or _try(qp, Elastic.of([row._replace(cap=np.inf) for row in elastic]), solver)


def _try(qp: QP, rows: Elastic, solver: QPSolver) -> Relaxed | None:
    """Solve with slack on the given rows."""
    solution = solver.solve(slim(qp, rows))
    return _told(rows, solution, THRESHOLD) if solution.solved else None


def _told(rows: Elastic, solution: QPSolution, threshold: float) -> Relaxed:
    """Return a solution with slack without it, and which rows gave way."""
    n = len(solution.x) - len(rows.index)
    slack = solution.x[n:]
    gave = np.flatnonzero(np.abs(slack) > threshold)
    told = zip(rows.block[gave].tolist(), rows.index[gave].tolist(), slack[gave].tolist(), strict=True)
    return Relaxed(solution._replace(x=solution.x[:n]), list(told))


def _scaled(qp: QP) -> QP:
    """Return a program to a scale on which slack is dear, its bounds not crossed."""
    scale = COST_SCALE * min(1.0, LARGE_COST / max(float(qp.P.diagonal().max(initial=0.0)), 1e-9))
    return _uncross(qp)._replace(P=scale * qp.P, c=scale * qp.c)


def _uncross(qp: QP) -> QP:
    """Where a variable's bounds cross, the middle stands for both: slack then moves it."""
    crossed = qp.x_l > qp.x_u
    if not crossed.any():
        return qp
    middle = 0.5 * (qp.x_l + qp.x_u)
    return qp._replace(x_l=np.where(crossed, middle, qp.x_l), x_u=np.where(crossed, middle, qp.x_u))


def _concerns(conflict: Conflicting, rows: list[Slack]) -> bool:
    """Return whether any of some rows has a part in a conflict."""
    largest = max(float(np.abs(part).max(initial=0.0)) for part in conflict)
    return any(abs(getattr(conflict, row.block)[row.index]) > _PART * largest for row in rows)


def slim(qp: QP, rows: Elastic = _NO_SLACK) -> QP:
    """Return the program with one slack variable for each given row, for a solver that sees it only once; relaxed bounds become rows.

    It has no entry that is zero, nor rows of G without any: those of pairs reach over all DOFs of two trees, and most are set aside.
    """
    n, k, g = len(qp.c), len(rows.index), len(qp.h_l)
    blocks, index, orders, caps = rows
    slack = np.arange(n, n + k)
    bounded = index[blocks == "x"]
    bound_rows = np.arange(g, g + len(bounded))
    weights = PENALTY * 10.0**orders
    x_l, x_u = np.concatenate([qp.x_l, -caps]), np.concatenate([qp.x_u, caps])
    x_l[bounded], x_u[bounded] = -np.inf, np.inf
    h_l, h_u = np.concatenate([qp.h_l, qp.x_l[bounded]]), np.concatenate([qp.h_u, qp.x_u[bounded]])

    def entries(matrix: sparse.csc_matrix, *more: tuple[np.ndarray, ...]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        parts = [(*coordinates(matrix), matrix.data), *more]
        r, c, values = (np.concatenate([part[j] for part in parts]) for j in range(3))
        some = values != 0.0
        return r[some], c[some], values[some]

    def compressed(r: np.ndarray, c: np.ndarray, values: np.ndarray, height: int) -> sparse.csc_matrix:
        pointers, indices, position = compress(r, c, height, n + k)
        data = np.empty(len(values))
        data[position] = values
        return sparse.csc_matrix((data, indices, pointers), shape=(height, n + k))

    of_G, of_A, of_x = (np.flatnonzero(blocks == block) for block in "GAx")
    P = entries(qp.P, (slack, slack, weights))
    A = entries(qp.A, (index[of_A], slack[of_A], np.ones(len(of_A))))
    G = entries(
        qp.G,
        (index[of_G], slack[of_G], np.ones(len(of_G))),
        (bound_rows, bounded, np.ones(len(bounded))),
        (bound_rows, slack[of_x], np.ones(len(bounded))),
    )
    asks = (h_l > 0.0) | (h_u < 0.0)
    asks[G[0]] = True
    return QP(
        compressed(*P, n + k),
        np.concatenate([qp.c, np.zeros(k)]),
        compressed(*A, len(qp.b)),
        qp.b,
        compressed((np.cumsum(asks) - 1)[G[0]], *G[1:], int(asks.sum())),
        h_l[asks],
        h_u[asks],
        x_l,
        x_u,
        None,
    )
