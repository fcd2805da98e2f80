"""Shapes as triangles, for the browser."""

from __future__ import annotations

import mujoco
import numpy as np
import trimesh


def geom_mesh(m: mujoco.MjModel, geom: int) -> tuple[np.ndarray, np.ndarray]:
    """Return vertices (n, 3) and triangles (k, 3) of a geom in its own frame."""
    kind, size = int(m.geom_type[geom]), m.geom_size[geom]
    G = mujoco.mjtGeom
    if kind == int(G.mjGEOM_MESH):
        mesh = int(m.geom_dataid[geom])
        v, f = int(m.mesh_vertadr[mesh]), int(m.mesh_faceadr[mesh])
        return m.mesh_vert[v : v + m.mesh_vertnum[mesh]].astype(np.float32), m.mesh_face[
            f : f + m.mesh_facenum[mesh]
        ].astype(np.uint32)
    if kind == int(G.mjGEOM_CAPSULE):
        shape = trimesh.creation.capsule(height=2 * size[1], radius=size[0], count=(12, 12))
        shape.apply_translation((0, 0, -shape.bounds.mean(axis=0)[2]))
        return np.asarray(shape.vertices, np.float32), np.asarray(shape.faces, np.uint32)
    form, scale = {
        int(G.mjGEOM_BOX): ("box", size),
        int(G.mjGEOM_CYLINDER): ("tube", size[[0, 0, 1]]),
        int(G.mjGEOM_SPHERE): ("ball", size[[0, 0, 0]]),
    }.get(kind, ("ball", size))
    vertices, faces = unit_mesh(form)
    return vertices * scale.astype(np.float32), faces


def unit_mesh(form: str) -> tuple[np.ndarray, np.ndarray]:
    """Return vertices and triangles of a box, a ball or a tube (a cylinder along z) with half sizes of one.

    A bead and a straw are a ball and a tube of fewer triangles.
    """
    if form == "box":
        shape = trimesh.creation.box(extents=(2, 2, 2))
    elif form in ("tube", "straw"):
        shape = trimesh.creation.cylinder(radius=1, height=2, sections=24 if form == "tube" else 10)
    else:
        shape = trimesh.creation.icosphere(subdivisions=2 if form == "ball" else 1)
    return np.asarray(shape.vertices, np.float32), np.asarray(shape.faces, np.uint32)
