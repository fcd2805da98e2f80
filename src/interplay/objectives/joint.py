"""Angle or position of one joint: the door's opening, the valve, a single elbow."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np

from interplay.errors import InputError
from interplay.objectives.base import Feature, Objective
from interplay.objectives.reference import Reference, as_reference
from interplay.scene.kinematics import Kinematics
from interplay.scene.scene import Scene


class JointAngle(Objective):
    """Value [rad, m] of a hinge or slide joint; on a passive mechanism it drives whoever holds it."""

    def __init__(
        self,
        joint: str,
        reference: Any,
        *,
        weight: float = 10.0,
        stiffness: float = 20.0,
        max_speed: float | None = 1.0,
        name: str | None = None,
    ):
        """Take the joint's name and its value."""
        super().__init__(weight, stiffness, max_speed=max_speed, name=name)
        self.joint_name = joint
        self.reference: Reference = as_reference(f"JointAngle {joint!r}", reference, 1)

    def about(self) -> tuple[str, ...]:
        """Return the joint."""
        return (self.joint_name,)

    def bind(self, scene: Scene) -> None:
        """Find the joint."""
        m, joint = scene.model, scene.joint(self.joint_name)
        if m.jnt_type[joint] not in (int(mujoco.mjtJoint.mjJNT_HINGE), int(mujoco.mjtJoint.mjJNT_SLIDE)):
            raise InputError(f"JointAngle: {self.joint_name!r} is not a hinge or slide joint")
        adr, dof = int(m.jnt_qposadr[joint]), int(m.jnt_dofadr[joint])
        self._q, self._v = slice(adr, adr + 1), slice(dof, dof + 1)
        self.dofs, self.dim, self._selected = np.array([dof]), 1, np.ones((1, 1))

    def feature(self, terms: Kinematics, time: float) -> Feature:
        """Return the joint's error; its Jacobian is 1."""
        value, velocity, acceleration = self.reference.at(time)
        return Feature(
            terms.qpos[self._q] - value, terms.qvel[self._v] - velocity, self._selected, np.negative(acceleration)
        )
