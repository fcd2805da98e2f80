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
from typing import NamedTuple

import numba
import numpy as np
import qdldl
from scipy import sparse

from interplay.qp.problem import QP, QPSolution, QPSolver

_PRIMAL, _DUAL = 1e-9, 1e-10
"""Regularisation of P's diagonal and of the rows: the factorisation exists whatever the rows are."""

_SHORT = 8
"""Rows with at most so many entries stand in the factorised matrix."""

_ACCURATE, _ACCEPTED = 1e-11, 1e-8
"""Relative residual of the optimality system that ends its corrections, and the largest one that is accepted."""

_FEASIBLE, _SIGN = 1e-9, 1e-9
"""How far a row may be violated and a multiplier have the wrong sign, relative to their size."""

_INDEPENDENT = 1e-7
"""A row moves by less than this (1: freely, under the largest cost) only if it depends on rows that hold already."""

_CORRECTIONS, _BORDER = 8, 64
"""Most corrections of one system; least room for columns of the border."""


class Rows(NamedTuple):
    """The inequality rows C, compressed by row: those of G, then one per variable for its bounds."""

    ptr: np.ndarray
    col: np.ndarray
    val: np.ndarray


class _Layout:
    """What depends on a problem's pattern alone: where the factorised matrix K takes its values from."""

    def __init__(self, qp: QP):
        """Lay out K by columns of its upper triangle: P, then the rows of A and the resident rows of C as columns."""
        n, m, g = len(qp.c), len(qp.b), len(qp.h_l)
        self.n, self.m, self.rows = n, m, g + n
        g_row, g_col = _coordinates(qp.G)
        self.from_G = np.lexsort((g_col, g_row))
        """G's values row by row."""
        counts = np.concatenate([np.bincount(g_row, minlength=g), np.ones(n, int)])
        self.C = Rows(
            np.concatenate([[0], np.cumsum(counts)]),
            np.concatenate([g_col[self.from_G], np.arange(n)]),
            np.ones(len(g_row) + n),
        )
        bounded = np.isfinite(qp.x_l) | np.isfinite(qp.x_u)
        self.resident = np.flatnonzero(np.concatenate([counts[:g] <= _SHORT, bounded]))
        """Rows that stand in K."""
        self.size = n + m + len(self.resident)
        self.place = np.full(self.rows, -1)
        """Where a row stands in K, −1 if nowhere."""
        self.place[self.resident] = np.arange(n + m, self.size)
        self.p_row, self.p_col = _coordinates(qp.P)
        self.a_row, self.a_col = _coordinates(qp.A)
        owner = np.repeat(np.arange(self.rows), counts)
        self.c_from = np.flatnonzero(self.place[owner] >= 0)
        self.c_owner = owner[self.c_from]
        diagonal = np.arange(self.size)
        at = np.concatenate([self.p_row, self.a_col, self.C.col[self.c_from], diagonal])
        to = np.concatenate([self.p_col, n + self.a_row, self.place[self.c_owner], diagonal])
        # Entries that fall on one place (the diagonal of P) share it: the position of each in the compressed columns.
        places, position = np.unique(to * self.size + at, return_inverse=True)
        ends = np.cumsum([len(self.p_row), len(self.a_row), len(self.c_from)])
        self.p_at, self.a_at, self.c_at, self.diagonal = np.split(position, ends)
        pointers = np.searchsorted(places, np.arange(self.size + 1) * self.size)
        self.K = sparse.csc_matrix((np.zeros(len(places)), places % self.size, pointers), (self.size, self.size))
        self.factor: qdldl.Solver | None = None


