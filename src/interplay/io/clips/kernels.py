"""Loops over all frames of a clip: rows of the normal equations, kept as a lower band, and their solution.

``band[j, k]`` = A[j + k, j]; unknowns are a character's degrees of freedom, frame by frame.
"""

from __future__ import annotations

import numba
import numpy as np

from interplay.maths.rotations import rotation_log
from interplay.scene.kinematics import point_column

_TWIST = 0.25
"""How much of a turn about a bone counts."""


@numba.njit(cache=True)
def turn_locally(quats, vectors):
    """Turn quaternions (T, 4) by rotation vectors (T, 3) in their own axes, in place."""
    for t in range(quats.shape[0]):
        x, y, z = vectors[t, 0], vectors[t, 1], vectors[t, 2]
        angle = np.sqrt(x * x + y * y + z * z)
        k = np.sin(0.5 * angle) / angle if angle > 1e-12 else 0.5
        b, u, v, w = np.cos(0.5 * angle), k * x, k * y, k * z
        a, p, q, r = quats[t, 0], quats[t, 1], quats[t, 2], quats[t, 3]
        quats[t, 0] = a * b - p * u - q * v - r * w
        quats[t, 1] = a * u + b * p + q * w - r * v
        quats[t, 2] = a * v + b * q + r * u - p * w
        quats[t, 3] = a * w + b * r + p * v - q * u


@numba.njit(cache=True, nogil=True)
def add_tasks(
    cdof,
    com,
    xpos,
    xmat,
    bodies,
    points,
    places,
    turns,
    place_weights,
    turn_weights,
    bones,
    roots,
    dofs,
    chains,
    band,
    right,
):
    """Add Σ w |J δ − e|² of all items to the normal equations, kept as the lower band."""
    T, n = cdof.shape[0], dofs.shape[0]
    J, cols = np.empty((n, 6)), np.empty(n, np.int64)
    r, e, off, w, bone = np.empty(3), np.empty(6), np.empty((3, 3)), np.empty(6), np.empty(3)
    for t in range(T):
        for i in range(bodies.shape[0]):
            wp, wr = place_weights[i, t], turn_weights[i, t]
            if wp == 0.0 and wr == 0.0:
                continue
            b = bodies[i]
            for k in range(3):
                p = xpos[t, b, k]
                for h in range(3):
                    p += xmat[t, b, k, h] * points[i, h]
                r[k] = p - com[t, roots[b], k]
                e[k] = places[i, t, k] - p
                w[k], w[3 + k] = wp, wr
            if wr > 0.0:
                for k in range(3):
                    for h in range(3):
                        off[k, h] = 0.0
                        for g in range(3):
                            off[k, h] += turns[i, t, k, g] * xmat[t, b, h, g]
                rotation_log(off, e[3:])
                for k in range(3):
                    bone[k] = (
                        xmat[t, b, k, 0] * bones[i, 0] + xmat[t, b, k, 1] * bones[i, 1] + xmat[t, b, k, 2] * bones[i, 2]
                    )
                less_twist(bone, e)
            count = 0
            for d in range(n):
                if chains[b, d]:
                    point_column(cdof[t, dofs[d]], r, J[count])
                    if wr > 0.0:
                        less_twist(bone, J[count])
                    cols[count] = d
                    count += 1
            first = 0 if wp > 0.0 else 3
            last = 6 if wr > 0.0 else 3
            for a in range(count):
                at = t * n + cols[a]
                for k in range(first, last):
                    right[at] += w[k] * J[a, k] * e[k]
                for c in range(a + 1):
                    s = 0.0
                    for k in range(first, last):
                        s += w[k] * J[a, k] * J[c, k]
                    band[t * n + cols[c], cols[a] - cols[c]] += s


@numba.njit(cache=True, nogil=True)
def less_twist(bone, row):
    """Shorten the part of a turn (the last three of six) that is about a bone."""
    twist = (1.0 - _TWIST) * (bone[0] * row[3] + bone[1] * row[4] + bone[2] * row[5])
    for k in range(3):
        row[3 + k] -= twist * bone[k]


@numba.njit(cache=True, nogil=True)
def add_limits(over, values, low, high, columns, n, weight, band, right):
    """Add rows that keep joints at the ends of their ranges which are over them: above (+) or below (−)."""
    for t in range(values.shape[0]):
        for j in range(values.shape[1]):
            if over[t, j] != 0.0:
                end, at = high[j] if over[t, j] > 0.0 else low[j], t * n + columns[j]
                band[at, 0] += weight
                right[at] += weight * (end - values[t, j])


