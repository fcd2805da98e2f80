"""Kernels of collision avoidance: rows of pairs of shapes, their bounds (24) and Jacobians; see :mod:`.collision`."""

from __future__ import annotations

import numba
import numpy as np

from interplay.constraints.damper import approach_limit, braking_speed, damper_gain
from interplay.maths.rotations import turn_axes
from interplay.scene.kinematics import point_column, point_motion

DAMPING, OFFSET = 0.3, 0.1
"""ξ0 and the offset added on activation [m/s]."""

BRAKING = 20.0
"""Deceleration [m/s²] that approaching bodies are trusted with."""

WITHDRAWAL = 2.0
"""Acceleration [m/s²] with which bodies inside the security distance draw apart."""

TOUCHING = 5e-4
"""Depth [m] up to which bodies count as touching, not as inside each other."""

RELEASE = 1.1
"""A pair is let go only beyond this multiple of its influence distance, so it does not flicker on the border."""

CURVATURE = 15.0
"""Bound [m/s²] of what rolling and curvature add to the distance's acceleration: it has no finite value where a witness jumps."""

TOUCH = 1e-6
"""Gap [m] within which witness points give no direction."""

STILL, AROUND = 2.5e-4, 0.1
"""Bodies that move against each other by less than this within a step [m], at the witness points and so far around them [m], neither
roll nor slide: points fixed in them tell the distance to (2.5e-4)²/2r, a few thousandths of a millimetre."""

SAME, SLID, KEPT = 0.015, 0.02, 3
"""Witness points nearer than this are one [m]; an old pair that has slid apart by this much is dropped [m]; how many are kept."""


@numba.njit(cache=True)
def any_nearer(distances, limits):
    """Return whether any distance is below its limit, and whether any is that of bodies that just touch."""
    some, touching = False, False
    for k in range(distances.shape[0]):
        some = some or distances[k] < limits[k]
        touching = touching or abs(distances[k]) <= TOUCH
    return some, touching


@numba.njit(cache=True)
def find_active(active, key, order, ngeom, near):
    """Return where each near pair stands among the active ones, −1 if nowhere; ``key`` holds the pairs' shapes, sorted."""
    place, out = np.empty(key.shape[0], np.int64), np.empty(near.shape[0], np.int64)
    for k in range(key.shape[0]):
        place[k] = -1
    for k in range(active.shape[0]):
        wanted = active[k, 0] * ngeom + active[k, 1]
        at, end = 0, key.shape[0]
        while at < end:
            middle = (at + end) // 2
            if key[middle] < wanted:
                at = middle + 1
            else:
                end = middle
        if at < key.shape[0] and key[at] == wanted:
            place[order[at]] = k
    for n in range(near.shape[0]):
        out[n] = place[near[n]]
    return out


@numba.njit(cache=True)
def write_pair_rows(
    xpos,
    xmat,
    cvel,
    bias_acc,
    com,
    root,
    bodies,
    geoms,
    zone,
    lenient,
    near,
    limit,
    distance,
    fromto,
    hint,
    known,
    active,
    dt,
    rows,
    kept,
):
    """Write the rows of all pairs inside their zones, or approaching too fast to stop, and what is kept of them.

    Return how many rows and how many pairs those are, and whether any row is curved.
    """
    count, staying, curved = 0, 0, False
    u = np.empty(3)
    for n in range(near.shape[0]):
        k, d = near[n], distance[n]
        if d >= limit[n]:
            continue
        influence, security = zone[k, 0], zone[k, 1]
        b1, b2, p = bodies[k, 0], bodies[k, 1], rows.points[count]
        for i in range(3):
            p[0, i], p[1, i] = fromto[n, i], fromto[n, 3 + i]
            u[i] = (p[0, i] - p[1, i]) / d if abs(d) > TOUCH else hint[n, i]
        length = np.sqrt(u[0] ** 2 + u[1] ** 2 + u[2] ** 2)
        for i in range(3):
            u[i] /= length
            rows.u[count, i] = u[i]
        rate, bias, moving = _approach(p, u, cvel, bias_acc, com, root, b1, b2, dt)
        rows.pair[count], rows.distance[count], rows.witness[count], rows.curved[count] = k, d, True, moving
        rows.rate[count], rows.bias[count] = rate, bias
        if d > influence * (RELEASE if known[n] >= 0 else 1.0):
            if -rate > 0.7 * braking_speed(d - security, BRAKING, dt):
                rows.xi[count] = 0.0
                count += 1
            continue
        before = active.xi[known[n]] if known[n] >= 0 else 0.0
        xi = damper_gain(before, min(d, influence), -rate, influence, security, DAMPING, OFFSET, dt)
        rows.xi[count] = xi
        count += 1
        points, size = kept.points[staying], 1
        kept.xi[staying] = xi
        for side in range(2):
            b, X, local = bodies[k, side], xmat[bodies[k, side]], points[0, side]
            x, y, z = p[side, 0] - xpos[b, 0], p[side, 1] - xpos[b, 1], p[side, 2] - xpos[b, 2]
            for i in range(3):
                local[i] = X[i] * x + X[3 + i] * y + X[6 + i] * z
            kept.geoms[staying, side] = geoms[k, side]
        for i in range(3):
            kept.u[staying, i] = u[i]
        if known[n] >= 0:
            for j in range(active.count[known[n]]):
                before_local = active.points[known[n], j]
                new = size <= KEPT
                for i in range(size):
                    new = new and _apart(before_local[0], points[i, 0]) > SAME
                if not new:
                    continue
                old, gap, slid = rows.points[count], 0.0, 0.0
                for side in range(2):
                    b, X, local = bodies[k, side], xmat[bodies[k, side]], before_local[side]
                    for i in range(3):
                        at = X[3 * i] * local[0] + X[3 * i + 1] * local[1] + X[3 * i + 2] * local[2]
                        old[side, i] = xpos[b, i] + at
                for i in range(3):
                    gap += u[i] * (old[0, i] - old[1, i])
                for i in range(3):
                    slid += (old[0, i] - old[1, i] - gap * u[i]) ** 2
                if np.sqrt(slid) < SLID and gap < influence:
                    rate, bias, _ = _approach(old, u, cvel, bias_acc, com, root, b1, b2, dt)
                    rows.pair[count], rows.distance[count] = k, gap
                    rows.witness[count] = rows.curved[count] = False
                    rows.rate[count], rows.bias[count], rows.xi[count] = rate, bias, xi
                    for i in range(3):
                        rows.u[count, i] = u[i]
                        points[size, 0, i], points[size, 1, i] = before_local[0, i], before_local[1, i]
                    size += 1
                    count += 1
        kept.count[staying] = size
        staying += 1
    for n in range(count):
        curved = curved or rows.curved[n]
    set_bounds(zone, lenient, rows, count, dt)
    return count, staying, curved


