"""The optimality system of the active-set solver: where its matrix takes values from, and its compiled kernels.

Rows C are those of G, then one per variable for its bounds. Of each row, ``side`` is 0 if it need not hold, ±1 if it holds at its
upper or lower bound, 2 if its bounds are one; ``factored`` is its side when the matrix K was factorised. See :mod:`.active_set`.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
import qdldl
from scipy import sparse

from interplay.maths.linear import solve_in_place
from interplay.qp.problem import QP, compress, coordinates

PRIMAL, DUAL, FINE = 1e-10, 3e-9, 1e-10
"""Regularisation of P's diagonal and of the rows, with which the factorisation exists whatever the rows are. As long as the first
guess of the rows that hold is right, more of the rows' saves corrections: less digits are lost to rounding. Where rows change, a fine
one tells those apart that nearly depend on each other."""

SHORT = 8
"""Rows with at most so many entries stand in the factorised matrix."""

FEASIBLE, SIGN = 1e-9, 1e-9
"""How far a row may be violated and a multiplier have the wrong sign, relative to their size."""


class Rows(NamedTuple):
    """The inequality rows C, compressed by row: those of G, then one per variable for its bounds."""

    ptr: np.ndarray
    col: np.ndarray
    val: np.ndarray


class Layout:
    """What depends on a problem's pattern alone: where the factorised matrix K takes its values from."""

    def __init__(self, qp: QP):
        """Lay out K by columns of its upper triangle: P, then the rows of A and the resident rows of C as columns."""
        n, m, g = len(qp.c), len(qp.b), len(qp.h_l)
        self.n, self.m, self.rows = n, m, g + n
        self.p_row, self.p_col = coordinates(qp.P)
        self.a_row, self.a_col = coordinates(qp.A)
        # G's values row by row; rows that stand in K; where a row stands in K, −1 if nowhere; its entries there, and their rows.
        self.from_G, ptr, col, self.resident, self.place, self.c_from, self.c_owner, at, to = _lay_out(
            qp.G.indptr, qp.G.indices, g, qp.x_l, qp.x_u, self.p_row, self.p_col, self.a_row, self.a_col, m
        )
        self.C = Rows(ptr, col, np.ones(len(col)))
        self.size = n + m + len(self.resident)
        # Entries that fall on one place (the diagonal of P) share it.
        pointers, indices, position = compress(at, to, self.size, self.size)
        ends = np.cumsum([len(self.p_row), len(self.a_row), len(self.c_from)])
        self.p_at, self.a_at, self.c_at, self.diagonal = np.split(position, ends)
        self.K = sparse.csc_matrix((np.zeros(len(indices)), indices, pointers), (self.size, self.size))
        self.factor: qdldl.Solver | None = None


@numba.njit(cache=True)
def _lay_out(g_ptr, g_index, g, x_l, x_u, p_row, p_col, a_row, a_col, m):
    """Return the rows C of G and of the bounds, which of them stand in K, and rows and columns of K's entries."""
    n, count = x_l.shape[0], g_index.shape[0]
    ptr = np.zeros(g + n + 1, np.int64)
    for e in range(count):
        ptr[g_index[e] + 1] += 1
    for i in range(g + 1, g + n + 1):
        ptr[i] = 1
    for i in range(g + n):
        ptr[i + 1] += ptr[i]
    from_G, col, free = np.empty(count, np.int64), np.empty(count + n, np.int64), np.empty(g, np.int64)
    for i in range(g):
        free[i] = ptr[i]
    for j in range(n):
        for e in range(g_ptr[j], g_ptr[j + 1]):
            row = g_index[e]
            from_G[free[row]], col[free[row]] = e, j
            free[row] += 1
        col[count + j] = j
    resident, place = np.empty(g + n, np.int64), np.empty(g + n, np.int64)
    c_from, c_owner = np.empty(count + n, np.int64), np.empty(count + n, np.int64)
    stand, inside = 0, 0
    for i in range(g + n):
        place[i] = -1
        stands = ptr[i + 1] - ptr[i] <= SHORT if i < g else x_l[i - g] > -np.inf or x_u[i - g] < np.inf
        if stands:
            resident[stand], place[i] = i, n + m + stand
            stand += 1
            for e in range(ptr[i], ptr[i + 1]):
                c_from[inside], c_owner[inside] = e, i
                inside += 1
    size, known = n + m + stand, p_row.shape[0] + a_row.shape[0]
    at, to = np.empty(known + inside + size, np.int64), np.empty(known + inside + size, np.int64)
    for k in range(p_row.shape[0]):
        at[k], to[k] = p_row[k], p_col[k]
    for k in range(a_row.shape[0]):
        at[p_row.shape[0] + k], to[p_row.shape[0] + k] = a_col[k], n + a_row[k]
    for k in range(inside):
        at[known + k], to[known + k] = col[c_from[k]], place[c_owner[k]]
    for i in range(size):
        at[known + inside + i] = to[known + inside + i] = i
    return from_G, ptr, col, resident[:stand], place, c_from[:inside], c_owner[:inside], at, to


