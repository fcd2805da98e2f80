"""The rows of contacts and what their wrenches do, as compiled loops: Jacobians, no-slip right-hand sides, costs, forces."""

from __future__ import annotations

import numba
import numpy as np

from interplay.constraints.footing import TOUCHING, opened_by
from interplay.maths.rotations import rotation_log
from interplay.maths.steps import smooth_step
from interplay.scene.kinematics import point_column, point_motion

RETURN_SPEED, STOPPING = 0.2, 200.0
"""Fastest return [m/s, rad/s] of a contact that has slipped, and fastest stop [m/s², rad/s²]: asked for more at once, a body
would be thrown."""

_FADED_COST = 1.0
TORQUE_ARM = 0.1
"""A torque costs as much as the force that makes it at this arm [m]."""
_SETTLING = 0.03


@numba.njit(cache=True)
def load(time, made_at, fade_in, release_at, fade_out):
    """Return how far a contact may carry: 1 fully, 0 not at all; it fades in after making and out before release."""
    share = 1.0
    if fade_in > 0.0:
        share = min(share, smooth_step((time - made_at) / fade_in))
    if time > release_at:
        share = min(share, 1.0 - smooth_step((time - release_at) / fade_out) if fade_out > 0.0 else 0.0)
    return share


@numba.njit(cache=True)
def movers(bodies, chain_start, chain_dofs):
    """Return the DOFs that move the two bodies of each contact differently, their signs, 0 where there is none, and the most."""
    n, longest = bodies.shape[0], 0
    for k in range(n):
        length = 0
        for i in range(2):
            length += chain_start[bodies[k, i] + 1] - chain_start[bodies[k, i]]
        longest = max(longest, length)
    cols, sign, width = np.zeros((n, longest), np.int64), np.zeros((n, longest)), 0
    for k in range(n):
        i, last_i = chain_start[bodies[k, 0]], chain_start[bodies[k, 0] + 1]
        j, last_j = chain_start[bodies[k, 1]], chain_start[bodies[k, 1] + 1]
        size = 0
        while i < last_i or j < last_j:  # both chains ascend: merge them
            if i < last_i and j < last_j and chain_dofs[i] == chain_dofs[j]:
                i, j = i + 1, j + 1
                continue
            if j == last_j or (i < last_i and chain_dofs[i] < chain_dofs[j]):
                cols[k, size], sign[k, size] = chain_dofs[i], 1.0
                i += 1
            else:
                cols[k, size], sign[k, size] = chain_dofs[j], -1.0
                j += 1
            size += 1
        width = max(width, size)
    return cols, sign, width


@numba.njit(cache=True)
def entries(dim, start, cols, sign):
    """Return unknown (or row), DOF and place in a Jacobian (n, 6, width) of each of its entries."""
    width, total = cols.shape[1], 0
    for k in range(dim.shape[0]):
        total += dim[k] * width
    unknown, dof, place = np.empty(total, np.int64), np.empty(total, np.int64), np.empty(total, np.int64)
    count = 0
    for k in range(dim.shape[0]):
        for r in range(dim[k]):
            for j in range(width):
                if sign[k, j] == 0.0:
                    break
                unknown[count], dof[count], place[count] = start[k] + r, cols[k, j], (k * 6 + r) * width + j
                count += 1
    return unknown[:count], dof[:count], place[:count]


@numba.njit(cache=True)
def _bounded(x, longest):
    size = np.sqrt(x[0] ** 2 + x[1] ** 2 + x[2] ** 2)
    if size > longest:
        for i in range(3):
            x[i] *= longest / size


@numba.njit(cache=True)
def _pull_back(R, e, half, back, flat, need):
    """Ask of a patch that has opened to lie down again: of its middle along the normal, and of its tilt, as far as it has opened."""
    gap = opened_by(half, R, e) if flat else -(R[0, 2] * e[0] + R[1, 2] * e[1] + R[2, 2] * e[2])
    if gap <= TOUCHING:
        return
    part = back * (1.0 - TOUCHING / gap)
    along = R[0, 2] * e[0] + R[1, 2] * e[1] + R[2, 2] * e[2]
    spin = R[0, 2] * e[3] + R[1, 2] * e[4] + R[2, 2] * e[5]
    for i in range(3):
        need[i] += part * along * R[i, 2]
        if flat:
            need[3 + i] += part * (e[3 + i] - spin * R[i, 2])


@numba.njit(cache=True)
def _turned(X, R, out):
    """Write the product of a body's rotation (9,) with a matrix (3, 3)."""
    for i in range(3):
        for j in range(3):
            out[i, j] = X[3 * i] * R[0, j] + X[3 * i + 1] * R[1, j] + X[3 * i + 2] * R[2, j]


