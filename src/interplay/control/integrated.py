"""The integrated controller: one quadratic program (35) per step over all characters, objects and mechanisms of a scene."""

from __future__ import annotations

import time as clock

from interplay.constraints.collision import ActivePairs
from interplay.constraints.manner import EXACT, Manner
from interplay.control.controller import Demands
from interplay.control.deciding import Deciding, Decision
from interplay.control.plan import Plan
from interplay.control.program import Program, Programs
from interplay.control.state import State
from interplay.qp import solvers
from interplay.qp.active_set import ActiveSet
from interplay.qp.problem import QP
from interplay.scene.kinematics import Kinematics
from interplay.scene.scene import Scene


class IntegratedController:
    """Turns a state and demands into a plan. ``solve`` changes nothing but the solver's first guess for the next time."""

    natural_world = "direct"

    def __init__(self, scene: Scene, dt: float, solver: str = solvers.DEFAULT, manner: Manner = EXACT):
        """Take the scene, the control step [s], the name of the QP solver, and how firmly its world may be asked."""
        self.programs = Programs(scene, dt, manner)
        self.scene, self.dt = scene, self.programs.dt
        self.solver = solvers.make_solver(solver)
        self._deciding = Deciding(self.programs)
        self._ahead: QP | None = None
        """A program on a pattern that is to come, which the solver has not laid out yet."""

    def initial_state(self) -> State:
        """Return the scene's initial state, at rest."""
        return self.programs.initial_state()

    def at(self, state: State) -> Kinematics:
        """Return the terms at a state."""
        return self.programs.at(state)

    def size(self) -> dict[str, int]:
        """Return the numbers of variables and rows of the last program."""
        return self.programs.size()

    def solve(self, state: State, demands: Demands) -> Plan:
        """Return the plan at a state. An infeasible program is relaxed in a fixed order; what gave way is named."""
        self.at(state)
        before = self.programs.assembly
        program = self.programs.of(state, demands)
        begin = clock.perf_counter()
        found, conflicts = self._decide(program, state)
        seconds = clock.perf_counter() - begin
        if program.assembly is before:
            self._look_ahead(demands)
        return self.programs.plan(program, found, state, conflicts, seconds)

    def forget(self) -> None:
        """Make the next plan as a new controller would."""
        self.programs.forget()
        self.solver.forget()
        self._deciding.forget()

    def _decide(self, program: Program, state: State) -> Decision:
        """Return the solution of a state's program, and what had to give way for it."""
        return self._deciding.decide(self.solver, program, state)

    def problem(self, state: State, demands: Demands) -> QP:
        """Return a copy of the program of a state, for other solvers and for study."""
        qp = self.programs.of(state, demands).qp
        names = ("P", "c", "A", "b", "G", "h_l", "h_u", "x_l", "x_u")
        return qp._replace(**{name: getattr(qp, name).copy() for name in names})

    def near(self, state: State, demands: Demands) -> ActivePairs:
        """Return the pairs of shapes that are inside their zones at a state."""
        return self.programs.near(state, demands)[1]

    def _look_ahead(self, demands: Demands) -> None:
        """Do a part of what a foreseen change of contacts will need, in a step that has time."""
        if self._ahead is not None and isinstance(self.solver, ActiveSet):
            self.solver.prepare(self._ahead)
        self._ahead = self.programs.ahead(demands)
