"""Shade in folds, where bodies touch and where they are near each other: found from how far away each pixel is.

Around each pixel a dozen others are looked at. Those that lie in front of its surface, and near it, take light away.
"""

from __future__ import annotations

import numba
import numpy as np

_kernel = numba.njit(cache=True, nogil=True, fastmath=True)

SAMPLES, TURNS = 14, 16
"""How many others each pixel looks at, and in how many ways they are spread around it."""

REACH = 0.20
"""How far apart surfaces may be and still take light from each other [m]."""

_turn, _k = np.arange(TURNS)[:, None] * (2.0 * np.pi / TURNS), np.arange(SAMPLES)[None, :]
_SPREAD = np.sqrt((_k + 0.5) / SAMPLES)[..., None] * np.stack([np.sin(_turn + 2.4 * _k), np.cos(_turn + 2.4 * _k)], -1)


@_kernel
def _point(distances, y, x, pixel, cy, cx):
    """Return what a pixel shows, as seen from the camera: right, down, forward [m]."""
    z = distances[y, x]
    return (x + 0.5 - cx) * pixel * z, (y + 0.5 - cy) * pixel * z, z


@_kernel
def _slope(distances, y, x, dy, dx, pixel, cy, cx):
    """Return how what is seen changes from a pixel to its neighbour; to the one on the other side if that lies less deep apart."""
    h, w = distances.shape
    px, py, pz = _point(distances, y, x, pixel, cy, cx)
    sx, sy, sz = 1.0, 0.0, 1e9
    for side in (1, -1):
        i, j = y + side * dy, x + side * dx
        if 0 <= i < h and 0 <= j < w and distances[i, j] > 0.0:
            qx, qy, qz = _point(distances, i, j, pixel, cy, cx)
            if abs(qz - pz) < abs(sz):
                sx, sy, sz = side * (qx - px), side * (qy - py), side * (qz - pz)
    return sx, sy, sz


@_kernel
def measure(depth, near, far, distances):
    """Turn a depth buffer (2h, 2w), upside down, into distances (h, w) along the camera's look [m]; 0: nothing is seen."""
    h, w = distances.shape
    for y in range(h):
        row = 2 * (h - 1 - y)
        for x in range(w):
            d = depth[row, 2 * x]
            distances[y, x] = near * far / (d * (far - near) + near) if d > 0.0 else 0.0


@_kernel
def occlude(distances, pixel, cx, cy, strength, rough, light):
    """Find how much light reaches what is seen.

    Args:
        distances: of what is seen (h, w) [m]; 0: nothing.
        pixel: width of a pixel at a distance of one metre [m].
        cx: column that the camera looks at …
        cy: … and row.
        strength: how much light is taken.
        rough: room for what is not smooth yet (h, w).
        light: how much is left (h, w), 0 to 1.
    """
    h, w = distances.shape
    for y in range(h):
        for x in range(w):
            z = distances[y, x]
            rough[y, x] = light[y, x] = 1.0
            if z == 0.0:
                continue
            px, py, pz = _point(distances, y, x, pixel, cy, cx)
            ax, ay, az = _slope(distances, y, x, 0, 1, pixel, cy, cx)
            bx, by, bz = _slope(distances, y, x, 1, 0, pixel, cy, cx)
            nx, ny, nz = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
            length = np.sqrt(nx * nx + ny * ny + nz * nz) + 1e-12
            if nz > 0.0:
                length = -length
            nx, ny, nz = nx / length, ny / length, nz / length
            wide = min(max(REACH / (z * pixel), 4.0), 120.0)
            turn = (x % 4) * 4 + (y % 4)  # neighbours look in different directions, and then share what they saw
            taken = 0.0
            for k in range(SAMPLES):
                i, j = int(y + wide * _SPREAD[turn, k, 0] + 0.5), int(x + wide * _SPREAD[turn, k, 1] + 0.5)
                if i < 0 or j < 0 or i >= h or j >= w or distances[i, j] == 0.0:
                    continue
                qx, qy, qz = _point(distances, i, j, pixel, cy, cx)
                vx, vy, vz = qx - px, qy - py, qz - pz
                square = vx * vx + vy * vy + vz * vz + 1e-9
                part = 1.0 - square / (REACH * REACH)
                if part > 0.0:
                    taken += part * max((vx * nx + vy * ny + vz * nz) / np.sqrt(square) - 0.15, 0.0)
            rough[y, x] = max(1.0 - strength * taken / SAMPLES, 0.0)
    for y in range(h):
        for x in range(w):
            z = distances[y, x]
            if z == 0.0:
                continue
            total, count = 0.0, 0
            for i in range(max(y - 2, 0), min(y + 2, h)):
                for j in range(max(x - 2, 0), min(x + 2, w)):
                    if abs(distances[i, j] - z) < 0.02 * z:
                        total += rough[i, j]
                        count += 1
            light[y, x] = total / count
