"""Whether contact surfaces lie on what collides: convex hulls of bodies, and how far a surface is off them."""

from __future__ import annotations

from typing import NamedTuple

import mujoco
import numpy as np
from scipy.optimize import linprog, minimize
from scipy.spatial import ConvexHull, HalfspaceIntersection, QhullError

from interplay.models.base import frame_quat

TOLERANCE = 0.003
"""How far [m] a contact surface may be off the collision shape of its body."""

SECTION = 0.002
"""How far [m] below the plane of a patch its corners may leave the shape where one is fitted to it."""

_SHAPES = mujoco.mjtGeom
_TURNS = np.linspace(0, 2 * np.pi, 48, endpoint=False)
_CIRCLE = np.column_stack([np.cos(_TURNS), np.sin(_TURNS), np.zeros_like(_TURNS)])
_BALL = np.vstack(
    [[[0, 0, 1], [0, 0, -1]]]
    + [np.cos(h) * _CIRCLE + [0, 0, np.sin(h)] for h in np.linspace(-np.pi / 2, np.pi / 2, 25)[1:-1]]
)
_CORNERS = np.array([[0, 0], [1, 1], [-1, 1], [-1, -1], [1, -1]])


def held_together(m: mujoco.MjModel, body: int) -> list[int]:
    """Return the bodies between which and a body there is no joint: they move as one, and their shapes are one."""
    return [b for b in range(1, m.nbody) if m.body_weldid[b] == m.body_weldid[body]]


def shapes_of(m: mujoco.MjModel, bodies: list[int]) -> list[int]:
    """Return the geoms of some bodies that collide."""
    return [
        g for g in range(m.ngeom) if int(m.geom_bodyid[g]) in bodies and (m.geom_contype[g] or m.geom_conaffinity[g])
    ]


def outline(m: mujoco.MjModel, geom: int) -> np.ndarray:
    """Return points (n, 3) in the geom's frame whose convex hull is the geom as it collides."""
    size, kind = m.geom_size[geom], int(m.geom_type[geom])
    if kind == _SHAPES.mjGEOM_MESH:
        mesh = int(m.geom_dataid[geom])
        first = int(m.mesh_vertadr[mesh])
        return m.mesh_vert[first : first + int(m.mesh_vertnum[mesh])].astype(float)
    if kind == _SHAPES.mjGEOM_SPHERE:
        return size[0] * _BALL
    if kind == _SHAPES.mjGEOM_ELLIPSOID:
        return size * _BALL
    if kind == _SHAPES.mjGEOM_CAPSULE:
        return np.vstack([size[0] * _BALL + [0, 0, z] for z in (-size[1], size[1])])
    if kind == _SHAPES.mjGEOM_CYLINDER:
        return np.vstack([size[0] * _CIRCLE + [0, 0, z] for z in (-size[1], size[1])])
    box = size if kind == _SHAPES.mjGEOM_BOX else np.full(3, m.geom_rbound[geom])
    return box * np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])


def points_in(m: mujoco.MjModel, d: mujoco.MjData, geom: int, body: int) -> np.ndarray:
    """Return the outline of a geom in a body's frame."""
    world = outline(m, geom) @ d.geom_xmat[geom].reshape(3, 3).T + d.geom_xpos[geom]
    return (world - d.xpos[body]) @ d.xmat[body].reshape(3, 3)


class Hull(NamedTuple):
    """A convex hull as its half-spaces: normals (n, 3) and offsets, inside where normals·p ≤ offsets."""

    normals: np.ndarray
    offsets: np.ndarray

    @classmethod
    def of(cls, points: np.ndarray) -> Hull | None:
        """Return the hull of some points; None where they lie in a plane."""
        try:
            equations = ConvexHull(points).equations
        except (QhullError, ValueError):
            return None
        return cls(equations[:, :3], -equations[:, 3])

    def outside(self, point: np.ndarray) -> float:
        """Return how far a point is outside; negative inside: how deep it is below the nearest face."""
        return float((self.normals @ point - self.offsets).max())

    def off(self, point: np.ndarray, normal: np.ndarray) -> float:
        """Return how far a point is off the surface: outside by a distance, or inside (negative) by the way out along a normal."""
        outside = self.outside(point)
        if outside >= 0:
            return outside
        toward = self.normals @ normal
        ahead = toward > 1e-6
        return -float(((self.offsets - self.normals @ point)[ahead] / toward[ahead]).min())


