"""Contact surfaces: box sites are patches, cylinder sites grips, sphere sites points; where two meet, one contact frame."""

from __future__ import annotations

from typing import NamedTuple

import mujoco
import numba
import numpy as np

from interplay.errors import ContactError
from interplay.maths.linear import solve_in_place

MAX_GAP, MAX_TILT, MAX_GRIP_OFFSET, MAX_GRIP_TILT = 0.01, 0.2, 0.02, 0.35
"""How far apart surfaces may be when a contact is made: patches [m], [rad]; grips [m], [rad]."""

MIN_HALF = 0.002
"""Smallest half size [m] of a contact rectangle."""


class Surface(NamedTuple):
    """A contact surface: its site, its body, whether that is part of the fixed environment, its kind and half sizes [m]."""

    name: str
    site: int
    body: int
    fixed: bool
    kind: str
    half: np.ndarray


class ContactFrame(NamedTuple):
    """The frame C of a contact in the world, z pointing from the second surface into the first; half sizes of its rectangle."""

    kind: str
    position: np.ndarray
    rotation: np.ndarray
    half: np.ndarray


_KINDS = {
    int(mujoco.mjtGeom.mjGEOM_BOX): "planar",
    int(mujoco.mjtGeom.mjGEOM_CYLINDER): "grasp",
    int(mujoco.mjtGeom.mjGEOM_SPHERE): "point",
}


def surface(model: mujoco.MjModel, site: int) -> Surface:
    """Return the surface of a site, or raise when the site is neither a patch nor a grip."""
    name, shape = model.site(site).name, int(model.site_type[site])
    if shape not in _KINDS:
        raise ContactError(
            f"site {name!r} is no contact surface: expected a box (patch), cylinder (grip) or sphere (point) site"
        )
    body = int(model.site_bodyid[site])
    return Surface(
        name, int(site), body, bool(model.body_treeid[body] < 0), _KINDS[shape], model.site_size[site, :2].copy()
    )


def meet(
    a: Surface, X_a: tuple[np.ndarray, np.ndarray], b: Surface, X_b: tuple[np.ndarray, np.ndarray]
) -> ContactFrame:
    """Return the frame in which surface ``a`` meets surface ``b``; X = (position, rotation) in the world.

    Which of the two comes first does not change the frame but for the sense of its z axis (and with it y): every choice
    between them is made by size, then by name.
    """
    if (a.kind, b.kind) == ("point", "planar"):
        return _point(a, X_a, b, X_b)
    if a.kind != b.kind or a.kind == "point":
        raise ContactError(
            f"{a.name!r} ({a.kind}) cannot touch {b.name!r} ({b.kind}): expected two patches, two grips, or a point and a patch"
        )
    return _grasp(a, X_a, b, X_b) if a.kind == "grasp" else _planar(a, X_a, b, X_b)


def _point(a: Surface, X_a: tuple, b: Surface, X_b: tuple) -> ContactFrame:
    """The lowest point of a ball on a patch; the axes are the patch's."""
    local = X_b[1].T @ (X_a[0] - X_b[0])
    gap = float(local[2] - a.half[0])
    if abs(gap) > MAX_GAP:
        raise ContactError(
            f"point {a.name!r} is {gap * 100:+.1f} cm above {b.name!r}, expected at most {MAX_GAP * 100:.0f} cm"
        )
    if (np.abs(local[:2]) > b.half).any():
        raise ContactError(f"point {a.name!r} lies beside the patch {b.name!r}")
    return ContactFrame("point", X_a[0] - (a.half[0] + 0.5 * gap) * X_b[1][:, 2], X_b[1].copy(), np.zeros(2))


def _grasp(a: Surface, X_a: tuple, b: Surface, X_b: tuple) -> ContactFrame:
    offset = float(np.linalg.norm(X_a[0] - X_b[0]))
    tilt = float(np.arccos(np.clip(abs(X_a[1][:, 2] @ X_b[1][:, 2]), 0, 1)))
    if offset > MAX_GRIP_OFFSET or tilt > MAX_GRIP_TILT:
        raise ContactError(
            f"grips {a.name!r} and {b.name!r} do not meet: {offset * 100:.1f} cm and {np.degrees(tilt):.0f}° apart, "
            f"expected at most {MAX_GRIP_OFFSET * 100:.0f} cm and {np.degrees(MAX_GRIP_TILT):.0f}°"
        )
    position, rotation = X_a if a.name < b.name else X_b
    return ContactFrame("grasp", position.copy(), rotation.copy(), np.zeros(2))


