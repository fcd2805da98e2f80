"""Paths of poses."""

from __future__ import annotations

from typing import Any, ClassVar

import numba
import numpy as np

from interplay.errors import vector
from interplay.maths.rotations import rotation, turn_from, turned
from interplay.maths.steps import minimum_jerk, out_and_back
from interplay.objectives.reference import Sample


class PosePath:
    """A pose that moves from one to another in minimum-jerk time: a straight line, turning about one axis."""

    full: ClassVar[bool] = True

    def __init__(self, start: np.ndarray, end: np.ndarray, begin: float, seconds: float, arch: Any = (0, 0, 0)):
        """Take two poses (7,), the time it begins, its duration [s], and by how much [m] (3,) it arches out half-way."""
        self.start, self.end, self.begin, self.seconds, self.arch = start, end, begin, seconds, vector("arch", arch, 3)

    def at(self, time: float) -> Sample:
        """Return pose, twist and its derivative (world axes)."""
        return Sample(*pose_on_path(self.start, self.end, self.arch, time - self.begin, self.seconds))


@numba.njit(cache=True)
def pose_on_path(start, end, arch, time, T):
    """Return pose (7,), twist and its derivative (6,) of a path between two poses at a time [s] after its begin."""
    f, df, ddf = minimum_jerk(time / T)
    g, dg, ddg = out_and_back(time / T)
    way, value = np.empty(6), np.empty(7)
    way[:3], way[3:] = end[:3] - start[:3], turn_from(start[3:], rotation(end[3:]))
    value[:3], value[3:] = start[:3] + f * way[:3], turned(f * way[3:], start[3:])
    velocity, acceleration = (df / T) * way, (ddf / T**2) * way
    value[:3] += g * arch
    velocity[:3] += (dg / T) * arch
    acceleration[:3] += (ddg / T**2) * arch
    return value, velocity, acceleration
