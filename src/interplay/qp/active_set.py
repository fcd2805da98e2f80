"""The fast solver: a warm-started dual active-set method on one sparse LDLᵀ factorisation per problem.

The rows that hold with equality (the working set W) make the optimality system

    [ P   Aᵀ  C_Wᵀ ] [ x ]   [ −c  ]
    [ A   0   0    ] [ y ] = [  b  ]        l ≤ C x ≤ u: the rows of G, then the bounds of x
    [ C_W 0   0    ] [ μ ]   [ b_W ]

It is factorised once (qdldl) with a little regularisation, which corrections by the residual take out again. Short rows
(friction, bounds) stand in the factorised matrix whether they hold or not, with zeros for their entries while they do not.
Long rows, and every change of W after the factorisation, are a border of it, eliminated by a small dense Schur complement:
a change costs a solve, not a factorisation. The method is Goldfarb and Idnani's: from a point that is optimal for its W, with
multipliers of the right sign, raise the multiplier of the most violated row until the row holds, and drop rows whose
multiplier reaches zero on the way. The dual objective rises with every step, so it ends: at the solution, or at a row that
nothing can satisfy.
"""

from __future__ import annotations

import time

import numpy as np
import qdldl

from interplay.qp import kkt
from interplay.qp.problem import QP, Conflicting, QPSolution, QPSolver

_ACCURATE, _ACCEPTED = 1e-13, 1e-8
"""Relative residual of the optimality system that ends its corrections (of its gradient a tenth), and the largest accepted.

The former makes solutions agree to 1e-9 in q̈ whatever working set they were found from: a plan has no hidden input.
"""

_INDEPENDENT = 1e-7
"""A row moves by less than this (1: freely, under the largest cost) only if it depends on rows that hold already."""

_FAR = 1e6
"""A problem whose solutions all lie farther away than this [m/s², N] has none."""

_CORRECTIONS, _BORDER = 8, 64
"""Most corrections of one system; least room for columns of the border."""


_LAYOUTS = 32
"""Patterns whose layout, ordering and symbolic factorisation are kept."""


class _Point:
    """A point of the optimality system: x, the equalities' y, the inequalities' μ."""

    def __init__(self, layout: kkt.Layout):
        self.x, self.y, self.mu = np.zeros(layout.n), np.zeros(layout.m), np.zeros(layout.rows)

    def clear(self) -> None:
        for part in (self.x, self.y, self.mu):
            part[:] = 0.0

    def add(self, other: _Point, t: float = 1.0) -> None:
        kkt.move(self.x, self.y, self.mu, other.x, other.y, other.mu, t)


