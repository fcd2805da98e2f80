"""Gaze: a frame's axis turned toward a point or another frame."""

from __future__ import annotations

from typing import Any

import numpy as np

from interplay.errors import InputError, vector
from interplay.objectives.base import Feature, Objective
from interplay.objectives.frame import Frame
from interplay.objectives.reference import as_reference
from interplay.scene.kinematics import Kinematics
from interplay.scene.scene import Scene


class Gaze(Objective):
    """Turns a frame's axis toward a point, or toward another frame: the head looks at what the hand does.

    The error is the rotation vector from the line of sight to the axis; its derivative is taken as the angular velocity across
    the line of sight, which is exact where the axis points at the target. The target counts as fixed within a step.
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
        length = float(np.linalg.norm(self._axis))
        if length < 1e-9:
            raise InputError("Gaze axis: expected a direction, got one of zero length")
        self._axis /= length

    def bind(self, scene: Scene) -> None:
        """Find the frame and the target."""
        self.frame = Frame(scene, self.frame_name)
        if not len(self.frame.chain):
            raise InputError(f"{self.frame_name!r} cannot move: it belongs to the fixed environment")
        self.dofs, self.dim = self.frame.chain, 3
        self._seen = Frame(scene, self._target) if isinstance(self._target, str) else None
        self.reference = None if self._seen else as_reference("Gaze target", self._target, 3)

    def feature(self, terms: Kinematics, time: float) -> Feature:
        """Return the rotation error with the angular Jacobian across the line of sight."""
        p, R = self.frame.pose(terms)
        target = self._seen.pose(terms)[0] if self._seen else self.reference.at(time).value  # type: ignore[union-attr]
        axis, sight = R @ self._axis, target - p
        sight = sight / max(float(np.linalg.norm(sight)), 1e-9)
        v, a = terms.motion(self.frame.body, p)
        turn, cosine = np.cross(sight, axis), float(axis @ sight)
        sine = float(np.linalg.norm(turn))
        if sine > 1e-9:
            error = turn * (np.arctan2(sine, cosine) / sine)
        elif cosine > 0:
            error = np.zeros(3)
        else:  # straight behind: any way round
            aside = np.cross(sight, [0.0, 0.0, 1.0] if abs(sight[2]) < 0.9 else [1.0, 0.0, 0.0])
            error = aside * (np.pi / np.linalg.norm(aside))
        across = np.eye(3) - np.outer(sight, sight)  # turning about the line of sight is free
        return Feature(
            error,
            across @ v[3:],
            across @ terms.jacobian(self.frame.body, p, self.dofs)[3:],
            across @ a[3:],
        )