@numba.njit(cache=True)
def _approach(points, u, cvel, bias_acc, com, root, b1, b2, dt):
    """Return rate and bias of the distance of two points along u, and whether the bodies move against each other.

    The bias is that of points fixed in their bodies.
    """
    one, two, r1, r2 = np.empty((2, 6)), np.empty((2, 6)), np.empty(3), np.empty(3)
    for i in range(3):
        r1[i], r2[i] = points[0, i] - com[root[b1], i], points[1, i] - com[root[b2], i]
    point_motion(cvel[b1], bias_acc[b1], r1, one)
    point_motion(cvel[b2], bias_acc[b2], r2, two)
    rate, bias, speed = 0.0, 0.0, 0.0
    for i in range(3):
        rate += u[i] * (one[0, i] - two[0, i])
        bias += u[i] * (one[1, i] - two[1, i])
        speed += (one[0, i] - two[0, i]) ** 2 + (AROUND * (one[0, 3 + i] - two[0, 3 + i])) ** 2
    return rate, bias, speed * dt**2 > STILL**2


@numba.njit(cache=True)
def _apart(p, q):
    """Return the distance of two points."""
    return np.sqrt((p[0] - q[0]) ** 2 + (p[1] - q[1]) ** 2 + (p[2] - q[2]) ** 2)


@numba.njit(cache=True)
def set_bounds(zone, lenient, rows, count, dt):
    """Write the bounds (24) of so many rows."""
    for n in range(count):
        influence, security = zone[rows.pair[n], 0], zone[rows.pair[n], 1]
        allowed = approach_limit(rows.distance[n], rows.xi[n], influence, security, BRAKING, dt)
        if -TOUCHING < rows.distance[n] < security:  # inside the margin: withdraw, but without a jerk
            allowed = max(allowed, -max(rows.rate[n], 0.0) - WITHDRAWAL * dt)
        if lenient[rows.pair[n]] and rows.distance[n] < security:  # come no nearer, as soon as that can be
            allowed = max(allowed, -rows.rate[n] - BRAKING * dt, 0.0)
        rows.bound[n] = (-allowed - rows.rate[n]) / dt - rows.bias[n]


@numba.njit(cache=True)
def move_shapes(xpos, xmat, cvel, bias_acc, com, root, bodies, geoms, pairs, time, out_pos, out_mat):
    """Write where the shapes of some pairs are after some time along q̈ = 0, to second order: x + vt + ½at², exp(ωt + ½αt²) R."""
    r, motion, turn = np.empty(3), np.empty((2, 6)), np.empty(3)
    for k in pairs:
        for side in range(2):
            g, body = geoms[k, side], bodies[k, side]
            for i in range(3):
                r[i] = xpos[g, i] - com[root[body], i]
            point_motion(cvel[body], bias_acc[body], r, motion)
            for i in range(3):
                out_pos[g, i] = xpos[g, i] + time * (motion[0, i] + 0.5 * time * motion[1, i])
                turn[i] = time * (motion[0, 3 + i] + 0.5 * time * motion[1, 3 + i])
            turn_axes(turn, xmat[g], out_mat[g])


@numba.njit(cache=True)
def write_jacobians(cdof, com, root, chain_start, chain_dofs, bodies, pair, points, u, offsets, starts, out):
    """Write uᵀ(J1 − J2) of each row into ``out``, from its place in ``starts``."""
    column, r = np.empty(6), np.empty(3)
    for n in range(pair.shape[0]):
        for side in range(2):
            body = bodies[pair[n], side]
            sign, at = 1.0 - 2.0 * side, starts[n] + offsets[pair[n], side]
            for i in range(3):
                r[i] = points[n, side, i] - com[root[body], i]
            for e in range(chain_start[body], chain_start[body + 1]):
                dof = chain_dofs[e]
                point_column(cdof[dof], r, column)
                out[at + dof] += sign * (u[n, 0] * column[0] + u[n, 1] * column[1] + u[n, 2] * column[2])