@numba.njit(cache=True, nogil=True)
def near_rows(cdof, com, frames, bodies, points, normals, roots, dofs, chains):
    """Return how fast (k, n) near shapes part by each degree of freedom; bodies that none of them moves stay where they are."""
    n = dofs.shape[0]
    rows, r, column = np.zeros((frames.shape[0], n)), np.empty(3), np.empty(6)
    for i in range(frames.shape[0]):
        t = frames[i]
        for side in range(2):
            b, sign = bodies[i, side], 2.0 * side - 1.0
            for k in range(3):
                r[k] = points[i, side, k] - com[t, roots[b], k]
            for d in range(n):
                if chains[b, d]:
                    point_column(cdof[t, dofs[d]], r, column)
                    for k in range(3):
                        rows[i, d] += sign * normals[i, k] * column[k]
    return rows


@numba.njit(cache=True, nogil=True)
def add_rows(frames, rows, ways, weights, active, band, right):
    """Add rows that make shapes part by so much, where they do."""
    n = rows.shape[1]
    for i in range(frames.shape[0]):
        if not active[i]:
            continue
        t, weight = frames[i], weights[i]
        for a in range(n):
            if rows[i, a] == 0.0:
                continue
            right[t * n + a] += weight * rows[i, a] * ways[i]
            for c in range(a + 1):
                band[t * n + c, a - c] += weight * rows[i, a] * rows[i, c]


@numba.njit(cache=True, nogil=True)
def add_smoothness(change, weights, band, right):
    """Add Σ w |δ₍t₋₁₎ − 2 δ₍t₎ + δ₍t₊₁₎|², of the change so far and the step."""
    T, n = change.shape
    for t in range(1, T - 1):
        for d in range(n):
            w = weights[d]
            bend = change[t - 1, d] - 2.0 * change[t, d] + change[t + 1, d]
            a, b, c = (t - 1) * n + d, t * n + d, (t + 1) * n + d
            right[a] -= w * bend
            right[b] += 2.0 * w * bend
            right[c] -= w * bend
            band[a, 0] += w
            band[b, 0] += 4.0 * w
            band[c, 0] += w
            band[a, n] -= 2.0 * w
            band[b, n] -= 2.0 * w
            band[a, 2 * n] += w


_PANEL = 4


@numba.njit(cache=True, fastmath=True, nogil=True)
def solve_band(band, x):
    """Solve A x = b in place, A positive definite, ``band[j, k]`` = A[j + k, j].

    By one thread and in place: a library's threads cost more than they bring on rows this short. What four columns take from
    those behind them is taken at once: memory is what takes time.
    """
    N, width = band.shape
    for first in range(0, N, _PANEL):
        size = min(_PANEL, N - first)
        for p in range(size):
            column = band[first + p]
            d = 1.0 / np.sqrt(column[0])
            for k in range(width):
                column[k] *= d
            for i in range(1, size - p):
                target, scale = band[first + p + i], column[i]
                for k in range(i, width):
                    target[k - i] -= scale * column[k]
        if size < _PANEL:
            break
        a, b, c, d = band[first], band[first + 1], band[first + 2], band[first + 3]
        for row in range(first + _PANEL, min(first + _PANEL - 1 + width, N)):
            i, target = row - first, band[row]
            f = a[i] if i < width else 0.0
            g = b[i - 1] if i - 1 < width else 0.0
            h = c[i - 2] if i - 2 < width else 0.0
            e, common = d[i - 3], max(width - i, 0)
            for k in range(common):
                target[k] -= f * a[i + k] + g * b[i - 1 + k] + h * c[i - 2 + k] + e * d[i - 3 + k]
            for k in range(common, width - i + 3):  # where the first columns have ended
                target[k] -= e * d[i - 3 + k]
                if i - 2 + k < width:
                    target[k] -= h * c[i - 2 + k]
                if i - 1 + k < width:
                    target[k] -= g * b[i - 1 + k]
    for j in range(N):
        column = band[j]
        x[j] /= column[0]
        for i in range(1, min(width, N - j)):
            x[j + i] -= column[i] * x[j]
    for j in range(N - 1, -1, -1):
        column, s = band[j], x[j]
        for i in range(1, min(width, N - j)):
            s -= column[i] * x[j + i]
        x[j] = s / column[0]
