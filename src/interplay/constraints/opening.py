"""How far contacts have opened."""

from __future__ import annotations

import numba
import numpy as np

from interplay.constraints.footing import opened_by


@numba.njit(cache=True)
def openings(dim, half, rotation, drift):
    """Return the opening of each contact at its widest corner (n,) [m], and the largest; half sizes below 0: a grasp, which has none."""
    out, widest = np.zeros(dim.shape[0]), 0.0
    for k in range(dim.shape[0]):
        if half[k, 0] < 0.0:
            continue
        R, e = rotation[k], drift[k]
        out[k] = opened_by(half[k], R, e) if dim[k] == 6 else -(R[0, 2] * e[0] + R[1, 2] * e[1] + R[2, 2] * e[2])
        widest = max(widest, out[k])
    return out, widest