class ActiveSet:
    """Solves one problem after another; the rows that held in the last one are the first guess for the next.

    P must be positive definite where A x = 0 (a cost on every direction that is free). What is not, and what does not settle,
    is left to the safeguard, and the status says so.
    """

    name = "active_set"

    def __init__(self, safeguard: QPSolver, max_changes: int = 300):
        """Take the solver that steps in, and the largest number of rows added and dropped in one problem."""
        self._safeguard, self._max_changes = safeguard, max_changes
        self._key: object = None
        self._layouts: dict[int, tuple[object, kkt.Layout]] = {}
        """Layouts of the last patterns, by the identity of each (which is kept, so that it stays its own)."""
        self._side, self._names = np.zeros(0, np.int64), np.zeros(0, np.int64)
        self._buffer = np.zeros(0)
        """Room for the border of the largest pattern so far: K⁻¹ B and the Schur complement."""

    def solve(self, qp: QP, most: int | None = None) -> QPSolution:
        """Solve one problem; within ``most`` changes of rows, if bounded, and without the safeguard then."""
        begin = time.perf_counter()
        if qp.pattern is None or qp.pattern is not self._key:
            self._begin(qp)
        crossed = self._load(qp)
        before = None if most is None else self._side.copy()
        self._most = self._max_changes if most is None else most
        try:
            status = "infeasible" if crossed else self._iterate()
        except np.linalg.LinAlgError:
            status = "singular border"
        if status in ("solved", "proven infeasible") or crossed:
            gap = kkt.gap(self._r1, self._r2, self._r3, self._at.x, self._at.y, self._at.mu)
            x, solved = self._at.x.copy(), status == "solved"
            seconds, rows = time.perf_counter() - begin, None if solved or crossed else self._conflict(qp)
            said = "solved" if solved else "infeasible"
            return QPSolution(x, solved, said, self._changes, self._primal, self._dual, gap, seconds, rows)
        # What did not settle is solved by the safeguard; what seems infeasible without a proof is confirmed by it.
        self._at.clear()
        if before is not None:
            self._side[:] = before
            seconds = time.perf_counter() - begin
            return QPSolution(self._at.x.copy(), False, status, self._changes, np.inf, np.inf, np.inf, seconds)
        self._side[:] = 0
        found = self._safeguard.solve(qp)
        sure = status == "infeasible" and not found.solved
        said = status if sure else f"safeguard ({status}): {found.status}"
        return found._replace(status=said, seconds=time.perf_counter() - begin)

    def forget(self) -> None:
        """Solve the next problem as a new solver does: no first guess. Layouts stay, which change no solution."""
        self._key = None
        self._side, self._names = np.zeros(0, np.int64), np.zeros(0, np.int64)
        self._safeguard.forget()

    def prepare(self, qp: QP) -> None:
        """Lay out and order a pattern before its first problem comes; values do not matter."""
        k = self._layout_of(qp)
        if k.factor is None:
            k.K.data[:] = 0.0
            k.K.data[k.diagonal] = np.where(np.arange(k.size) < k.n, 1.0, -1.0)
            k.factor = qdldl.Solver(k.K, upper=True)

    def _conflict(self, qp: QP) -> Conflicting:
        """Return the multipliers of the rows in conflict: those that grow along the way."""
        g, mu = len(qp.h_l), self._way.mu.copy()
        mu[self._violated] = 1.0
        return Conflicting(self._way.y.copy(), mu[:g], mu[g:])

    # -- a pattern, a problem ------------------------------------------------------------------------------------------

    def _begin(self, qp: QP) -> None:
        """Take up a pattern, a new one or one known already; rows that held before, by their names, are its first guess."""
        self._layout = k = self._layout_of(qp)
        self._key = qp.pattern
        self._at, self._way = _Point(k), _Point(k)
        self._r1, self._r2, self._r3 = np.zeros(k.n), np.zeros(k.m), np.zeros(k.rows)
        self._side = kkt.carried(self._names, self._side, qp.names if qp.names is not None else np.full(k.rows, -1))
        self._names = qp.names if qp.names is not None else np.zeros(0, np.int64)
        """Of each row: 0 it need not hold; ±1 it holds at its upper or lower bound; 2 its bounds are one."""
        self._factored = np.zeros(k.rows, np.int64)
        """Its side when K was factorised."""
        self._low, self._high, self._length = np.empty(k.rows), np.empty(k.rows), np.empty(k.rows)
        self._rhs, self._pull = np.empty(k.size), np.zeros(k.n)
        self._zeros_b, self._zeros_row = np.zeros(k.m), np.zeros(k.rows)
        self._room = _BORDER + (k.rows - len(k.resident)) // 4
        need = self._room * (k.size + self._room)
        if len(self._buffer) < need:
            self._buffer = np.zeros(need)
        self._T = self._buffer[: self._room * k.size].reshape(self._room, k.size)
        self._S = self._buffer[self._room * k.size : need].reshape(self._room, self._room)
        self._border, self._width, self._stale = np.zeros(self._room, np.int64), 0, False
        """Columns of the border: r for a row added to K, −1 − r for a row of K that no longer holds; changed since K was made."""
        self._primal = self._dual = 0.0
        self._changes = 0

    def _layout_of(self, qp: QP) -> kkt.Layout:
        """Return the layout of a problem's pattern."""
        _, layout = self._layouts.pop(id(qp.pattern), (None, None))
        if layout is None:
            layout = kkt.Layout(qp)
        if qp.pattern is not None:
            self._layouts[id(qp.pattern)] = qp.pattern, layout  # the one used last stands last
            if len(self._layouts) > _LAYOUTS:
                del self._layouts[next(iter(self._layouts))]
        return layout

    def _load(self, qp: QP) -> bool:
        """Take the values of a problem; return whether bounds cross."""
        k, g = self._layout, len(qp.h_l)
        self._qp, self._changes, self._softness = qp, 0, kkt.DUAL
        np.take(qp.G.data, k.from_G, out=k.C.val[: len(k.from_G)], mode="clip")
        self._low[:g], self._low[g:], self._high[:g], self._high[g:] = qp.h_l, qp.x_l, qp.h_u, qp.x_u
        return kkt.prepare(self._low, self._high, self._side, self._at.mu, *k.C, self._length)

    def _factorise(self) -> str:
        """Factorise with the present working set, whose long rows become the border; return what prevents it."""
        k, qp = self._layout, self._qp
        self._stiffest, long_rows = kkt.fill(
            k.K.data,
            qp.P.data,
            k.p_at,
            qp.A.data,
            k.a_at,
            k.C.val,
            k.c_from,
            k.c_at,
            k.c_owner,
            k.resident,
            k.place,
            self._side,
            self._factored,
            k.diagonal,
            k.n,
            k.m,
            self._softness,
        )
        try:
            if k.factor is None:
                k.factor = qdldl.Solver(k.K, upper=True)
            else:
                k.factor.update(k.K, upper=True)
        except RuntimeError:  # numbers beyond all measure, as of bodies that were thrown: another solver may cope
            k.factor = None
            return "not quasi-definite"
        self._width, self._stale = 0, False
        if long_rows > 0.8 * self._room:
            return "too many long rows"
        if long_rows:
            for row in np.flatnonzero((self._side != 0) & (k.place < 0)).tolist():
                self._extend(row)
            self._stale = False
        return ""

    # -- the method ----------------------------------------------------------------------------------------------------

    def _iterate(self) -> str:
        """Return ``solved``, ``proven infeasible``, or why it did not settle."""
        problem = self._factorise()
        while not problem:
            if self._changes > self._most:
                return "too many changes"
            problem = self._settle()
            if problem:
                return problem
            wrong = kkt.wrong_signs(self._side, self._at.mu)
            if len(wrong):
                self._changes += len(wrong)
                problem = self._drop(wrong)
                continue
            row = kkt.most_violated(*self._layout.C, self._low, self._high, self._side, self._length, self._at.x)
            if row < 0:
                return "solved"
            if self._softness != kkt.FINE:
                self._softness = kkt.FINE
                problem = self._factorise()
            problem = problem or self._add(row)
        return problem

    def _settle(self) -> str:
        """Move to the solution for the present working set."""
        qp = self._qp
        return self._approach(self._at, qp.c, qp.b, self._low, self._high, _ACCURATE)

    def _approach(
        self, at: _Point, c: np.ndarray, b: np.ndarray, low: np.ndarray, high: np.ndarray, wanted: float
    ) -> str:
        """Solve an optimality system: corrections until nothing is left to correct; return what prevents it.

        Where corrections do not converge, a border has grown too ill-conditioned: it is folded into a new factorisation.
        """
        while True:
            before = np.inf
            for n in range(_CORRECTIONS):
                worst = self._measure(at, c, b, low, high)
                if (self._primal < wanted and self._dual < 0.1 * wanted) or (n > 2 and worst > 0.5 * before):
                    break
                before = worst
                self._correct(at)
            if max(self._primal, self._dual) < _ACCEPTED:
                return ""
            if not self._stale:
                return "inaccurate"
            problem = self._factorise()
            if problem:
                return problem

    def _add(self, row: int) -> str:
        """Raise a violated row's multiplier until the row holds; return what prevents it."""
        k, at, way = self._layout, self._at, self._way
        C = k.C
        value = kkt.dot(*C, row, at.x)
        side = 1.0 if value > self._high[row] else -1.0
        violation = value - self._high[row] if side > 0 else self._low[row] - value
        softest = _INDEPENDENT * self._length[row] ** 2 / self._stiffest
        while True:
            self._changes += 1
            if self._changes > self._most:
                return "too many changes"
            problem = self._direction(row, side)
            if problem:
                return problem
            # How fast the row moves, −σ gᵀẋ, equals ẋᵀPẋ; of the two the latter is exact where it vanishes.
            gain = kkt.curvature(self._qp.P.data, k.p_row, k.p_col, way.x)
            t_full = violation / gain if gain > softest else np.inf
            t_part, blocking = kkt.blocking(self._side, at.mu, way.mu)
            t = min(t_full, t_part)
            if t == np.inf:
                # Farkas: the rows combine to r·x ≤ r·x₀ − violation with r nearly 0, so every solution is far from here.
                rest = kkt.remainder(self._qp.P.data, k.p_row, k.p_col, way.x, self._r1)
                self._violated = row
                return "proven infeasible" if violation > _FAR * rest else "infeasible"
            at.add(way, t)
            at.mu[row] += side * t
            violation -= t * gain
            if t_full <= t_part:
                self._side[row] = int(side)
                return self._hold(row)
            problem = self._drop(np.array([blocking]))
            if problem:
                return problem

    def _direction(self, row: int, side: float) -> str:
        """Find how the point moves with the multiplier of a row; return what prevents it."""
        self._way.clear()
        kkt.spread(*self._layout.C, row, side, self._pull)
        return self._approach(self._way, self._pull, self._zeros_b, self._zeros_row, self._zeros_row, _ACCEPTED)

    def _measure(self, at: _Point, c: np.ndarray, b: np.ndarray, low: np.ndarray, high: np.ndarray) -> float:
        """Find what is left of the optimality system at a point; return the larger of its relative residuals."""
        k, qp = self._layout, self._qp
        self._primal, self._dual = kkt.residual(
            at.x,
            at.y,
            at.mu,
            qp.P.data,
            k.p_row,
            k.p_col,
            c,
            qp.A.data,
            k.a_row,
            k.a_col,
            b,
            *k.C,
            low,
            high,
            self._side,
            k.resident,
            self._factored,
            self._r1,
            self._r2,
            self._r3,
            self._rhs,
        )
        return max(self._primal, self._dual)

    def _correct(self, at: _Point) -> None:
        """Solve the system for the residual at a point, K by its factors, then the border, and add the solution to it."""
        k = self._layout
        z = k.factor.solve(self._rhs)  # type: ignore[union-attr]
        sound = kkt.with_border(
            z,
            self._T[: self._width],
            self._S,
            self._border[: self._width],
            *k.C,
            self._r3,
            k.resident,
            k.place,
            self._factored,
            self._side,
            at.x,
            at.y,
            at.mu,
        )
        if not sound:
            raise np.linalg.LinAlgError("the border is singular")

    # -- the border ----------------------------------------------------------------------------------------------------

    def _hold(self, row: int) -> str:
        """Let a row hold from now on."""
        if self._factored[row]:  # it stands in K: take back that it was taken out
            self._shrink(-1 - row)
            return ""
        return self._extend(row)

    def _drop(self, rows: np.ndarray) -> str:
        """Let rows no longer hold."""
        self._side[rows], self._at.mu[rows] = 0, 0.0
        for row in rows.tolist():
            if not self._factored[row]:
                self._shrink(row)
            elif self._width == self._room:
                return self._factorise()
            else:
                self._extend(-1 - row)
        return ""

    def _extend(self, entry: int) -> str:
        """Add a column to the border; a full border is folded into a new factorisation."""
        if self._width == self._room:
            return self._factorise()
        k, w, self._stale = self._layout, self._width, True
        kkt.border_column(entry, *k.C, k.place, self._rhs)
        self._T[w] = k.factor.solve(self._rhs)  # type: ignore[union-attr]
        self._border[w] = entry
        self._width = w + 1
        kkt.border_product(self._border[: w + 1], *k.C, k.place, self._T, self._S, self._softness)
        return ""

    def _shrink(self, entry: int) -> None:
        """Take a column out of the border."""
        w, self._stale = self._width, True
        gone = int(np.flatnonzero(self._border[:w] == entry)[0])
        keep = np.delete(np.arange(w), gone)
        self._border[: w - 1] = self._border[keep]
        self._T[: w - 1] = self._T[keep]
        self._S[: w - 1, : w - 1] = self._S[np.ix_(keep, keep)]
        self._width = w - 1
