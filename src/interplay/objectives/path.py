"""Paths of poses."""

from __future__ import annotations

from typing import Any

import numpy as np

from interplay.errors import vector
from interplay.objectives.frame import rotation, turn_from, turned
from interplay.objectives.reference import Sample


class PosePath:
    """A pose that moves from one to another in minimum-jerk time: a straight line, turning about one axis."""

    def __init__(self, start: np.ndarray, end: np.ndarray, begin: float, seconds: float, arch: Any = (0, 0, 0)):
        """Take two poses (7,), the time it begins, its duration [s], and by how much [m] (3,) it arches out half-way."""
        self.start, self.end, self.begin, self.seconds, self.arch = start, end, begin, seconds, vector("arch", arch, 3)
        self._turn = turn_from(start[3:], rotation(end[3:]))

    def at(self, time: float) -> Sample:
        """Return pose, twist and its derivative (world axes)."""
        T = self.seconds
        s = min(max((time - self.begin) / T, 0.0), 1.0)
        f, df, ddf = (
            s**3 * (10 - 15 * s + 6 * s * s),
            s * s * (30 - 60 * s + 30 * s * s) / T,
            s * (60 - 180 * s + 120 * s * s) / T**2,
        )
        way = np.concatenate([self.end[:3] - self.start[:3], self._turn])
        value = np.empty(7)
        value[:3] = self.start[:3] + f * way[:3]
        value[3:] = turned(f * self._turn, self.start[3:])
        velocity, acceleration = df * way, ddf * way
        # 64 s³(1 − s)³: out and back with zero velocity and acceleration at both ends.
        r = 1 - s
        value[:3] += self.arch * 64 * (s * r) ** 3
        velocity[:3] += self.arch * 192 * (s * r) ** 2 * (r - s) / T
        acceleration[:3] += self.arch * 384 * s * r * ((r - s) ** 2 - s * r) / T**2
        return Sample(value, velocity, acceleration)
