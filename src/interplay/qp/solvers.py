"""One small interface over the QP solvers; each keeps its factorisation's pattern between problems of one pattern."""

from __future__ import annotations

import time

import numpy as np
import piqp
from scipy import sparse

from interplay.errors import pick
from interplay.qp.active_set import ActiveSet
from interplay.qp.problem import QP, QPSolution, QPSolver


class Piqp:
    """PIQP, sparse: a proximal interior point method, robust against redundant rows and detecting infeasibility."""

    name = "piqp"

    def __init__(self, tolerance: float = 1e-9, max_iterations: int = 120):
        """Take the absolute and relative tolerance of the residuals."""
        self._tolerance, self._max_iterations = tolerance, max_iterations
        self._solver = piqp.SparseSolver()
        self._pattern: object = None

    def solve(self, qp: QP, most: int | None = None) -> QPSolution:
        """Solve one problem, within ``most`` steps; the first of a pattern is factorised symbolically."""
        start = time.perf_counter()
        if qp.pattern is None or qp.pattern is not self._pattern:
            self._solver = solver = piqp.SparseSolver()
            s = solver.settings
            s.eps_abs = s.eps_rel = self._tolerance
            s.eps_duality_gap_abs = s.eps_duality_gap_rel = self._tolerance * 10
            solver.setup(qp.P, qp.c, qp.A, qp.b, qp.G, qp.h_l, qp.h_u, qp.x_l, qp.x_u)
            self._pattern = qp.pattern
        else:
            solver = self._solver
            solver.update(qp.P, qp.c, qp.A, qp.b, qp.G, qp.h_l, qp.h_u, qp.x_l, qp.x_u)
        solver.settings.max_iter = self._max_iterations if most is None else most
        status = solver.solve()
        if (
            status == piqp.PIQP_MAX_ITER_REACHED and most is None
        ):  # costs of very different size: its steps need refining
            solver.settings.iterative_refinement_always_enabled = True
            status = solver.solve()
            solver.settings.iterative_refinement_always_enabled = False
        info = solver.result.info
        x = np.array(solver.result.x)
        solved = status == piqp.PIQP_SOLVED and bool(np.isfinite(x).all())
        return QPSolution(
            x,
            solved,
            str(status).rsplit("_", 1)[-1].lower(),
            int(info.iter),
            float(info.primal_res),
            float(info.dual_res),
            float(info.duality_gap),
            time.perf_counter() - start,
        )

    def forget(self) -> None:
        """Set the next problem up anew: what scales it would otherwise be that of the first one of its pattern."""
        self._pattern = None


class ProxQP:
    """ProxQP, sparse, cold-started: for comparison."""

    name = "proxqp"

    def __init__(self, tolerance: float = 1e-8, max_iterations: int = 2000):
        """Take the absolute tolerance of the residuals."""
        self._tolerance, self._max_iterations = tolerance, max_iterations

    def solve(self, qp: QP, most: int | None = None) -> QPSolution:
        """Solve one problem, within ``most`` iterations.

        Bounds become rows; crossed ones are refused here, because ProxQP reports them as solved.
        """
        from proxsuite import proxqp

        start = time.perf_counter()
        n = len(qp.c)
        bounded = np.flatnonzero(np.isfinite(qp.x_l) | np.isfinite(qp.x_u))
        rows = sparse.csc_matrix(
            sparse.vstack(
                [
                    qp.G,
                    sparse.csr_matrix((np.ones(len(bounded)), (range(len(bounded)), bounded)), shape=(len(bounded), n)),
                ]
            )
        )
        low, high = np.concatenate([qp.h_l, qp.x_l[bounded]]), np.concatenate([qp.h_u, qp.x_u[bounded]])
        if (low > high).any():
            return QPSolution(np.zeros(n), False, "infeasible", 0, np.inf, np.inf, np.inf, time.perf_counter() - start)
        full = sparse.csc_matrix(qp.P + sparse.triu(qp.P, 1).T)
        solver = proxqp.sparse.QP(n, len(qp.b), len(low))
        solver.settings.eps_abs, solver.settings.eps_rel = self._tolerance, 0.0
        solver.settings.max_iter = self._max_iterations if most is None else most
        solver.init(full, qp.c, qp.A, qp.b, rows, np.maximum(low, -1e20), np.minimum(high, 1e20))
        solver.solve()
        info, x = solver.results.info, np.array(solver.results.x)
        solved = "SOLVED" in str(info.status) and bool(np.isfinite(x).all()) and qp.violation(x) < 1e3 * self._tolerance
        return QPSolution(
            x,
            solved,
            str(info.status).rsplit("_", 1)[-1].lower(),
            int(info.iter),
            float(info.pri_res),
            float(info.dua_res),
            float(info.duality_gap),
            time.perf_counter() - start,
        )

    def forget(self) -> None:
        """Do nothing: every problem is a new one."""


class Daqp:
    """DAQP, a dense dual active-set method, cold-started: for comparison on small problems."""

    name = "daqp"

    def solve(self, qp: QP, most: int | None = None) -> QPSolution:
        """Solve one problem, with dense matrices, however much work that is: such problems are small."""
        import daqp

        start = time.perf_counter()
        n, eq = len(qp.c), len(qp.b)
        hessian = np.asarray(qp.P.todense())
        hessian = np.ascontiguousarray(hessian + np.triu(hessian, 1).T)
        rows = np.ascontiguousarray(sparse.vstack([qp.A, qp.G]).toarray())
        high = np.minimum(np.concatenate([qp.x_u, qp.b, qp.h_u]), 1e30)
        low = np.maximum(np.concatenate([qp.x_l, qp.b, qp.h_l]), -1e30)
        sense = np.zeros(len(high), np.int32)
        sense[n : n + eq] = 5  # equality: active and immutable
        x, _, code, info = daqp.solve(hessian, qp.c.copy(), rows, high, low, sense)
        x = np.array(x, float)
        violation = qp.violation(x) if np.isfinite(x).all() else np.inf
        solved = code > 0 and violation < 1e-5
        status = "solved" if solved else {-1: "infeasible"}.get(code, f"exit {code}")
        seconds = time.perf_counter() - start
        return QPSolution(x, solved, status, int(info["iterations"]), violation, np.nan, np.nan, seconds)

    def forget(self) -> None:
        """Do nothing: every problem is a new one."""


SOLVERS = {"active_set": lambda: ActiveSet(Piqp()), "piqp": Piqp, "proxqp": ProxQP, "daqp": Daqp}

DEFAULT = "active_set"


def make_solver(name: str) -> QPSolver:
    """Return a new solver by name."""
    return pick("solver", name, SOLVERS)()
