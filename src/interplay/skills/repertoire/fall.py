"""Fall: hands out towards where she falls, head kept off the ground, knees and hips bent so that she comes down low."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from interplay.control.plan import Servo
from interplay.skills.key_poses import driven, spelled
from interplay.skills.sensing import Sensed
from interplay.skills.skill import NOT, RUNNING, SUCCEEDED, Bid, Skill

if TYPE_CHECKING:
    from interplay.simulation import Simulation

FALLING, OUT, MOVING = 0.3, 0.15, 0.3
"""She falls if her centre of mass sinks so fast [m/s], or moves so fast, with her capture point so far out of her feet, of her height."""
LOW, STILL, LONGEST = 0.35, 0.6, 2.5
"""It has ended when she is so low, of her height, and no faster [m/s]; or after so many seconds."""
POSES = {
    0.0: {
        "torso_flexion": 0.1,
        "neck_flexion": -0.5,
        "hip_flexion": 0.5,
        "knee_flexion": 0.8,
        "ankle_flexion": 0.0,
        "shoulder_flexion": 1.3,
        "shoulder_abduction": 0.35,
        "elbow_flexion": 0.7,
    },
    90.0: {
        "torso_flexion": 0.2,
        "neck_flexion": 0.2,
        "hip_flexion": 0.8,
        "knee_flexion": 1.2,
        "ankle_flexion": 0.2,
        "left_shoulder_flexion": 0.5,
        "left_shoulder_abduction": 1.1,
        "left_elbow_flexion": 0.7,
        "right_shoulder_flexion": 1.2,
        "right_shoulder_abduction": 0.2,
        "right_elbow_flexion": 0.9,
    },
    180.0: {
        "torso_flexion": 0.5,
        "neck_flexion": 0.7,
        "hip_flexion": 1.4,
        "knee_flexion": 1.6,
        "ankle_flexion": 0.3,
        "shoulder_flexion": -0.7,
        "shoulder_abduction": 0.6,
        "elbow_flexion": 0.5,
    },
}
"""How she meets the ground when she falls forward, to her left, backward [rad]; other ways are in between, or mirrored."""
BRACED = 0.25
"""Seconds in which she takes the pose."""


class Fall(Skill):
    """Falling with hands out."""

    name: ClassVar[str] = "fall"
    summary: ClassVar[str] = "falls in any direction, hands out, head kept off"

    def __init__(self, model: str):
        """Take the character."""
        super().__init__(model)
        self._from, self._to, self._dofs = np.zeros(0), np.zeros(0), np.zeros(0, np.int64)

    def bid(self, sensed: Sensed) -> Bid:
        """Bid where she falls and is not down yet."""
        if sensed.height < LOW:
            return Bid(NOT, "she is down")
        if sensed.sinking > FALLING or (sensed.capture > OUT and sensed.speed > MOVING):
            return Bid(9.0, f"she sinks by {sensed.sinking:.1f} m/s, capture point {sensed.capture:.2f} outside")
        return Bid(NOT, "she does not fall")

    def begin(self, sim: Simulation, sensed: Sensed) -> None:
        """Choose the pose by the direction of the fall."""
        joints, self._dofs = driven(sim, self.model)
        self._from = np.array([sensed.angles[joint] for joint in joints])
        pose = braced(math.degrees(math.atan2(sensed.way[1], sensed.way[0])), joints)
        self._to = np.array([pose.get(joint, 0.0) for joint in joints])

    def update(self, sim: Simulation, sensed: Sensed) -> str:
        """Say when she is down."""
        down = sensed.height < LOW and sensed.speed < STILL
        return SUCCEEDED if down or sim.time - self.began > LONGEST else RUNNING

    def servo(self, sim: Simulation) -> Servo:
        """Return the servos towards the pose."""
        s = min((sim.time + sim.dt - self.began) / BRACED, 1.0)
        return Servo(self._dofs, self._from + s * (self._to - self._from), np.zeros(len(self._dofs)))

    def checkpoint(self) -> Any:
        """Return from which pose to which."""
        return [self._from.tolist(), self._to.tolist()]

    def restore(self, sim: Simulation, data: Any) -> None:
        """Go on."""
        self._dofs = driven(sim, self.model)[1]
        self._from, self._to = map(np.array, data)


def braced(degrees: float, joints: list[str]) -> dict[str, float]:
    """Return the pose for a fall in a direction [°] (0: forward, 90: to her left), between the two that are next."""
    mirrored, angle = degrees < 0.0, min(abs(degrees), 180.0)
    before = 0.0 if angle < 90.0 else 90.0
    part = (angle - before) / 90.0
    one, two = (spelled(POSES[key], joints, mirrored, "fall") for key in (before, before + 90.0))
    return {joint: (1 - part) * one.get(joint, 0.0) + part * two.get(joint, 0.0) for joint in {*one, *two}}
