"""Paths of poses."""

from __future__ import annotations

from typing import Any

import numpy as np

from interplay.errors import vector
from interplay.objectives.frame import rotation, turn_from, turned
from interplay.objectives.reference import Sample, arch, minimum_jerk


class PosePath:
    """A pose that moves from one to another in minimum-jerk time: a straight line, turning about one axis."""

    def __init__(self, start: np.ndarray, end: np.ndarray, begin: float, seconds: float, arch: Any = (0, 0, 0)):
        """Take two poses (7,), the time it begins, its duration [s], and by how much [m] (3,) it arches out half-way."""
        self.start, self.end, self.begin, self.seconds, self.arch = start, end, begin, seconds, vector("arch", arch, 3)
        self._turn = turn_from(start[3:], rotation(end[3:]))

    def at(self, time: float) -> Sample:
        """Return pose, twist and its derivative (world axes)."""
        T = self.seconds
        s = (time - self.begin) / T
        (f, df, ddf), (g, dg, ddg) = minimum_jerk(s), arch(s)
        way = np.concatenate([self.end[:3] - self.start[:3], self._turn])
        value = np.empty(7)
        value[:3] = self.start[:3] + f * way[:3]
        value[3:] = turned(f * self._turn, self.start[3:])
        value[:3] += g * self.arch
        velocity, acceleration = df / T * way, ddf / T**2 * way
        velocity[:3] += dg / T * self.arch
        acceleration[:3] += ddg / T**2 * self.arch
        return Sample(value, velocity, acceleration)
