"""When a program has no solution: relax rows with penalised slack, kind by kind, until it has one, and name the conflict."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse

from interplay.qp.problem import QP, QPSolution, QPSolver

ORDER = ("force", "collision", "limit", "torque", "slip")
"""Kinds of rows in the order in which they give way; dynamics, third law, unilaterality and friction never do.

``force`` is a wished minimum normal force: a comfort, not a law.
"""

PENALTY, COST_SCALE = 1.0, 1e-3
"""Weight of the squared slack of the first kind (each later kind weighs ten times more), and of the program's own cost.

Only their ratio matters; scaling the cost down instead of the penalty up keeps the multipliers small, which an interior
point method would otherwise take for a sign of infeasibility. Costs above ``LARGE_COST`` are scaled down further: no
weight buys a violation.
"""

LARGE_COST = 300.0

CAPS = {"force": np.inf, "collision": 1000.0, "limit": 3000.0, "torque": 1000.0, "slip": np.inf}
"""How far a kind gives way [m/s², rad/s², N·m] before the next one does; what even that does not solve is solved without caps."""

THRESHOLD = 1e-4
"""Slack above which a row counts as relaxed."""


class Slack(NamedTuple):
    """A row that may give way: 'A', 'G' or 'x', its index, the weight of its squared slack and how far it may go."""

    block: str
    index: int
    weight: float
    cap: float


class Relaxed(NamedTuple):
    """Solution of the relaxed program, and for each row that gave way: 'A', 'G' or 'x', its index and by how much."""

    solution: QPSolution
    slack: list[tuple[str, int, float]]


def relax(qp: QP, kinds: dict[str, list[tuple[str, int]]], solver: QPSolver) -> Relaxed | None:
    """Solve with slack on more and more kinds of rows; ``kinds`` maps a kind to its rows (block, index). None: nothing helped."""
    scale = COST_SCALE * min(1.0, LARGE_COST / max(float(qp.P.diagonal().max(initial=0.0)), 1e-9))
    qp = _uncross(qp)._replace(P=scale * qp.P, c=scale * qp.c)
    rows: list[Slack] = []
    for level, kind in enumerate(ORDER):
        if kinds.get(kind):
            rows += [Slack(block, index, PENALTY * 10.0**level, CAPS[kind]) for block, index in kinds[kind]]
            found = _try(qp, rows, solver)
            if found is not None:
                return found
    return _try(qp, [row._replace(cap=np.inf) for row in rows], solver)


def _try(qp: QP, rows: list[Slack], solver: QPSolver) -> Relaxed | None:
    """Solve with slack on the given rows."""
    n = len(qp.c)
    solution = solver.solve(_elastic(qp, rows))
    if not solution.solved:
        return None
    gave = [(row.block, row.index, float(s)) for row, s in zip(rows, solution.x[n:], strict=True) if abs(s) > THRESHOLD]
    return Relaxed(solution._replace(x=solution.x[:n]), gave)


def _uncross(qp: QP) -> QP:
    """Where a variable's bounds cross, the middle stands for both: slack then moves it."""
    crossed = qp.x_l > qp.x_u
    if not crossed.any():
        return qp
    middle = 0.5 * (qp.x_l + qp.x_u)
    return qp._replace(x_l=np.where(crossed, middle, qp.x_l), x_u=np.where(crossed, middle, qp.x_u))


def _elastic(qp: QP, rows: list[Slack]) -> QP:
    """Return the program with one slack variable for each given row; relaxed bounds become rows."""
    n, k = len(qp.c), len(rows)
    which = {block: [(j, index) for j, (b, index, *_) in enumerate(rows) if b == block] for block in "AGx"}

    def slack_columns(block: str, count: int, at: dict[int, int] | None = None) -> sparse.csc_matrix:
        entries = [(at[i] if at else i, j) for j, i in which[block]]
        r, c = (list(z) for z in zip(*entries, strict=True)) if entries else ([], [])
        return sparse.csc_matrix((np.ones(len(r)), (r, c)), shape=(count, k))

    bounded = [i for _, i in which["x"]]
    place = {i: row for row, i in enumerate(bounded)}
    pick = sparse.csc_matrix((np.ones(len(bounded)), (range(len(bounded)), bounded)), shape=(len(bounded), n))
    caps = np.array([row.cap for row in rows])
    x_l, x_u = np.concatenate([qp.x_l, -caps]), np.concatenate([qp.x_u, caps])
    x_l[bounded], x_u[bounded] = -np.inf, np.inf
    G = sparse.bmat(
        [[qp.G, slack_columns("G", len(qp.h_l))], [pick, slack_columns("x", len(bounded), place)]], format="csc"
    )
    A = sparse.hstack([qp.A, slack_columns("A", len(qp.b))], format="csc")
    P = sparse.block_diag([qp.P, sparse.diags([row.weight for row in rows])], format="csc")
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
