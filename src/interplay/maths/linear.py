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
