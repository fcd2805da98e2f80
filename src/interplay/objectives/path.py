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
    value, velocity, acceleration = np.empty(7), np.empty(6), np.empty(6)
    turn = turn_from(start[3:], rotation(end[3:]))
    for i in range(3):
        way = end[i] - start[i]
        value[i] = start[i] + f * way + g * arch[i]
        velocity[i], velocity[3 + i] = (df / T) * way + (dg / T) * arch[i], (df / T) * turn[i]
        acceleration[i] = (ddf / T**2) * way + (ddg / T**2) * arch[i]
        acceleration[3 + i] = (ddf / T**2) * turn[i]
        turn[i] *= f
    quat = turned(turn, start[3:])
    for i in range(4):
        value[3 + i] = quat[i]
    return value, velocity, acceleration
