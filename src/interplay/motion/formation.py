"""What goes along with those who walk together: it keeps its place among them, and turns as they turn."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from interplay.maths.rotations import turned
from interplay.motion.preview import Track
from interplay.objectives.reference import Sample

_UP = np.array([0.0, 0.0, 1.0])


class Along:
    """The reference of a pose (7,) that goes along with a group.

    The group is where its centre of mass is, as far as the pose shall follow that (``axes``: x and y, turning with the group),
    and else in the middle of its feet, which does not sway from foot to foot.
    """

    full: ClassVar[bool] = True

    def __init__(self, com: np.ndarray, feet: np.ndarray, turned: np.ndarray, pose: np.ndarray, axes: np.ndarray):
        """Take centre of mass (n, 2), middle of the feet (n, 2), how far the group has turned (n,), the pose now, axes (2,) of 0 or 1."""
        self._pose = np.array(pose, float)
        x = np.stack([np.cos(turned), np.sin(turned)], axis=1)
        y = np.stack([-x[:, 1], x[:, 0]], axis=1)
        place = feet.copy()
        for axis, followed in ((x, axes[0]), (y, axes[1])):
            place += followed * np.sum((com - feet) * axis, axis=1, keepdims=True) * axis
        offset = self._pose[:2] - place[0]
        self._track = Track(np.column_stack([place + offset[0] * x + offset[1] * y, turned]))

    def at(self, time: float) -> Sample:
        """Return pose, twist and its derivative."""
        value, rate, acceleration = (np.asarray(part) for part in self._track.at(time))
        pose, twist, change = self._pose.copy(), np.zeros(6), np.zeros(6)
        pose[:2], twist[:2], change[:2] = value[:2], rate[:2], acceleration[:2]
        pose[3:], twist[5], change[5] = turned(value[2] * _UP, self._pose[3:]), rate[2], acceleration[2]
        return Sample(pose, twist, change)