def _planar(a: Surface, X_a: tuple, b: Surface, X_b: tuple) -> ContactFrame:
    normal = X_b[1][:, 2] - X_a[1][:, 2]
    tilt = float(np.arccos(np.clip(-(X_a[1][:, 2] @ X_b[1][:, 2]), -1, 1)))
    if tilt > MAX_TILT:
        raise ContactError(
            f"patches {a.name!r} and {b.name!r} do not face each other: {np.degrees(tilt):.0f}° from opposed, "
            f"expected at most {np.degrees(MAX_TILT):.0f}°"
        )
    z = normal / np.linalg.norm(normal)
    first = (a.half.prod(), a.name) <= (b.half.prod(), b.name)
    small, X_small, large, X_large = (a, X_a, b, X_b) if first else (b, X_b, a, X_a)
    x = X_small[1][:, 0] - z * (X_small[1][:, 0] @ z)
    x /= np.linalg.norm(x)
    y = np.array([z[1] * x[2] - z[2] * x[1], z[2] * x[0] - z[0] * x[2], z[0] * x[1] - z[1] * x[0]])
    axes = np.column_stack([x, y, z])
    # How far the smaller one lies before the plane of the larger one, which may be centred far away (the ground).
    before = X_large[1][:, 2]
    gap = float(before @ (X_small[0] - X_large[0]))
    if abs(gap) > MAX_GAP:
        raise ContactError(
            f"patches {a.name!r} and {b.name!r} are {gap * 100:+.1f} cm apart, expected at most {MAX_GAP * 100:.0f} cm"
        )
    corners = np.array([[1, 1], [-1, 1], [-1, -1], [1, -1]])
    outline = [
        (corners * s.half) @ (axes.T @ X[1][:, :2])[:2].T + (axes.T @ (X[0] - X_small[0]))[:2]
        for s, X in ((small, X_small), (large, X_large))
    ]
    rectangle = _largest_rectangle(*outline)
    if rectangle is None:
        raise ContactError(f"patches {a.name!r} and {b.name!r} do not overlap")
    centre, half = rectangle
    return ContactFrame("planar", X_small[0] + axes[:, :2] @ centre - 0.5 * gap * before, axes, half)


def _largest_rectangle(small: np.ndarray, large: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """Return centre and half sizes of the largest axis-aligned rectangle inside both convex outlines, or None.

    It lies inside iff its corners do: with half-planes n·p ≤ d, centre c and half sizes h satisfy n·c + |n|·h ≤ d, a convex
    set, over which the logarithm of the area is concave. ``small`` is itself an axis-aligned rectangle.
    """
    sides = [_half_planes(large)]
    if (small @ sides[0][0].T <= sides[0][1] + 1e-9).all():  # the whole of it, as a sole on the ground
        return small.mean(0), np.ptp(small, axis=0) / 2
    sides.append(_half_planes(small))
    normals, limits = np.vstack([n for n, _ in sides]), np.concatenate([d for _, d in sides])
    rows = np.hstack([normals, np.abs(normals)])
    # A square first: of negative size it fits anywhere, so it shows whether there is room at all, and where to begin.
    square = np.column_stack([normals, np.abs(normals).sum(1)])
    begin = np.append(small.mean(0), ((limits - normals @ small.mean(0)) / square[:, 2]).min() - 1.0)
    centre_x, centre_y, half = _ascend(square, limits, begin)
    if half < MIN_HALF:
        return None
    best = _ascend(rows, limits, np.array([centre_x, centre_y, 0.9 * half, 0.9 * half]))
    return best[:2], best[2:]


def _half_planes(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return outward normals (n, 2) and limits d of the half-planes n·p ≤ d of a convex outline, whichever way round it goes."""
    following = points[[1, 2, 3, 0]]
    edges = following - points
    area = (points[:, 0] * following[:, 1] - points[:, 1] * following[:, 0]).sum()
    normals = np.sign(area) * np.column_stack([edges[:, 1], -edges[:, 0]])
    normals /= np.linalg.norm(normals, axis=1)[:, None]
    return normals, (normals * points).sum(1)


@numba.njit(cache=True)
def _ascend(rows, limits, x):
    """Return the maximiser over rows·x < limits of x₂ (a square's size), or of log x₂ + log x₃ (a rectangle's area).

    Newton's method on the barrier + μ Σ log(limits − rows·x), its step damped by its length λ, from a point inside, ``x``, which
    it moves.
    """
    n, mu = x.shape[0], 1.0
    slope, bend, step = np.empty(n), np.empty((n, n)), np.empty(n)
    while mu > 1e-9:
        for _ in range(50):
            for i in range(n):
                slope[i] = 0.0
                for j in range(n):
                    bend[i, j] = 0.0
            if n == 3:
                slope[2] = 1.0
            else:
                for i in (2, 3):
                    slope[i], bend[i, i] = 1.0 / x[i], 1.0 / x[i] ** 2
            for k in range(rows.shape[0]):
                room = limits[k]
                for i in range(n):
                    room -= rows[k, i] * x[i]
                for i in range(n):
                    slope[i] -= mu * rows[k, i] / room
                    for j in range(n):
                        bend[i, j] += mu * rows[k, i] * rows[k, j] / room**2
            trace, length = 0.0, 0.0
            for i in range(n):
                trace += bend[i, i]
            for i in range(n):
                bend[i, i] += 1e-14 * trace  # where it may slide along there is no curvature
                step[i] = slope[i]
            if not solve_in_place(bend, step):
                return x
            for i in range(n):
                length += slope[i] * step[i]
            length = np.sqrt(length / mu)
            for i in range(n):
                x[i] += step[i] / (1.0 + length if length > 0.25 else 1.0)
            if length < 1e-3:
                break
        mu *= 0.02
    return x
