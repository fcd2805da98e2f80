"""How deep bodies are below the ground: of shapes that must not be there, the lowest point."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mujoco
import numba
import numpy as np

from interplay.models.base import solid_shapes
from interplay.scene.kinematics import Kinematics

_BOX, _BALL, _ROUND = 0, 1, 2
"""Kinds of shapes: boxes (and what is inside one), ellipsoids, capsules and cylinders."""


class Ground:
    """The ground plane of a scene, and the solid shapes over it."""

    def __init__(self, m: mujoco.MjModel):
        """Take the scene's model; without a ground nothing is ever below it."""
        shapes = mujoco.mjtGeom
        planes = np.flatnonzero((m.geom_type == int(shapes.mjGEOM_PLANE)) & (m.geom_bodyid == 0))
        solid = solid_shapes(m) & (m.body_treeid[m.geom_bodyid] >= 0)
        self._geoms = np.flatnonzero(solid) if len(planes) else np.zeros(0, np.int64)
        self._body = m.geom_bodyid[self._geoms].astype(np.int64)
        kind, size = m.geom_type[self._geoms], m.geom_size[self._geoms].copy()
        centre = np.zeros((len(self._geoms), 3))
        self._kind = np.full(len(self._geoms), _BOX)
        ball, sphere = kind == int(shapes.mjGEOM_ELLIPSOID), kind == int(shapes.mjGEOM_SPHERE)
        size[sphere] = size[sphere, :1]
        self._kind[ball | sphere] = _BALL
        self._kind[np.isin(kind, (int(shapes.mjGEOM_CAPSULE), int(shapes.mjGEOM_CYLINDER)))] = _ROUND
        size[kind == int(shapes.mjGEOM_CAPSULE), 2] = 1.0  # its ends are round
        other = np.isin(kind, (int(shapes.mjGEOM_MESH), int(shapes.mjGEOM_HFIELD), int(shapes.mjGEOM_SDF)))
        centre[other], size[other] = m.geom_aabb[self._geoms[other], :3], m.geom_aabb[self._geoms[other], 3:]
        self._centre, self._size = centre, size
        mesh = np.where(kind == int(shapes.mjGEOM_MESH), m.geom_dataid[self._geoms], -1)
        first = np.where(mesh >= 0, m.mesh_vertadr[mesh], 0) if m.nmesh else np.zeros(len(mesh), np.int64)
        count = np.where(mesh >= 0, m.mesh_vertnum[mesh], 0) if m.nmesh else np.zeros(len(mesh), np.int64)
        self._vertices = np.column_stack([first, first + count]).astype(np.int64)
        """Which of all corners are those of a mesh; none of other shapes."""
        self._corners = np.ascontiguousarray(m.mesh_vert, float).reshape(-1, 3)
        self._stands, self._twist = np.zeros(m.nbody, bool), np.zeros((m.nbody, 6))
        self._first_dof, self._dofs = m.body_dofadr.astype(np.int64), m.body_dofnum.astype(np.int64)
        self._contacts: object = None

    def depth(self, terms: Kinematics, contacts: Sequence[Any], dt: float, qvel: np.ndarray) -> float:
        """Return how deep [m] the lowest body is below the ground, now or after dt [s] with some velocities; 0: none is.

        Bodies that a contact puts on the ground do not count.
        """
        if contacts is not self._contacts:
            self._contacts = contacts
            self._stands[:] = False
            self._stands[[c.first.body for c in contacts if c.second.body == 0]] = True
        return _depth(
            self._geoms,
            self._body,
            self._kind,
            self._centre,
            self._size,
            self._vertices,
            self._corners,
            self._stands,
            terms.geom_xpos,
            terms.geom_xmat,
            terms.parent,
            self._first_dof,
            self._dofs,
            terms.cdof,
            qvel,
            self._twist,
            terms.subtree_com,
            terms.root,
            dt,
        )


@numba.njit(cache=True)
def _depth(
    geoms,
    body,
    kind,
    centre,
    size,
    vertices,
    corners,
    stands,
    xpos,
    xmat,
    parent,
    first_dof,
    dofs,
    cdof,
    qvel,
    twist,
    com,
    root,
    dt,
):
    for b in range(1, parent.shape[0]):
        for i in range(6):
            twist[b, i] = twist[parent[b], i]
            for d in range(first_dof[b], first_dof[b] + dofs[b]):
                twist[b, i] += cdof[d, i] * qvel[d]
    deepest = 0.0
    for k in range(geoms.shape[0]):
        if stands[body[k]]:
            continue
        g = geoms[k]
        a, b, c = xmat[g, 6], xmat[g, 7], xmat[g, 8]
        z = xpos[g, 2] + a * centre[k, 0] + b * centre[k, 1] + c * centre[k, 2]
        turn, origin = twist[body[k]], com[root[body[k]]]
        rate = turn[5] + turn[0] * (xpos[g, 1] - origin[1]) - turn[1] * (xpos[g, 0] - origin[0])
        z += min(rate, 0.0) * dt
        if kind[k] == _BOX:
            z -= abs(a) * size[k, 0] + abs(b) * size[k, 1] + abs(c) * size[k, 2]
        elif kind[k] == _BALL:
            z -= np.sqrt((a * size[k, 0]) ** 2 + (b * size[k, 1]) ** 2 + (c * size[k, 2]) ** 2)
        else:
            edge = 1.0 if size[k, 2] > 0.0 else np.sqrt(max(1.0 - c * c, 0.0))
            z -= abs(c) * size[k, 1] + edge * size[k, 0]
        if -z > deepest and vertices[k, 1] > vertices[k, 0]:  # the box around a mesh is: its lowest corner need not be
            lowest = np.inf
            for v in range(vertices[k, 0], vertices[k, 1]):
                lowest = min(lowest, a * corners[v, 0] + b * corners[v, 1] + c * corners[v, 2])
            z = xpos[g, 2] + min(rate, 0.0) * dt + lowest
        deepest = max(deepest, -z)
    return deepest
