"""Servos alone: every motor holds its joint at a posture (joint PD), and nothing is known of weight, contacts or balance.

This is what programs are compared with. The posture is that of ``Posture`` objectives (``Track`` is one), else the scene's initial one;
no other objective, limit or pair of shapes is heeded. Servos act within a step: the plans are for the simulated world.
"""

from __future__ import annotations

import numpy as np

from interplay.constraints.collision import ActivePairs
from interplay.constraints.contact import ContactRows
from interplay.constraints.manner import EXACT, Manner
from interplay.control.controller import Demands
from interplay.control.plan import Plan, Proof, Servo, Timing
from interplay.control.program import Programs
from interplay.control.state import State
from interplay.objectives.posture import Posture
from interplay.qp import solvers
from interplay.scene.kinematics import Kinematics
from interplay.scene.scene import Scene

_NOTHING_SOLVED = Proof("servos", 0, float("nan"), float("nan"), float("nan"))


class ServosController:
    """Holds a posture by the servos of all motors."""

    natural_world = "simulated"

    def __init__(self, scene: Scene, dt: float, solver: str = solvers.DEFAULT, manner: Manner = EXACT):
        """Take the scene and the control step [s]; nothing is solved, and nothing asked of a world."""
        self._programs = Programs(scene, dt, manner)
        self.scene, self.dt = scene, self._programs.dt
        m = scene.model
        self._driven = np.flatnonzero(~np.isnan(self._programs.limits.torque))
        self._still = np.zeros(m.nv)
        self._initial = np.zeros(m.nv)
        self._initial[self._driven] = scene.qpos[m.jnt_qposadr[m.dof_jntid[self._driven]]]
        self._rows = ContactRows(self._programs.terms, ())

    def initial_state(self) -> State:
        """Return the scene's initial state, at rest."""
        return self._programs.initial_state()

    def at(self, state: State) -> Kinematics:
        """Return the terms at a state."""
        return self._programs.at(state)

    def near(self, state: State, demands: Demands) -> ActivePairs:
        """Return the pairs of shapes that are inside their zones at a state."""
        return self._programs.near(state, demands)[1]

    def size(self) -> dict[str, int]:
        """Return the size of no program."""
        return self._programs.size()

    def forget(self) -> None:
        """Do nothing: no plan depends on one before."""

    def solve(self, state: State, demands: Demands) -> Plan:
        """Return servos towards the posture; accelerations and wrenches are not known to it."""
        terms, rows = self.at(state), self._rows
        if rows.contacts is not demands.contacts:
            rows = self._rows = ContactRows(terms, demands.contacts)
        rows.update(terms, state.time, self.dt, np.zeros((len(demands.contacts), 6, rows.width)))
        position, velocity = self._initial.copy(), self._still.copy()
        for objective in demands.objectives:
            if isinstance(objective, Posture):
                objective.attach(self.scene)
                position[objective.own], velocity[objective.own], _ = objective.reference.at(state.time)
        servo = Servo(self._driven, position[self._driven], velocity[self._driven])
        return Plan(
            self._still,
            self._still,
            demands.contacts,
            np.zeros((len(demands.contacts), 6)),
            self._still,
            rows.drift.copy(),
            *rows.opening(),
            (),
            state.memory._replace(pairs=self.near(state, demands)),
            _NOTHING_SOLVED,
            Timing(self._programs.model_seconds, 0.0, 0.0),
            0.0,
            servo,
        )
