"""How far points are from shapes: signed distances in closed form, negative inside."""

from __future__ import annotations

import functools

import mujoco
import numpy as np
from scipy.spatial import ConvexHull

_SHAPES = mujoco.mjtGeom


def geom_distance(m: mujoco.MjModel, d: mujoco.MjData, geom: int, points: np.ndarray) -> np.ndarray:
    """Return the signed distances [m] (n,) of points of the world (n, 3) from a geom; a mesh counts as its convex hull."""
    return shape_distance(m, geom, (points - d.geom_xpos[geom]) @ d.geom_xmat[geom].reshape(3, 3))


def shape_distance(m: mujoco.MjModel, geom: int, points: np.ndarray) -> np.ndarray:
    """Return the signed distances [m] (n,) of points in the geom's own frame (n, 3) from it."""
    size, kind = m.geom_size[geom], int(m.geom_type[geom])
    if kind == _SHAPES.mjGEOM_PLANE:
        return points[:, 2].copy()
    if kind == _SHAPES.mjGEOM_SPHERE:
        return np.linalg.norm(points, axis=1) - size[0]
    if kind == _SHAPES.mjGEOM_CAPSULE:
        beyond = np.maximum(np.abs(points[:, 2]) - size[1], 0.0)
        return np.sqrt(points[:, 0] ** 2 + points[:, 1] ** 2 + beyond**2) - size[0]
    if kind == _SHAPES.mjGEOM_CYLINDER:
        across = np.hypot(points[:, 0], points[:, 1])
        return _outside(np.column_stack([across - size[0], np.abs(points[:, 2]) - size[1]]))
    if kind == _SHAPES.mjGEOM_BOX:
        return _outside(np.abs(points) - size)
    if kind == _SHAPES.mjGEOM_ELLIPSOID:
        return _ellipsoid(points, size)
    if kind == _SHAPES.mjGEOM_MESH:
        # The farthest of the faces' planes: exact inside and before a face, a little short off an edge.
        faces = _faces(mesh_points(m, geom).tobytes())
        return (points @ faces[:, :3].T + faces[:, 3]).max(axis=1)
    return np.linalg.norm(points, axis=1) - m.geom_rbound[geom]


def mesh_points(m: mujoco.MjModel, geom: int) -> np.ndarray:
    """Return the vertices (n, 3) of a mesh geom in its own frame."""
    mesh = int(m.geom_dataid[geom])
    first = int(m.mesh_vertadr[mesh])
    return m.mesh_vert[first : first + int(m.mesh_vertnum[mesh])].astype(float)


@functools.lru_cache(maxsize=64)  # the same shapes are asked for at every pose
def _faces(vertices: bytes) -> np.ndarray:
    """Return the planes n·p + d = 0 of a convex hull, normals outward, each once."""
    return np.unique(np.round(ConvexHull(np.frombuffer(vertices).reshape(-1, 3)).equations, 9), axis=0)


def _outside(beyond: np.ndarray) -> np.ndarray:
    """Return the signed distance from a box, by how far a point lies beyond each pair of its sides."""
    return np.linalg.norm(np.maximum(beyond, 0.0), axis=1) + np.minimum(beyond.max(axis=1), 0.0)


def _ellipsoid(points: np.ndarray, size: np.ndarray) -> np.ndarray:
    """Return the signed distance from an ellipsoid: the nearest point is x_i = a_i² p_i / (a_i² + t), t from bisection."""
    p, square = np.abs(points), size**2
    low = np.full(len(p), -square.min() * (1 - 1e-9))
    high = np.linalg.norm(p, axis=1) * size.max()
    for _ in range(60):
        t = 0.5 * (low + high)
        outside = ((size * p / (square + t[:, None])) ** 2).sum(axis=1) > 1.0
        low, high = np.where(outside, t, low), np.where(outside, high, t)
    nearest = square * p / (square + (0.5 * (low + high))[:, None])
    sign = np.where(((p / size) ** 2).sum(axis=1) > 1.0, 1.0, -1.0)
    return sign * np.linalg.norm(p - nearest, axis=1)