class _Point:
    """A point of the optimality system: x, the equalities' y, the inequalities' μ."""

    def __init__(self, layout: _Layout):
        self.x, self.y, self.mu = np.zeros(layout.n), np.zeros(layout.m), np.zeros(layout.rows)

    def clear(self) -> None:
        for part in (self.x, self.y, self.mu):
            part[:] = 0.0

    def add(self, other: _Point, t: float = 1.0) -> None:
        _move(self.x, self.y, self.mu, other.x, other.y, other.mu, t)


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

    def solve(self, qp: QP) -> QPSolution:
        """Solve one problem."""
        begin = time.perf_counter()
        if qp.pattern is None or qp.pattern is not self._key:
            self._begin(qp)
        crossed = self._load(qp)
        try:
            status = "infeasible" if crossed else self._iterate()
        except np.linalg.LinAlgError:
            status = "singular border"
        if status == "solved" or crossed:
            gap = _gap(self._r1, self._r2, self._r3, self._at.x, self._at.y, self._at.mu)
            seconds = time.perf_counter() - begin
            x = self._at.x.copy()
            return QPSolution(x, not crossed, status, self._changes, self._primal, self._dual, gap, seconds)
        # What did not settle is solved by the safeguard; what seems infeasible is confirmed by it.
        self._at.clear()
        self._side[:] = 0
        found = self._safeguard.solve(qp)
        sure = status == "infeasible" and not found.solved
        said = status if sure else f"safeguard ({status}): {found.status}"
        return found._replace(status=said, seconds=time.perf_counter() - begin)

    # -- a pattern, a problem ------------------------------------------------------------------------------------------

    def _begin(self, qp: QP) -> None:
        """Lay out a new pattern; nothing is known of its working set."""
        self._layout = k = _Layout(qp)
        self._key = qp.pattern
        self._at, self._way = _Point(k), _Point(k)
        self._r1, self._r2, self._r3 = np.zeros(k.n), np.zeros(k.m), np.zeros(k.rows)
        self._side = np.zeros(k.rows, np.int64)
        """Of each row: 0 it need not hold; ±1 it holds at its upper or lower bound; 2 its bounds are one."""
        self._factored = np.zeros(k.rows, np.int64)
        """Its side when K was factorised."""
        self._low, self._high, self._length = np.empty(k.rows), np.empty(k.rows), np.empty(k.rows)
        self._rhs, self._pull = np.empty(k.size), np.zeros(k.n)
        self._zeros_b, self._zeros_row = np.zeros(k.m), np.zeros(k.rows)
        self._room = _BORDER + (k.rows - len(k.resident)) // 4
        self._T, self._S = np.zeros((self._room, k.size)), np.zeros((self._room, self._room))
        self._border, self._width, self._stale = np.zeros(self._room, np.int64), 0, False
        """Columns of the border: r for a row added to K, −1 − r for a row of K that no longer holds; changed since K was made."""
        self._primal = self._dual = 0.0
        self._changes = 0

    def _load(self, qp: QP) -> bool:
        """Take the values of a problem; return whether bounds cross."""
        k, g = self._layout, len(qp.h_l)
        self._qp, self._changes = qp, 0
        np.take(qp.G.data, k.from_G, out=k.C.val[: len(k.from_G)])
        self._low[:g], self._low[g:], self._high[:g], self._high[g:] = qp.h_l, qp.x_l, qp.h_u, qp.x_u
        return _prepare(self._low, self._high, self._side, self._at.mu, *k.C, self._length)

    def _factorise(self) -> str:
        """Factorise with the present working set, whose long rows become the border; return what prevents it."""
        k, qp = self._layout, self._qp
        self._stiffest, long_rows = _fill(
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
        )
        if k.factor is None:
            k.factor = qdldl.Solver(k.K, upper=True)
        else:
            k.factor.update(k.K, upper=True)
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
        """Return ``solved``, ``infeasible``, or why it did not settle."""
        problem = self._factorise()
        while not problem:
            if self._changes > self._max_changes:
                return "too many changes"
            problem = self._settle()
            if problem:
                return problem
            wrong = _wrong_signs(self._side, self._at.mu)
            if len(wrong):
                self._changes += len(wrong)
                problem = self._drop(wrong)
                continue
            row = _most_violated(*self._layout.C, self._low, self._high, self._side, self._length, self._at.x)
            if row < 0:
                return "solved"
            problem = self._add(row)
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
                if worst < wanted or (n > 2 and worst > 0.5 * before):
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
        value = _dot(*C, row, at.x)
        side = 1.0 if value > self._high[row] else -1.0
        violation = value - self._high[row] if side > 0 else self._low[row] - value
        softest = _INDEPENDENT * self._length[row] ** 2 / self._stiffest
        while True:
            self._changes += 1
            if self._changes > self._max_changes:
                return "too many changes"
            problem = self._direction(row, side)
            if problem:
                return problem
            # How fast the row moves, −σ gᵀẋ, equals ẋᵀPẋ; of the two the latter is exact where it vanishes.
            gain = _curvature(self._qp.P.data, k.p_row, k.p_col, way.x)
            t_full = violation / gain if gain > softest else np.inf
            t_part, blocking = _blocking(self._side, at.mu, way.mu)
            t = min(t_full, t_part)
            if t == np.inf:
                return "infeasible"
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
        _spread(*self._layout.C, row, side, self._pull)
        return self._approach(self._way, self._pull, self._zeros_b, self._zeros_row, self._zeros_row, _ACCEPTED)

    def _measure(self, at: _Point, c: np.ndarray, b: np.ndarray, low: np.ndarray, high: np.ndarray) -> float:
        """Find what is left of the optimality system at a point; return the larger of its relative residuals."""
        k, qp = self._layout, self._qp
        self._primal, self._dual = _residual(
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
        _with_border(
            z,
            self._T[: self._width],
            self._S[: self._width, : self._width],
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
        _border_column(entry, *k.C, k.place, self._rhs)
        self._T[w] = k.factor.solve(self._rhs)  # type: ignore[union-attr]
        self._border[w] = entry
        self._width = w + 1
        _border_product(self._border[: w + 1], *k.C, k.place, self._T, self._S)
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


def _coordinates(matrix: sparse.csc_matrix) -> tuple[np.ndarray, np.ndarray]:
    """Return rows and columns of the entries in the order of their values."""
    columns = np.repeat(np.arange(len(matrix.indptr) - 1), np.diff(matrix.indptr))
    return matrix.indices.astype(np.int64), columns


@numba.njit(cache=True)
def _dot(ptr, col, val, row, x):
    total = 0.0
    for e in range(ptr[row], ptr[row + 1]):
        total += val[e] * x[col[e]]
    return total


@numba.njit(cache=True)
def _curvature(P, p_row, p_col, x):
    total = 0.0
    for e in range(p_row.shape[0]):
        term = P[e] * x[p_row[e]] * x[p_col[e]]
        total += term if p_row[e] == p_col[e] else 2.0 * term
    return total


@numba.njit(cache=True)
def _spread(ptr, col, val, row, scale, out):
    out[:] = 0.0
    for e in range(ptr[row], ptr[row + 1]):
        out[col[e]] = scale * val[e]


@numba.njit(cache=True)
def _move(x, y, mu, dx, dy, dmu, t):
    for i in range(x.shape[0]):
        x[i] += t * dx[i]
    for i in range(y.shape[0]):
        y[i] += t * dy[i]
    for i in range(mu.shape[0]):
        mu[i] += t * dmu[i]


@numba.njit(cache=True)
def _prepare(low, high, side, mu, ptr, col, val, length):
    """Bring the last working set to the new bounds; True if bounds cross."""
    for i in range(low.shape[0]):
        if low[i] > high[i]:
            return True
        total = 0.0
        for e in range(ptr[i], ptr[i + 1]):
            total += val[e] * val[e]
        length[i] = np.sqrt(total)
        one = np.isfinite(low[i]) and high[i] - low[i] <= 1e-12 * (1.0 + abs(low[i]))
        if one and total > 0.0:
            side[i] = 2
        elif (
            side[i] == 2
            or total == 0.0
            or (side[i] == 1 and high[i] == np.inf)
            or (side[i] == -1 and low[i] == -np.inf)
        ):
            side[i] = 0
        if side[i] == 0:
            mu[i] = 0.0
    return False


@numba.njit(cache=True)
def _fill(K, P, p_at, A, a_at, val, c_from, c_at, c_owner, resident, place, side, factored, diagonal, n, m):
    """Write the values of K; return the largest cost on its diagonal, and how many rows hold that do not stand in it."""
    K[:] = 0.0
    for e in range(p_at.shape[0]):
        K[p_at[e]] += P[e]
    stiffest = 1e-12
    for i in range(n):
        stiffest = max(stiffest, K[diagonal[i]])
        K[diagonal[i]] += _PRIMAL
    for e in range(a_at.shape[0]):
        K[a_at[e]] += A[e]
    for i in range(n, n + m):
        K[diagonal[i]] = -_DUAL
    factored[:] = 0
    for k in range(resident.shape[0]):
        factored[resident[k]] = side[resident[k]]
        K[diagonal[n + m + k]] = -_DUAL if side[resident[k]] != 0 else -1.0
    for e in range(c_at.shape[0]):
        if side[c_owner[e]] != 0:
            K[c_at[e]] = val[c_from[e]]
    long_rows = 0
    for i in range(side.shape[0]):
        if side[i] != 0 and place[i] < 0:
            long_rows += 1
    return stiffest, long_rows


@numba.njit(cache=True)
def _residual(
    x,
    y,
    mu,
    P,
    p_row,
    p_col,
    c,
    A,
    a_row,
    a_col,
    b,
    ptr,
    col,
    val,
    low,
    high,
    side,
    resident,
    factored,
    r1,
    r2,
    r3,
    rhs,
):
    """Write right minus left side of the optimality system; return the relative residuals of its rows and of its gradient."""
    n, largest, primal = x.shape[0], 1.0, 0.0
    for i in range(n):
        r1[i] = -c[i]
        largest = max(largest, abs(c[i]))
    for e in range(p_row.shape[0]):
        i, j = p_row[e], p_col[e]
        r1[i] -= P[e] * x[j]
        if i != j:
            r1[j] -= P[e] * x[i]
    for i in range(b.shape[0]):
        r2[i] = b[i]
    for e in range(a_row.shape[0]):
        r1[a_col[e]] -= A[e] * y[a_row[e]]
        r2[a_row[e]] -= A[e] * x[a_col[e]]
        largest = max(largest, abs(A[e] * y[a_row[e]]))
    for i in range(b.shape[0]):
        primal = max(primal, abs(r2[i]) / (1.0 + abs(b[i])))
    for i in range(mu.shape[0]):
        if mu[i] != 0.0:
            for e in range(ptr[i], ptr[i + 1]):
                r1[col[e]] -= val[e] * mu[i]
                largest = max(largest, abs(val[e] * mu[i]))
        r3[i] = 0.0
        if side[i] != 0:
            target = low[i] if side[i] == -1 else high[i]
            r3[i] = target - _dot(ptr, col, val, i, x)
            primal = max(primal, abs(r3[i]) / (1.0 + abs(target)))
    dual, m = 0.0, b.shape[0]
    for i in range(n):
        dual = max(dual, abs(r1[i]))
        rhs[i] = r1[i]
    rhs[n : n + m] = r2
    for k in range(resident.shape[0]):
        row = resident[k]
        rhs[n + m + k] = r3[row] if factored[row] != 0 and side[row] != 0 else 0.0
    return primal, dual / largest


@numba.njit(cache=True)
def _gap(r1, r2, r3, x, y, mu):
    """Return the duality gap of a point with the given residuals."""
    return abs((r1 * x).sum()) + abs((r2 * y).sum()) + abs((r3 * mu).sum())


@numba.njit(cache=True)
def _border_column(entry, ptr, col, val, place, out):
    out[:] = 0.0
    if entry < 0:
        out[place[-1 - entry]] = 1.0
    else:
        for e in range(ptr[entry], ptr[entry + 1]):
            out[col[e]] = val[e]


@numba.njit(cache=True)
def _across(entry, ptr, col, val, place, z):
    """Return the product of a border column with z."""
    return z[place[-1 - entry]] if entry < 0 else _dot(ptr, col, val, entry, z)


@numba.njit(cache=True)
def _border_product(border, ptr, col, val, place, T, S):
    """Write the last row and column of S = D − Bᵀ K⁻¹ B."""
    w = border.shape[0] - 1
    for a in range(w + 1):
        S[a, w] = S[w, a] = -_across(border[a], ptr, col, val, place, T[w])
    if border[w] >= 0:
        S[w, w] -= _DUAL


@numba.njit(cache=True)
def _with_border(z, T, S, border, ptr, col, val, r3, resident, place, factored, side, x, y, mu):
    """Turn a solution of K alone into one of K with its border, and add it to a point."""
    w, n, m = border.shape[0], x.shape[0], y.shape[0]
    if w > 0:
        v = np.empty(w)
        for a in range(w):
            wanted = r3[border[a]] if border[a] >= 0 else 0.0
            v[a] = wanted - _across(border[a], ptr, col, val, place, z)
        v = np.linalg.solve(np.ascontiguousarray(S), v)
        for a in range(w):
            for i in range(z.shape[0]):
                z[i] -= v[a] * T[a, i]
            if border[a] >= 0:
                mu[border[a]] += v[a]
    x += z[:n]
    y += z[n : n + m]
    for k in range(resident.shape[0]):
        row = resident[k]
        if factored[row] != 0 and side[row] != 0:
            mu[row] += z[n + m + k]


@numba.njit(cache=True)
def _wrong_signs(side, mu):
    largest = 1.0
    for i in range(mu.shape[0]):
        largest = max(largest, abs(mu[i]))
    found = np.empty(mu.shape[0], np.int64)
    count = 0
    for i in range(mu.shape[0]):
        if (side[i] == 1 or side[i] == -1) and side[i] * mu[i] < -_SIGN * largest:
            found[count] = i
            count += 1
    return found[:count]


@numba.njit(cache=True)
def _most_violated(ptr, col, val, low, high, side, length, x):
    worst, found = _FEASIBLE, -1
    for i in range(low.shape[0]):
        if side[i] == 0 and (low[i] > -np.inf or high[i] < np.inf):
            value, over = _dot(ptr, col, val, i, x), 0.0
            if value > high[i]:
                over = (value - high[i]) / (1.0 + abs(high[i]))
            elif value < low[i]:
                over = (low[i] - value) / (1.0 + abs(low[i]))
            over /= max(length[i], 1e-3)
            if over > worst:
                worst, found = over, i
    return found


@numba.njit(cache=True)
def _blocking(side, mu, way):
    """Return how far the multipliers keep their signs along a way, and which row ends it."""
    t, found = np.inf, -1
    for i in range(mu.shape[0]):
        if side[i] == 1 or side[i] == -1:
            slope = -side[i] * way[i]
            if slope > 1e-14:
                reach = max(side[i] * mu[i], 0.0) / slope
                if reach < t:
                    t, found = reach, i
    return t, found
