"""How well collision shapes fit what is seen, and how far contact surfaces lie off them: what the tests of models share."""

import mujoco
import numpy as np
from scipy.spatial import ConvexHull, cKDTree

from interplay.models.base import COLLISION_GROUP, VISUAL_GROUP
from interplay.models.distance import geom_distance, mesh_points
from interplay.view.meshes import geom_mesh

SPACING = 0.012
"""How far apart points of a surface are taken [m]."""


def shapes_of(m, body):
    """Return the geoms of a body that collide."""
    found = [g for g in range(m.ngeom) if m.geom_bodyid[g] == body and (m.geom_contype[g] or m.geom_conaffinity[g])]
    return [g for g in found if m.geom_group[g] == COLLISION_GROUP] or found


def seen_of(m, body):
    """Return the geoms of a body that are drawn."""
    return [g for g in range(m.ngeom) if m.geom_bodyid[g] == body and m.geom_group[g] == VISUAL_GROUP]


def neighbours(m, body):
    """Return a body and those that a joint or a weld joins to it, beyond bodies without any shape."""
    near = {body}
    up = int(m.body_parentid[body])
    while up and not shapes_of(m, up):
        up = int(m.body_parentid[up])
    if up:
        near.add(up)
    stack = [b for b in range(1, m.nbody) if m.body_parentid[b] == body]
    while stack:
        child = stack.pop()
        near.add(child)
        if not shapes_of(m, child):
            stack += [b for b in range(1, m.nbody) if m.body_parentid[b] == child]
    return near


def surface_points(m, d, geom, spacing=SPACING):
    """Return points (n, 3) and outward normals of a geom's surface in the world, nowhere farther apart than the spacing or so.

    Of a mesh that collides it is the surface of the convex hull, as MuJoCo takes it.
    """
    if m.geom_group[geom] == COLLISION_GROUP and m.geom_type[geom] == int(mujoco.mjtGeom.mjGEOM_MESH):
        hull = ConvexHull(mesh_points(m, geom))
        corners = hull.points[hull.simplices]
        inward = (np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]) * hull.equations[:, :3]).sum(1)
        corners[inward < 0] = corners[inward < 0][:, ::-1]
    else:
        vertices, faces = geom_mesh(m, geom)
        corners = np.asarray(vertices, float)[np.asarray(faces, int)]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    area = np.linalg.norm(normals, axis=1)
    keep = area > 1e-12
    corners, normals = corners[keep], normals[keep] / area[keep, None]
    longest = np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2).max(axis=1)
    points, ways = [], []
    for n in np.unique(np.ceil(longest / spacing)):
        these = np.ceil(longest / spacing) == n
        i, j = np.meshgrid(np.arange(n + 1), np.arange(n + 1), indexing="ij")
        inside = i + j <= n
        weights = np.column_stack([i[inside], j[inside], n - i[inside] - j[inside]]) / n
        points.append(np.einsum("wk,tkx->twx", weights, corners[these]).reshape(-1, 3))
        ways.append(np.repeat(normals[these], len(weights), axis=0))
    R = d.geom_xmat[geom].reshape(3, 3)
    return np.vstack(points) @ R.T + d.geom_xpos[geom], np.vstack(ways) @ R.T


def out_of_shapes(m, d, points, shapes):
    """Return how far each point lies outside of the union of some collision shapes [m], negative inside."""
    return np.min([geom_distance(m, d, g, points) for g in shapes], axis=0)


def out_of_sight(m, d, points, seen):
    """Return how far each point lies outside of the union of what is seen [m], 0 inside."""
    out = np.full(len(points), np.inf)
    for g in seen:
        if m.geom_type[g] == int(mujoco.mjtGeom.mjGEOM_MESH):
            surface, normals = surface_points(m, d, g)
            far, nearest = cKDTree(surface).query(points)
            before = ((points - surface[nearest]) * normals[nearest]).sum(axis=1)
            beside = np.sqrt(np.maximum(far**2 - before**2, 0.0))
            # Beside a sample of the same face, its plane is as far away as the face.
            out = np.minimum(out, np.where(beside < SPACING, np.maximum(before, 0.0), np.where(before > 0, far, 0.0)))
        else:
            out = np.minimum(out, np.maximum(geom_distance(m, d, g, points), 0.0))
    return out


def fit(m, d, body, skip=()):
    """Return (how far what is seen of a body sticks out of the shapes, how far its shapes stick out of what is seen) [m].

    At a joint the neighbours' shapes and looks cover a body's own: the union of both counts.
    """
    near = neighbours(m, body)
    shapes = [g for b in near for g in shapes_of(m, b)]
    seen = [g for b in near for g in seen_of(m, b)]
    own = [g for g in seen_of(m, body) if not any(word in m.geom(g).name for word in skip)]
    mesh = max((float(out_of_shapes(m, d, surface_points(m, d, g)[0], shapes).max()) for g in own), default=0.0)
    shape = max(
        (float(out_of_sight(m, d, surface_points(m, d, g)[0], seen).max()) for g in shapes_of(m, body)), default=0.0
    )
    return mesh, shape
