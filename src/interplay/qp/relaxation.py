"""When a program has no solution: relax rows with penalised slack, kind by kind, until it has one, and name the conflict."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse

from interplay.qp.problem import QP
from interplay.qp.solvers import QPSolution, QPSolver

ORDER = ("force", "collision", "limit", "torque", "slip")
"""Kinds of rows in the order in which they give way; dynamics, third law, unilaterality and friction never do.

``force`` is a wished minimum normal force: a comfort, not a law.
"""

PENALTY, COST_SCALE = 1.0, 1e-3
"""Weight of the squared slack of the first kind (each later kind weighs ten times more), and of the program's own cost.

Only their ratio matters; scaling the cost down instead of the penalty up keeps the multipliers small, which an interior
point method would otherwise take for a sign of infeasibility.
"""

THRESHOLD = 1e-4
"""Slack above which a row counts as relaxed."""


class Relaxed(NamedTuple):
    """Solution of the relaxed program, and for each row that gave way: 'A', 'G' or 'x', its index and by how much."""

    solution: QPSolution
    slack: list[tuple[str, int, float]]


def relax(qp: QP, kinds: dict[str, list[tuple[str, int]]], solver: QPSolver) -> Relaxed | None:
    """Solve with slack on more and more kinds of rows; ``kinds`` maps a kind to its rows (block, index). None: nothing helped."""
    qp = _uncross(qp)._replace(P=COST_SCALE * qp.P, c=COST_SCALE * qp.c)
    rows: list[tuple[str, int, float]] = []
    for level, kind in enumerate(ORDER):
        if not kinds.get(kind):
            continue
        rows += [(block, index, PENALTY * 10.0**level) for block, index in kinds[kind]]
        elastic = _elastic(qp, rows)
        solution = solver.solve(elastic)
        n = len(qp.c)
        if solution.solved:
            slack = solution.x[n:]
            gave = [
                (block, index, float(s)) for (block, index, _), s in zip(rows, slack, strict=True) if abs(s) > THRESHOLD
            ]
            return Relaxed(solution._replace(x=solution.x[:n]), gave)
    return None


def _uncross(qp: QP) -> QP:
    """Where a variable's bounds cross, the middle stands for both: slack then moves it."""
    crossed = qp.x_l > qp.x_u
    if not crossed.any():
        return qp
    middle = 0.5 * (qp.x_l + qp.x_u)
    return qp._replace(x_l=np.where(crossed, middle, qp.x_l), x_u=np.where(crossed, middle, qp.x_u))


def _elastic(qp: QP, rows: list[tuple[str, int, float]]) -> QP:
    """Return the program with one slack variable for each given row; relaxed bounds become rows."""
    n, k = len(qp.c), len(rows)
    which = {block: [(j, index) for j, (b, index, _) in enumerate(rows) if b == block] for block in "AGx"}

    def slack_columns(block: str, count: int, at: dict[int, int] | None = None) -> sparse.csc_matrix:
        entries = [(at[i] if at else i, j) for j, i in which[block]]
        r, c = (list(z) for z in zip(*entries, strict=True)) if entries else ([], [])
        return sparse.csc_matrix((np.ones(len(r)), (r, c)), shape=(count, k))

    bounded = [i for _, i in which["x"]]
    place = {i: row for row, i in enumerate(bounded)}
    pick = sparse.csc_matrix((np.ones(len(bounded)), (range(len(bounded)), bounded)), shape=(len(bounded), n))
    x_l, x_u = np.concatenate([qp.x_l, np.full(k, -np.inf)]), np.concatenate([qp.x_u, np.full(k, np.inf)])
    x_l[bounded], x_u[bounded] = -np.inf, np.inf
    G = sparse.bmat(
        [[qp.G, slack_columns("G", len(qp.h_l))], [pick, slack_columns("x", len(bounded), place)]], format="csc"
    )
    A = sparse.hstack([qp.A, slack_columns("A", len(qp.b))], format="csc")
    P = sparse.block_diag([qp.P, sparse.diags([w for _, _, w in rows])], format="csc")
    return QP(
        sparse.csc_matrix(P),
        np.concatenate([qp.c, np.zeros(k)]),
        sparse.csc_matrix(A),
        qp.b,
        sparse.csc_matrix(G),
        np.concatenate([qp.h_l, qp.x_l[bounded]]),
        np.concatenate([qp.h_u, qp.x_u[bounded]]),
        x_l,
        x_u,
        None,
    )