def hulls_of(m: mujoco.MjModel, d: mujoco.MjData, bodies: list[int], frame: int) -> list[Hull]:
    """Return the hulls of each collision shape of some bodies, and the one around all, in a body's frame."""
    points = [points_in(m, d, g, frame) for g in shapes_of(m, bodies)]
    groups = [*points, np.vstack(points)] if len(points) > 1 else points
    return [hull for hull in (Hull.of(p) for p in groups) if hull is not None]


def surface_off(m: mujoco.MjModel, d: mujoco.MjData, site: int, whole: bool, body: int | None = None) -> float | None:
    """Return how far [m] a surface is off the collision shapes of its body, or of another one; None without shapes.

    Of a patch its middle counts, and where the ``whole`` of it must fit also its corners; of a ball its radius; a grip must
    reach the shape or be inside it.
    """
    own = int(m.site_bodyid[site])
    hulls = hulls_of(m, d, held_together(m, own if body is None else body), own)
    if not hulls:
        return None
    pos, R = m.site_pos[site], np.empty(9)
    mujoco.mju_quat2Mat(R, m.site_quat[site])
    x, y, normal = R.reshape(3, 3).T
    kind, size = int(m.site_type[site]), m.site_size[site]
    if kind == _SHAPES.mjGEOM_BOX:
        corners = _CORNERS[: 5 if whole else 1] * size[:2]
        return max((min((h.off(pos + a * x + b * y, normal) for h in hulls), key=abs) for a, b in corners), key=abs)
    outside = [hull.outside(pos) for hull in hulls]
    if kind == _SHAPES.mjGEOM_SPHERE:
        return min((value + size[0] for value in outside), key=abs)
    return max(0.0, min(outside) - size[0])


class Patch(NamedTuple):
    """A rectangle: centre, half sizes, outward normal and x axis, in a body's frame."""

    pos: np.ndarray
    half: np.ndarray
    normal: np.ndarray
    along: np.ndarray


def flat_patch(points: np.ndarray, normal: np.ndarray, along: np.ndarray, most: float = np.inf) -> Patch:
    """Return the largest rectangle, along ``along``, before the outermost face of some points in a direction.

    It lies in the plane that touches them; no corner is more than 2 mm before the hull, so that round soles get what they
    stand on, not what their outline spans. ``most`` bounds its half sizes.
    """
    quat, R = np.array(frame_quat(tuple(normal), tuple(along))), np.empty(9)
    mujoco.mju_quat2Mat(R, quat)
    axes = R.reshape(3, 3).T
    local = points @ axes.T
    top = float(local[:, 2].max())
    middle = np.median(local[local[:, 2] > top - SECTION, :2], axis=0)
    hull, rows, limits = Hull.of(local), np.zeros((0, 2)), np.zeros(0)
    if hull is not None:  # the section of the hull 2 mm below its top: half-planes of its faces there
        steep = np.hypot(hull.normals[:, 0], hull.normals[:, 1])
        sides = steep > 1e-6
        rows = hull.normals[sides, :2] / steep[sides, None]
        limits = (hull.offsets - hull.normals[:, 2] * (top - SECTION))[sides] / steep[sides]
    half = np.full(2, 0.005)
    found = _largest(rows, limits, most) if len(rows) else None
    if found is not None:
        middle, half = found[:2], found[2:]
    return Patch(axes.T @ [*middle, top], half, axes[2], axes[0])


def _largest(rows: np.ndarray, limits: np.ndarray, most: float) -> np.ndarray | None:
    """Return centre and half sizes of the largest rectangle within half-planes, or None where there is no room."""
    square = linprog(
        [0, 0, -1],
        np.column_stack([rows, np.abs(rows).sum(1)]),
        limits,
        bounds=[(None, None), (None, None), (0, most if np.isfinite(most) else None)],
    )
    if not square.success or square.x[2] < 1e-4:
        return None
    needed = HalfspaceIntersection(np.column_stack([rows, -limits]), square.x[:2]).dual_vertices  # of hundreds, a few
    rows, limits = rows[needed], limits[needed]
    wide = np.hstack([rows, np.abs(rows)])
    start = np.array([*square.x[:2], *np.full(2, 0.98 * square.x[2])])
    best = minimize(
        lambda x: -np.log(np.maximum(x[2:], 1e-6)).sum(),
        start,
        method="SLSQP",
        bounds=[(None, None), (None, None), (1e-4, most), (1e-4, most)],
        constraints={"type": "ineq", "fun": lambda x: limits - wide @ x, "jac": lambda x: -wide},
    )
    fits = best.success and (wide @ best.x <= limits + 1e-4).all()
    return best.x if fits else start