def carried(names: np.ndarray, side: np.ndarray, new_names: np.ndarray) -> np.ndarray:
    """Return the sides of rows on a new pattern: those of the rows that had the same name on the last one."""
    if len(names) != len(side) or not side.any():
        return np.zeros(len(new_names), np.int64)
    order = np.argsort(names, kind="stable")
    ordered = names[order]
    at = np.minimum(np.searchsorted(ordered, new_names), len(ordered) - 1)
    return np.where(ordered[at] == new_names, side[order[at]], 0)


@numba.njit(cache=True)
def dot(ptr, col, val, row, x):
    """Return the product of a row with x."""
    total = 0.0
    for e in range(ptr[row], ptr[row + 1]):
        total += val[e] * x[col[e]]
    return total


@numba.njit(cache=True)
def curvature(P, p_row, p_col, x):
    """Return xᵀPx."""
    total = 0.0
    for e in range(p_row.shape[0]):
        term = P[e] * x[p_row[e]] * x[p_col[e]]
        total += term if p_row[e] == p_col[e] else 2.0 * term
    return total


@numba.njit(cache=True)
def spread(ptr, col, val, row, scale, out):
    """Write a row, scaled, as a dense vector."""
    for i in range(out.shape[0]):
        out[i] = 0.0
    for e in range(ptr[row], ptr[row + 1]):
        out[col[e]] = scale * val[e]


@numba.njit(cache=True)
def move(x, y, mu, dx, dy, dmu, t):
    """Move a point by t along a way."""
    for i in range(x.shape[0]):
        x[i] += t * dx[i]
    for i in range(y.shape[0]):
        y[i] += t * dy[i]
    for i in range(mu.shape[0]):
        mu[i] += t * dmu[i]


@numba.njit(cache=True)
def prepare(low, high, side, mu, ptr, col, val, length):
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
def fill(K, P, p_at, A, a_at, val, c_from, c_at, c_owner, resident, place, side, factored, diagonal, n, m, dual):
    """Write the values of K; return the largest cost on its diagonal, and how many rows hold that do not stand in it."""
    for e in range(K.shape[0]):
        K[e] = 0.0
    for e in range(p_at.shape[0]):
        K[p_at[e]] += P[e]
    stiffest = 1e-12
    for i in range(n):
        stiffest = max(stiffest, K[diagonal[i]])
        K[diagonal[i]] += PRIMAL
    for e in range(a_at.shape[0]):
        K[a_at[e]] += A[e]
    for i in range(n, n + m):
        K[diagonal[i]] = -dual
    for i in range(factored.shape[0]):
        factored[i] = 0
    for k in range(resident.shape[0]):
        factored[resident[k]] = side[resident[k]]
        K[diagonal[n + m + k]] = -dual if side[resident[k]] != 0 else -1.0
    for e in range(c_at.shape[0]):
        if side[c_owner[e]] != 0:
            K[c_at[e]] = val[c_from[e]]
    long_rows = 0
    for i in range(side.shape[0]):
        if side[i] != 0 and place[i] < 0:
            long_rows += 1
    return stiffest, long_rows