@numba.njit(cache=True)
def contact_rows(
    xpos,
    xmat,
    com,
    root,
    cdof,
    cvel,
    bias_acc,
    bodies,
    p_local,
    R_local,
    cols,
    sign,
    dim,
    start,
    timing,
    time,
    dt,
    hold,
    stop,
    back,
    half_sizes,
    J,
    rhs,
    cost,
    least,
    position,
    rotation,
    drift,
):
    """Write Jacobians, right-hand sides, costs, least forces, frames and drift of contacts (18), (20)."""
    motion1, motion2 = np.empty((2, 6)), np.empty((2, 6))
    column, e, need, arm1, arm2, way = np.empty(6), np.empty(6), np.empty(6), np.empty(3), np.empty(3), np.empty(3)
    Q, turn = np.empty((3, 3)), np.empty((3, 3))
    for k in range(bodies.shape[0]):
        b1, b2, at = bodies[k, 0], bodies[k, 1], start[k]
        made_at, fade_in = timing[k, 0], timing[k, 1]
        share = load(time, made_at, fade_in, timing[k, 2], timing[k, 3])
        least[k] = timing[k, 5] * share
        force_cost = timing[k, 4] ** share * _FADED_COST ** (1.0 - share)
        for r in range(dim[k]):
            cost[at + r] = force_cost if r < 3 else force_cost / TORQUE_ARM**2
        X1, X2, pl, ql, c1, c2 = xmat[b1], xmat[b2], p_local[k, 0], p_local[k, 1], com[root[b1]], com[root[b2]]
        p, R = position[k], rotation[k]
        for i in range(3):
            p[i] = X1[3 * i] * pl[0] + X1[3 * i + 1] * pl[1] + X1[3 * i + 2] * pl[2] + xpos[b1, i]
            q = X2[3 * i] * ql[0] + X2[3 * i + 1] * ql[1] + X2[3 * i + 2] * ql[2] + xpos[b2, i]
            e[i], e[3 + i] = q - p[i], 0.0
            arm1[i], arm2[i] = p[i] - c1[i], p[i] - c2[i]
        _turned(X2, R_local[k, 1], R)
        if dim[k] == 6:
            for i in range(3):
                for j in range(3):
                    Q[i, j] = R[i, j]
            _turned(X1, R_local[k, 0], R)
            for i in range(3):
                for j in range(3):
                    turn[i, j] = Q[i, 0] * R[j, 0] + Q[i, 1] * R[j, 1] + Q[i, 2] * R[j, 2]
            rotation_log(turn, e[3:])
        point_motion(cvel[b1], bias_acc[b1], arm1, motion1)
        point_motion(cvel[b2], bias_acc[b2], arm2, motion2)
        # (20): (J1 − J2) q̈ = (e/Δt − (v1 − v2))/Δt − (J̇1 − J̇2) q̇, world axes at p_C1; then turned into C axes.
        # A contact that stopped its bodies within one step would make the torques jump: while it fades in it is critically
        # damped instead, v⁺ = ρ v + (1 − √ρ)² e/Δt, where ρ is how much of the relative velocity a step may leave.
        rho = (1.0 - share) * np.exp(-2.0 * dt / _SETTLING) if time < made_at + fade_in else 0.0
        pull = hold * (1.0 - np.sqrt(rho)) ** 2
        for half in range(2):  # linear, angular: a contact that has slipped is brought back at a bounded pace
            for i in range(3):
                way[i] = pull * e[3 * half + i] / dt
            _bounded(way, RETURN_SPEED)
            for i in range(3):
                r = 3 * half + i
                way[i] = (way[i] - stop * (1.0 - rho) * (motion1[0, r] - motion2[0, r])) / dt
            _bounded(way, STOPPING)
            for i in range(3):
                r = 3 * half + i
                need[r] = way[i] - (motion1[1, r] - motion2[1, r])
        if back > 0.0 and half_sizes[k, 0] >= 0.0:
            _pull_back(R, e, half_sizes[k], back, dim[k] == 6, need)
        for r in range(dim[k]):
            h = 3 * (r // 3)
            rhs[at + r] = R[0, r - h] * need[h] + R[1, r - h] * need[h + 1] + R[2, r - h] * need[h + 2]
        for r in range(6):
            drift[k, r] = e[r]
        for j in range(cols.shape[1]):
            s = sign[k, j]
            if s == 0.0:
                break
            i = cols[k, j]
            point_column(cdof[i], arm1 if s > 0 else arm2, column)
            for r in range(3):
                J[k, r, j] = s * (R[0, r] * column[0] + R[1, r] * column[1] + R[2, r] * column[2])
                J[k, r + 3, j] = s * (R[0, r] * column[3] + R[1, r] * column[4] + R[2, r] * column[5])


@numba.njit(cache=True)
def forces(x, dim, start, J, cols, sign, position, rotation, site_xpos, sites, wrenches, at_sites, total):
    """Write wrenches in contact axes and, in world axes, at their first sites; add their generalized force to ``total``."""
    for k in range(dim.shape[0]):
        w, out, R = wrenches[k], at_sites[k], rotation[k]
        for r in range(dim[k]):
            w[r] = x[start[k] + r]
        for j in range(cols.shape[1]):
            if sign[k, j] == 0.0:
                break
            for r in range(dim[k]):
                total[cols[k, j]] += w[r] * J[k, r, j]
        for i in range(3):
            out[i] = R[i, 0] * w[0] + R[i, 1] * w[1] + R[i, 2] * w[2]
            out[3 + i] = R[i, 0] * w[3] + R[i, 1] * w[4] + R[i, 2] * w[5]
        p, q = position[k], site_xpos[sites[k]]
        a, b, c = p[0] - q[0], p[1] - q[1], p[2] - q[2]
        out[3] += b * out[2] - c * out[1]
        out[4] += c * out[0] - a * out[2]
        out[5] += a * out[1] - b * out[0]
