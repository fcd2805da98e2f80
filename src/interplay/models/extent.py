"""How far shapes reach."""

from __future__ import annotations

import mujoco
import numpy as np

_SHAPES = mujoco.mjtGeom


def geom_extent(m: mujoco.MjModel, d: mujoco.MjData, geom: int, axes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the lowest and highest coordinates (n,) of a geom along some unit axes (n, 3), exact for convex shapes."""
    R, size, kind = axes @ d.geom_xmat[geom].reshape(3, 3), m.geom_size[geom], int(m.geom_type[geom])
    centre = axes @ d.geom_xpos[geom]
    if kind == _SHAPES.mjGEOM_MESH:
        mesh = int(m.geom_dataid[geom])
        first, count = int(m.mesh_vertadr[mesh]), int(m.mesh_vertnum[mesh])
        points = m.mesh_vert[first : first + count] @ R.T + centre
        return points.min(0), points.max(0)
    along = np.abs(R[:, 2])
    if kind == _SHAPES.mjGEOM_SPHERE:
        reach = np.full(len(axes), size[0])
    elif kind == _SHAPES.mjGEOM_CAPSULE:
        reach = along * size[1] + size[0]
    elif kind == _SHAPES.mjGEOM_CYLINDER:
        reach = along * size[1] + size[0] * np.sqrt(np.maximum(0.0, 1.0 - along**2))
    elif kind == _SHAPES.mjGEOM_ELLIPSOID:
        reach = np.linalg.norm(R * size, axis=1)
    elif kind == _SHAPES.mjGEOM_BOX:
        reach = np.abs(R) @ size
    else:
        reach = np.full(len(axes), m.geom_rbound[geom])
    return centre - reach, centre + reach
