"""What of a contact can be counted on, where contacts may come loose (contact stabilisation, abe2007).

Pressure is kept off the edges of a patch: its region is drawn in towards its middle. And each corner counts for what it is: one that
has lifted a little carries, but has no friction; one that has lifted farther does not carry, and the remaining ones span the cone, of an
edge or of a single corner; the whole is pulled back to where it lay (``Manner.back``, in :mod:`.contact_kernels`).
"""

from __future__ import annotations

import numba
import numpy as np

TOUCHING = 1.5e-3
"""A corner is on the ground up to this gap [m]; the simulator's pads sink in and stand out by a fraction of it."""
LIFTED = 2e-2
"""A corner that has lifted farther [m] does not carry."""
THINNEST = 2e-3
"""Half breadth [m] of the region that is left of an edge or a corner: enough to have an inside."""


@numba.njit(cache=True)
def patch_cone(half, friction, out):
    """Write the 16 facets E (16, 6), E w ≥ 0, of the wrenches that four corner forces of a rectangle can make.

    Corner forces obey |fx|, |fy| ≤ μ' fz with μ' = μ/√2 (a pyramid inside Coulomb's cone); half sizes (X, Y). The facets:
    |fx|, |fy| ≤ μ' fz; |tx| ≤ Y fz; |ty| ≤ X fz; and |tz| bounded by μ'(X + Y) fz less what the other torques use up.
    """
    X, Y = half[0], half[1]
    mu, row = friction / np.sqrt(2.0), 0
    for i in range(16):
        for j in range(6):
            out[i, j] = 0.0
    for s in (1.0, -1.0):
        for axis, arm in ((0, mu), (1, mu), (3, Y), (4, X)):
            out[row, axis], out[row, 2] = s, arm
            row += 1
    for a in (1.0, -1.0):
        for b in (1.0, -1.0):
            for s in (1.0, -1.0):
                # tz ≥ −μ'(X + Y) fz ± (Y fx − μ' tx) ± (X fy − μ' ty), and its mirror image for the upper side.
                out[row, 0], out[row, 1], out[row, 2] = a * Y, b * X, mu * (X + Y)
                out[row, 3], out[row, 4], out[row, 5] = -s * a * mu, -s * b * mu, s
                row += 1


@numba.njit(cache=True)
def region(half, shrink, gaps, out):
    """Write middle and half sizes (4,) of what is left of a patch whose corners (±X, ±Y) have some gaps; return its part with friction.

    ``gaps`` (2, 2) [m]: of the corners at −X and +X, −Y and +Y.
    """
    carry = np.zeros((2, 2))
    rub, count = 0.0, 0.0
    for i in range(2):
        for j in range(2):
            if gaps[i, j] <= LIFTED:
                carry[i, j] = 1.0
                count += 1.0
                if gaps[i, j] <= TOUCHING:
                    rub += 1.0
    if count == 0.0:  # all are off: nothing is left to count on but the least that can be asked of
        out[0], out[1], out[2], out[3] = 0.0, 0.0, THINNEST, THINNEST
        return 0.0
    for axis in range(2):
        low = carry[0, 0] + carry[0, 1] if axis == 0 else carry[0, 0] + carry[1, 0]
        high = carry[1, 0] + carry[1, 1] if axis == 0 else carry[0, 1] + carry[1, 1]
        size = half[axis]
        if low > 0.0 and high > 0.0:
            out[axis], out[2 + axis] = 0.0, max((1.0 - shrink) * size, THINNEST)
        else:
            out[axis] = (size - THINNEST) * (1.0 if high > 0.0 else -1.0)
            out[2 + axis] = THINNEST
    return rub / count


@numba.njit(cache=True)
def counted_on(dim, half, options, rotation, drift, cones):
    """Write the cones of contacts as they are: of patches (16, 6), of points (4, 3), one after another; a grasp has none.

    ``options`` (n, 2): friction (below 0: pinned, which has none either) and shrink; ``drift`` (n, 6) as that of :class:`.contact.ContactRows`.
    """
    gaps, rest, at = np.zeros((2, 2)), np.empty(4), 0
    E, away = np.empty((16, 6)), np.zeros(2)
    for k in range(dim.shape[0]):
        if half[k, 0] < 0.0 or options[k, 0] < 0.0:
            continue
        R, e, friction = rotation[k], drift[k], options[k, 0]
        middle = -(R[0, 2] * e[0] + R[1, 2] * e[1] + R[2, 2] * e[2])
        if dim[k] == 3:
            mu = friction / np.sqrt(2.0) if middle <= TOUCHING else 0.0
            for r in range(4):
                cones[at + 3 * r + 2] = mu
            at += 12
            continue
        # A rotation θ by which the first is behind the second lifts its point (x, y) by θ_y x − θ_x y.
        tilt_x = R[0, 0] * e[3] + R[1, 0] * e[4] + R[2, 0] * e[5]
        tilt_y = R[0, 1] * e[3] + R[1, 1] * e[4] + R[2, 1] * e[5]
        for i in range(2):
            for j in range(2):
                x, y = (2 * i - 1) * half[k, 0], (2 * j - 1) * half[k, 1]
                gaps[i, j] = middle + tilt_y * x - tilt_x * y
        share = region(half[k], options[k, 1], gaps, rest)
        patch_cone(rest[2:], share * friction, E)
        # About the middle c of what is left: t' = t − c × f.
        away[0], away[1] = rest[0], rest[1]
        for r in range(16):
            tx, ty, tz = E[r, 3], E[r, 4], E[r, 5]
            E[r, 0] += away[1] * tz
            E[r, 1] -= away[0] * tz
            E[r, 2] += away[0] * ty - away[1] * tx
            for j in range(6):
                cones[at + 6 * r + j] = E[r, j]
        at += 96


@numba.njit(cache=True)
def opened_by(half, R, e):
    """Return how far a patch has opened at its widest corner [m]; of drift e (6,) in world axes."""
    out = -(R[0, 2] * e[0] + R[1, 2] * e[1] + R[2, 2] * e[2])
    for i in range(2):
        out += abs(R[0, i] * e[3] + R[1, i] * e[4] + R[2, i] * e[5]) * half[1 - i]
    return out
