"""Contact surfaces: box sites are patches, cylinder sites grips, sphere sites points; where two meet, one contact frame."""

from __future__ import annotations

import warnings
from typing import NamedTuple

import mujoco
import numpy as np
from scipy.optimize import linprog, minimize
from scipy.spatial import ConvexHull

from interplay.errors import ContactError

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


def surface(model: mujoco.MjModel, site: int) -> Surface:
    """Return the surface of a site, or raise when the site is neither a patch nor a grip."""
    name, shape = model.site(site).name, int(model.site_type[site])
    G = mujoco.mjtGeom
    kinds = {int(G.mjGEOM_BOX): "planar", int(G.mjGEOM_CYLINDER): "grasp", int(G.mjGEOM_SPHERE): "point"}
    if shape not in kinds:
        raise ContactError(
            f"site {name!r} is no contact surface: expected a box (patch), cylinder (grip) or sphere (point) site"
        )
    body = int(model.site_bodyid[site])
    return Surface(
        name, int(site), body, bool(model.body_treeid[body] < 0), kinds[shape], model.site_size[site, :2].copy()
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
    axes = np.column_stack([x, np.cross(z, x), z])
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
    planes = np.vstack([ConvexHull(points).equations for points in (small, large)])
    rows, limits = np.hstack([planes[:, :2], np.abs(planes[:, :2])]), -planes[:, 2]
    whole = np.concatenate([small.mean(0), np.ptp(small, axis=0) / 2])
    if (rows @ whole <= limits + 1e-9).all():
        return whole[:2], whole[2:]
    thinnest = [[0, 0, -1, 0, 1], [0, 0, 0, -1, 1]]
    start = linprog(
        [0, 0, 0, 0, -1],
        A_ub=np.vstack([np.column_stack([rows, np.zeros(len(rows))]), thinnest]),
        b_ub=[*limits, 0, 0],
        bounds=[(None, None)] * 2 + [(0, None)] * 3,
    )
    if not start.success or start.x[4] < MIN_HALF:
        return None
    inside = {"type": "ineq", "fun": lambda x: limits - rows @ x, "jac": lambda x: -rows}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a trial outside the bounds by rounding is clipped
        best = minimize(
            lambda x: -np.log(x[2]) - np.log(x[3]),
            start.x[:4],
            jac=lambda x: np.array([0, 0, -1 / x[2], -1 / x[3]]),
            bounds=[(None, None)] * 2 + [(MIN_HALF / 2, None)] * 2,
            constraints=[inside],
            method="SLSQP",
            options={"ftol": 1e-12},
        )
    return best.x[:2], best.x[2:]
