"""Rest posture: every scalar joint of one or more models near its reference, the low-weight background."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import mujoco
import numba
import numpy as np

from interplay.errors import number
from interplay.objectives.base import Feature, Objective
from interplay.objectives.reference import Reference, as_reference
from interplay.scene.kinematics import Kinematics
from interplay.scene.scene import Scene


class Posture(Objective):
    """Joint angles of models near a reference; by default the scene's initial posture.

    ``weights`` and ``stiffnesses`` multiply those of single joints (``{"left_knee_flexion": 2}``) or parts of the body
    (``{"torso": 4, "left_hip": 0.1}``); ``values`` changes single reference angles [rad].
    A free base is not part of a posture.
    """

    diagonal: ClassVar[bool] = True
    priority: int = 2

    def __init__(
        self,
        *models: str,
        weight: float = 0.1,
        stiffness: float = 20.0,
        reference: Any = None,
        values: Mapping[str, float] | None = None,
        weights: Mapping[str, float] | None = None,
        stiffnesses: Mapping[str, float] | None = None,
        max_speed: float | None = None,
        name: str | None = None,
    ):
        """Take the models (none: all of the scene that have motors)."""
        super().__init__(weight, stiffness, max_speed=max_speed, name=name)
        self.models, self._given, self._values = models, reference, dict(values or {})
        self._weights, self._stiffnesses = dict(weights or {}), dict(stiffnesses or {})

    def about(self) -> tuple[str, ...]:
        """Return the models."""
        return ("+".join(self.models),)

    def bind(self, scene: Scene) -> None:
        """Collect the scalar joints."""
        m = scene.model
        powered = [s.name for s in scene.subsystems if len(s.actuated)]
        trees = [t for name in (self.models or dict.fromkeys(powered)) for t in scene.trees(name)]
        scalar = {int(mujoco.mjtJoint.mjJNT_HINGE), int(mujoco.mjtJoint.mjJNT_SLIDE)}
        joints = [j for j in range(m.njnt) if m.jnt_type[j] in scalar and int(m.dof_treeid[m.jnt_dofadr[j]]) in trees]
        joints = [j for j in joints if self.concerns(m.joint(j).name)]
        self.dofs, self._adr = m.jnt_dofadr[joints].astype(np.int64), m.jnt_qposadr[joints].astype(np.int64)
        self.own = self.dofs
        """The DOFs of its joints, in the order of its rows."""
        self.dim = len(joints)
        self.joints = [m.joint(j).name for j in joints]
        """The joints, in the order of its rows."""
        self.row_weights, self._firmness = np.ones(self.dim), np.ones(self.dim)
        start, changed = scene.qpos[self._adr], (self._values, self._weights, self._stiffnesses)
        for target, changes in zip((start, self.row_weights, self._firmness), changed, strict=True):
            for key, value in changes.items():
                for k in self._rows(scene, key):
                    target[k] = number(f"posture of {key!r}", value)
        self.reference: Reference = as_reference("posture", start if self._given is None else self._given, self.dim)

    def concerns(self, joint: str) -> bool:
        """Return whether a joint is a part of it: every one of the models."""
        return True

    def _rows(self, scene: Scene, joint: str) -> list[int]:
        """Return the rows a name stands for: ``alice/neck_flexion``, or ``neck_flexion`` or all of ``neck`` of every model."""
        rows = [k for k, name in enumerate(self.joints) if joint == name or is_of(name.split("/", 1)[-1], joint)]
        if not rows:
            scene.joint(joint)
        return rows

    def feature(self, terms: Kinematics, time: float) -> Feature:
        """Return joint errors; the Jacobian is a selection."""
        value, velocity, acceleration = self.reference.at(time)
        return Feature(
            terms.qpos[self._adr] - value, terms.qvel[self.dofs] - velocity, np.eye(self.dim), np.negative(acceleration)
        )

    def error(self, terms: Kinematics, time: float) -> np.ndarray:
        """Return the joint errors."""
        return terms.qpos[self._adr] - self.reference.at(time).value

    def add_to(self, terms: Kinematics, time: float, cost: Any) -> None:
        """Add a diagonal cost; the pull of each joint is limited to its own speed."""
        rate = self.pull(terms, time)
        cost.add_diagonal(self.dofs, self.weight * self.level(time), self.row_weights_at(time, cost), rate)

    def pull(self, terms: Kinematics, time: float) -> np.ndarray:
        """Return k e + d (q̇ − q̇_ref) − q̈_ref of each joint (k,)."""
        return _rate(
            terms.qpos,
            terms.qvel,
            self._adr,
            self.dofs,
            *self.reference.at(time),
            self.stiffness,
            self.damping,
            self.damping * self.max_speed,
            self._firmness,
        )

    def row_weights_at(self, time: float, cost: Any) -> np.ndarray:
        """Return what multiplies the weight of each joint at a time."""
        return self.row_weights


def is_of(joint: str, part: str) -> bool:
    """Return whether a joint is meant by its own name, or belongs to a part: ``left_elbow_flexion`` to ``elbow``, ``left_elbow``."""
    unsided = joint.split("_", 1)[-1] if joint.startswith(("left_", "right_")) else joint
    return joint == part or joint.startswith(f"{part}_") or unsided == part or unsided.startswith(f"{part}_")


@numba.njit(cache=True)
def _rate(qpos, qvel, adr, dofs, value, velocity, acceleration, stiffness, damping, pull, firmness):
    out = np.empty(adr.shape[0])
    for k in range(adr.shape[0]):
        toward = min(max(stiffness * firmness[k] * (qpos[adr[k]] - value[k]), -pull), pull)
        out[k] = toward + damping * np.sqrt(firmness[k]) * (qvel[dofs[k]] - velocity[k]) - acceleration[k]
    return out