@numba.njit(cache=True)
def residual(
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
            r3[i] = target - dot(ptr, col, val, i, x)
            primal = max(primal, abs(r3[i]) / (1.0 + abs(target)))
    dual, m = 0.0, b.shape[0]
    for i in range(n):
        dual = max(dual, abs(r1[i]))
        rhs[i] = r1[i]
    for i in range(m):
        rhs[n + i] = r2[i]
    for k in range(resident.shape[0]):
        row = resident[k]
        rhs[n + m + k] = r3[row] if factored[row] != 0 and side[row] != 0 else 0.0
    return primal, dual / largest


@numba.njit(cache=True)
def gap(r1, r2, r3, x, y, mu):
    """Return the duality gap of a point with the given residuals."""
    total = 0.0
    for a, b in ((r1, x), (r2, y), (r3, mu)):
        product = 0.0
        for i in range(a.shape[0]):
            product += a[i] * b[i]
        total += abs(product)
    return total


@numba.njit(cache=True)
def border_column(entry, ptr, col, val, place, out):
    """Write a column of the border: a row added to K, or the unit vector of one taken out (−1 − row)."""
    for i in range(out.shape[0]):
        out[i] = 0.0
    if entry < 0:
        out[place[-1 - entry]] = 1.0
    else:
        for e in range(ptr[entry], ptr[entry + 1]):
            out[col[e]] = val[e]


@numba.njit(cache=True)
def across(entry, ptr, col, val, place, z):
    """Return the product of a border column with z."""
    return z[place[-1 - entry]] if entry < 0 else dot(ptr, col, val, entry, z)


@numba.njit(cache=True)
def border_product(border, ptr, col, val, place, T, S, dual):
    """Write the last row and column of S = D − Bᵀ K⁻¹ B."""
    w = border.shape[0] - 1
    for a in range(w + 1):
        S[a, w] = S[w, a] = -across(border[a], ptr, col, val, place, T[w])
    if border[w] >= 0:
        S[w, w] -= dual


@numba.njit(cache=True)
def with_border(z, T, S, border, ptr, col, val, r3, resident, place, factored, side, x, y, mu):
    """Turn a solution of K alone into one of K with its border, and add it to a point; False if the border is singular."""
    w, n, m = border.shape[0], x.shape[0], y.shape[0]
    if w > 0:
        v, matrix = np.empty(w), np.empty((w, w))
        for a in range(w):
            for i in range(w):
                matrix[a, i] = S[a, i]
            wanted = r3[border[a]] if border[a] >= 0 else 0.0
            v[a] = wanted - across(border[a], ptr, col, val, place, z)
        if not solve_in_place(matrix, v):
            return False
        for a in range(w):
            for i in range(z.shape[0]):
                z[i] -= v[a] * T[a, i]
            if border[a] >= 0:
                mu[border[a]] += v[a]
    for i in range(n):
        x[i] += z[i]
    for i in range(m):
        y[i] += z[n + i]
    for k in range(resident.shape[0]):
        row = resident[k]
        if factored[row] != 0 and side[row] != 0:
            mu[row] += z[n + m + k]
    return True


@numba.njit(cache=True)
def wrong_signs(side, mu):
    """Return the rows whose multiplier has the wrong sign."""
    largest = 1.0
    for i in range(mu.shape[0]):
        largest = max(largest, abs(mu[i]))
    found = np.empty(mu.shape[0], np.int64)
    count = 0
    for i in range(mu.shape[0]):
        if (side[i] == 1 or side[i] == -1) and side[i] * mu[i] < -SIGN * largest:
            found[count] = i
            count += 1
    return found[:count]


@numba.njit(cache=True)
def most_violated(ptr, col, val, low, high, side, length, x):
    """Return the row that is violated most, −1 if none is."""
    worst, found = FEASIBLE, -1
    for i in range(low.shape[0]):
        if side[i] == 0 and (low[i] > -np.inf or high[i] < np.inf):
            value, over = dot(ptr, col, val, i, x), 0.0
            if value > high[i]:
                over = (value - high[i]) / (1.0 + abs(high[i]))
            elif value < low[i]:
                over = (low[i] - value) / (1.0 + abs(low[i]))
            over /= max(length[i], 1e-3)
            if over > worst:
                worst, found = over, i
    return found


@numba.njit(cache=True)
def blocking(side, mu, way):
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


@numba.njit(cache=True)
def remainder(P, p_row, p_col, x, r1):
    """Return the size of P x + r1: of what the multipliers along a way leave of the rows they combine, if the way leaves r1."""
    rest, total = np.empty(r1.shape[0]), 0.0
    for i in range(r1.shape[0]):
        rest[i] = r1[i]
    for e in range(p_row.shape[0]):
        rest[p_row[e]] += P[e] * x[p_col[e]]
        if p_row[e] != p_col[e]:
            rest[p_col[e]] += P[e] * x[p_row[e]]
    for value in rest:
        total += abs(value)
    return total
