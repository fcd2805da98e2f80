"""Small dense systems inside kernels: to compile a call of LAPACK takes longer than all the steps of a run that need one."""

from __future__ import annotations

import numba
import numpy as np


@numba.njit(cache=True)
def solve_in_place(A, b):
    """Write the solution of A x = b into b (A is used up): elimination with row pivots. False if A is singular or not finite."""
    n = b.shape[0]
    for k in range(n):
        best, largest = k, 0.0
        for i in range(k, n):
            size = abs(A[i, k])
            if not size < np.inf:
                return False
            if size > largest:
                best, largest = i, size
        if largest == 0.0:
            return False
        if best != k:
            for j in range(k, n):
                A[k, j], A[best, j] = A[best, j], A[k, j]
            b[k], b[best] = b[best], b[k]
        for i in range(k + 1, n):
            factor = A[i, k] / A[k, k]
            for j in range(k + 1, n):
                A[i, j] -= factor * A[k, j]
            b[i] -= factor * b[k]
    for k in range(n - 1, -1, -1):
        for j in range(k + 1, n):
            b[k] -= A[k, j] * b[j]
        b[k] /= A[k, k]
    return True


@numba.njit(cache=True)
def range_beyond(H, known, least):
    """Return orthonormal rows (k, n) that span the range of H (n, n), beside that of ``known`` ones, up to weights of ``least``.

    H is symmetric and positive semi-definite; its upper triangle is used. Each row is the column of the largest diagonal entry of
    what is left of H, and its direction is taken out of H on both sides.
    """
    n, before = H.shape[0], known.shape[0]
    left, rows, product = np.empty((n, n)), np.empty((n, n)), np.empty(n)
    for i in range(n):
        for j in range(i, n):
            left[i, j] = left[j, i] = H[i, j]
    for k in range(n):
        u = rows[k]
        if k < before:
            for i in range(n):
                u[i] = known[k, i]
        else:
            best = 0
            for i in range(n):
                if left[i, i] > left[best, best]:
                    best = i
            if not left[best, best] > least:
                return rows[before:k].copy()
            for i in range(n):
                u[i] = left[best, i]
            for other in range(k):  # rounding must not bring back what has been taken out
                _less(u, rows[other])
            size = 0.0
            for i in range(n):
                size += u[i] * u[i]
            for i in range(n):
                u[i] /= np.sqrt(size)
        # (1 − uuᵀ) H (1 − uuᵀ) = H − u pᵀ − p uᵀ + (u·p) uuᵀ, p = H u
        total = 0.0
        for i in range(n):
            product[i] = 0.0
            for j in range(n):
                product[i] += left[i, j] * u[j]
            total += u[i] * product[i]
        for i in range(n):
            for j in range(n):
                left[i, j] += total * u[i] * u[j] - u[i] * product[j] - product[i] * u[j]
    return rows[before:].copy()


@numba.njit(cache=True)
def _less(u, row):
    """Take the part of u along a unit row out of it."""
    along = 0.0
    for i in range(u.shape[0]):
        along += u[i] * row[i]
    for i in range(u.shape[0]):
        u[i] -= along * row[i]
