"""Loose limbs: what carries them shakes them, as if springs held them and not servos."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from interplay.objectives.base import Feature, Objective
from interplay.objectives.posture import Posture, is_of
from interplay.scene.kinematics import Kinematics
from interplay.scene.scene import Scene

ARMS = ("clavicle", "shoulder", "elbow", "forearm", "wrist")
"""What joints of arms are called, without their sides."""


class Loose(Posture):
    """Limbs near a posture, that swing with what they hang on and come back.

    A posture asks for q̈ = −k e − d q̇ of a joint, whatever it hangs on: on ground that shakes, arms are as if cast in one piece
    with the trunk. This asks the same of what muscles do beside bearing the limbs' weight: of the equation of motion, the rows a of these
    joints alone, gravity left out,

        M_a q̈ + C_a = M_aa (−k e − d q̇_a).

    ``parts`` are those of the body, as in the weights of a posture; by default arms, if it has any. A posture beside it leaves them out
    (``weights={"shoulder": 0, …}``), or holds them.
    """

    diagonal = False

    def __init__(
        self,
        model: str,
        parts: tuple[str, ...] | None = None,
        *,
        weight: float = 0.3,
        stiffness: float = 15.0,
        reference: Any = None,
        values: Mapping[str, float] | None = None,
        name: str | None = None,
    ):
        """Take the model and which parts of it are loose."""
        super().__init__(model, weight=weight, stiffness=stiffness, reference=reference, values=values, name=name)
        self._parts, self._asked = parts or ARMS, parts or ()

    def concerns(self, joint: str) -> bool:
        """Return whether a joint belongs to one of the parts."""
        return any(is_of(joint.split("/", 1)[-1], part) for part in self._parts)

    def bind(self, scene: Scene) -> None:
        """Find the joints, and all that moves what they hang on."""
        super().bind(scene)
        for part in self._asked:
            self._rows(scene, part)  # which refuses what the body does not have
        m, terms = scene.model, scene.rest
        self._bodies = m.dof_bodyid[self.own].astype(np.int64)
        chains = [terms.chain(int(body)) for body in dict.fromkeys(self._bodies.tolist())]
        self.dofs = np.unique(np.concatenate([self.own, *chains]))
        self._columns = np.searchsorted(self.dofs, self.own)
        self._gravity = -float(m.opt.gravity[2])

    def feature(self, terms: Kinematics, time: float) -> Feature:
        """Return joint errors and velocities, and (M_aa)⁻¹ times the rows of the equation of motion, without gravity."""
        value, velocity, acceleration = self.reference.at(time)
        own = self.own
        inertia, axis = terms.crb[self._bodies], terms.cdof[own]
        borne = self._gravity * (inertia[:, 9] * axis[:, 5] + axis[:, 0] * inertia[:, 7] - axis[:, 1] * inertia[:, 6])
        rows = np.empty((self.dim, len(self.dofs) + 1))
        rows[:, :-1] = terms.full_mass()[np.ix_(own, self.dofs)]
        rows[:, -1] = terms.qfrc_bias[own] - borne
        rows = np.linalg.solve(rows[:, self._columns], rows)
        return Feature(
            terms.qpos[self._adr] - value, terms.qvel[own] - velocity, rows[:, :-1], rows[:, -1] - acceleration
        )

    def add_to(self, terms: Kinematics, time: float, cost: Any) -> None:
        """Add its cost, which couples joints."""
        Objective.add_to(self, terms, time, cost)
