"""Gaze: a frame's axis turned toward a point or another frame."""

from __future__ import annotations

from typing import Any

import numpy as np

from interplay.errors import vector
from interplay.objectives.base import Feature, Objective
from interplay.objectives.frame import Frame
from interplay.objectives.reference import as_reference
from interplay.scene.kinematics import Kinematics
from interplay.scene.scene import Scene


class Gaze(Objective):
    """Turns a frame's axis toward a point, or toward another frame: the head looks at what the hand does.

    The feature is the axis' deviation from the line of sight, â × l̂ (the target counts as fixed within a step).
    """

    def __init__(
        self,
        frame: str,
        target: Any,
        *,
        axis: Any = (1, 0, 0),
        weight: float = 2.0,
        stiffness: float = 20.0,
        max_speed: float | None = 2.0,
        name: str | None = None,
    ):
        """Take the frame, a point (3,), reference or frame name to look at, and the axis (in the frame) that looks."""
        super().__init__(weight, stiffness, max_speed=max_speed, name=name)
        self.frame_name, self._target, self._axis = frame, target, vector("Gaze axis", axis, 3)
        self._axis /= max(float(np.linalg.norm(self._axis)), 1e-12)

    def bind(self, scene: Scene) -> None:
        """Find the frame and the target."""
        self.frame = Frame(scene, self.frame_name)
        self.dofs, self.dim = self.frame.chain, 3
        self._seen = Frame(scene, self._target) if isinstance(self._target, str) else None
        self.reference = None if self._seen else as_reference("Gaze target", self._target, 3)

    def feature(self, terms: Kinematics, time: float) -> Feature:
        """Return axis × line of sight, as a rotation error, with the angular Jacobian."""
        p, R = self.frame.pose(terms)
        target = self._seen.pose(terms)[0] if self._seen else self.reference.at(time).value  # type: ignore[union-attr]
        axis, sight = R @ self._axis, target - p
        sight = sight / max(float(np.linalg.norm(sight)), 1e-9)
        v, a = terms.motion(self.frame.body, p)
        across = np.eye(3) - np.outer(sight, sight)  # turning about the line of sight is free
        return Feature(
            -np.cross(axis, sight),
            across @ v[3:],
            across @ terms.jacobian(self.frame.body, p, self.dofs)[3:],
            across @ a[3:],
        )
