"""Broad phase: which pairs of shapes are near enough to be measured, by capsules around the shapes and their speeds."""

from __future__ import annotations

import mujoco
import numba
import numpy as np

from interplay.scene.kinematics import point_column


def bounding_capsules(m: mujoco.MjModel) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return for each geom an axis (0, 1, 2 of its frame), half length along it and radius of a capsule around it [m], and its box.

    A plane gets radius −1. ``box`` are the half sizes (3) of a box, or of the box around a mesh, else −1.
    """
    axis, half, radius = np.full(m.ngeom, 2), np.zeros(m.ngeom), m.geom_rbound.copy()
    box = np.full((m.ngeom, 3), -1.0)
    shapes = mujoco.mjtGeom
    size, kind = m.geom_size.copy(), m.geom_type
    mesh = kind == int(shapes.mjGEOM_MESH)  # its frame is that of its inertia: the box around it may be off its middle
    size[mesh] = np.abs(m.geom_aabb[mesh, :3]) + m.geom_aabb[mesh, 3:]
    radius[kind == int(shapes.mjGEOM_PLANE)] = -1.0
    long = np.isin(kind, [int(shapes.mjGEOM_CAPSULE), int(shapes.mjGEOM_CYLINDER)])
    half[long], radius[long] = size[long, 1], size[long, 0]
    boxes, balls = (kind == int(shapes.mjGEOM_BOX)) | mesh, kind == int(shapes.mjGEOM_ELLIPSOID)
    ordered, solid = np.sort(size, axis=1), boxes | balls
    axis[solid], half[solid] = np.argmax(size[solid], axis=1), ordered[solid, 2]
    radius[boxes], radius[balls] = np.hypot(ordered[boxes, 0], ordered[boxes, 1]), ordered[balls, 1]
    half[balls] -= ordered[balls, 1]  # an ellipsoid a ≤ b ≤ c lies in the capsule of radius b whose round ends reach c
    box[boxes] = size[boxes]
    return axis.astype(np.int64), half, radius, box


@numba.njit(cache=True)
def near_pairs(
    xpos,
    xmat,
    cvel,
    com,
    root,
    bodies,
    axis,
    half,
    radius,
    box,
    used,
    geoms,
    reach,
    skip,
    braking,
    dt,
    margin,
    candidates,
):
    """Write the pairs whose capsules come within ``reach``, or soon will at their speed, and how far that is; return how many.

    ``margin`` is what two bodies may approach in two steps and then while braking; ``used`` are the shapes that pairs have.
    """
    speed, along, motion = np.zeros(xpos.shape[0]), np.zeros((xpos.shape[0], 3)), np.zeros((xpos.shape[0], 6))
    r = np.empty(3)
    for g in used:
        body = bodies[g]
        for i in range(3):
            r[i] = xpos[g, i] - com[root[body], i]
        moved = motion[g]
        point_column(cvel[body], r, moved)
        # The far end of a shape moves by at most ω × its half length more.
        turning = np.sqrt(moved[3] ** 2 + moved[4] ** 2 + moved[5] ** 2) * (half[g] + max(radius[g], 0.0))
        speed[g] = np.sqrt(moved[0] ** 2 + moved[1] ** 2 + moved[2] ** 2) + turning
        for i in range(3):
            along[g, i] = xmat[g, 3 * i + axis[g]] * half[g]
    count = 0
    for k in range(geoms.shape[0]):
        if skip[k]:
            continue
        a, b = geoms[k, 0], geoms[k, 1]
        both = speed[a] + speed[b]
        wide = 2.0 * both * dt + both * both / (2.0 * braking)
        if radius[a] < 0.0 or radius[b] < 0.0:
            plane, other = (a, b) if radius[a] < 0.0 else (b, a)
            height, lean = 0.0, 0.0
            for i in range(3):
                height += (xpos[other, i] - xpos[plane, i]) * xmat[plane, 3 * i + 2]
                lean += along[other, i] * xmat[plane, 3 * i + 2]
            gap = height - abs(lean) - radius[other]
        else:
            far, apart = half[a] + half[b] + radius[a] + radius[b] + reach[k] + wide, 0.0
            for i in range(3):
                apart += (xpos[a, i] - xpos[b, i]) ** 2
            if apart > far * far:  # the balls around them are apart
                continue
            gap = _segment_distance(xpos[a], along[a], xpos[b], along[b]) - radius[a] - radius[b]
            if box[a, 0] > 0.0:
                gap = max(gap, _before_faces(xpos[a], xmat[a], box[a], xpos[b], along[b], radius[b]))
            if box[b, 0] > 0.0:
                gap = max(gap, _before_faces(xpos[b], xmat[b], box[b], xpos[a], along[a], radius[a]))
        if gap < reach[k] + wide:
            # Both may move together: what counts is how fast the points of the second move, seen from the first.
            both = min(both, _seen_speed(xpos, motion, a, b, half[b] + radius[b]) if radius[b] >= 0.0 else both)
            wide = 2.0 * both * dt + both * both / (2.0 * braking)
        if gap < reach[k] + wide:
            candidates[count], margin[count] = k, wide
            count += 1
    return count


@numba.njit(cache=True)
def _seen_speed(xpos, motion, a, b, size):
    """Return how fast a point of a shape moves at most, up to so far [m] from its middle, for who moves with another one."""
    linear, angular = 0.0, 0.0
    for i in range(3):
        j, h = (i + 1) % 3, (i + 2) % 3
        carried = motion[a, 3 + j] * (xpos[b, h] - xpos[a, h]) - motion[a, 3 + h] * (xpos[b, j] - xpos[a, j])
        linear += (motion[b, i] - motion[a, i] - carried) ** 2
        angular += (motion[b, 3 + i] - motion[a, 3 + i]) ** 2
    return np.sqrt(linear) + np.sqrt(angular) * size


@numba.njit(cache=True)
def _before_faces(centre, turn, box, p, u, radius):
    """Return how far the capsule p ± u lies before a box, across the face that separates them best: at most their distance."""
    gap = -np.inf
    for k in range(3):
        height, lean = 0.0, 0.0
        for i in range(3):
            height += (p[i] - centre[i]) * turn[3 * i + k]
            lean += u[i] * turn[3 * i + k]
        gap = max(gap, abs(height) - box[k] - abs(lean) - radius)
    return gap


@numba.njit(cache=True)
def _segment_distance(p, u, q, v):
    """Return the distance of the segments p ± u and q ± v."""
    uu, vv, uv, up, vp, pp = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(3):
        w = p[i] - q[i]
        uu += u[i] * u[i]
        vv += v[i] * v[i]
        uv += u[i] * v[i]
        up += u[i] * w
        vp += v[i] * w
        pp += w * w
    # Minimise |w + s u − t v|² over s, t in [−1, 1]: the free minimum in s, then t, then s once more (convex).
    det = uu * vv - uv * uv
    s = min(max((uv * vp - vv * up) / det, -1.0), 1.0) if det > 1e-12 * max(uu * vv, 1e-12) else 0.0
    t = min(max((uv * s + vp) / vv, -1.0), 1.0) if vv > 1e-12 else 0.0
    s = min(max((uv * t - up) / uu, -1.0), 1.0) if uu > 1e-12 else 0.0
    total = pp + s * s * uu + t * t * vv + 2.0 * (s * up - t * vp - s * t * uv)
    return np.sqrt(max(total, 0.0))
