"""The integrated controller: one quadratic program (35) per step over all characters, objects and mechanisms of a scene."""

from __future__ import annotations

import time as clock

import numpy as np

from interplay.constraints.collision import ActivePairs
from interplay.constraints.manner import EXACT, Manner
from interplay.control.controller import Demands
from interplay.control.plan import Conflict, Plan
from interplay.control.program import Program, Programs
from interplay.control.state import State
from interplay.qp import solvers
from interplay.qp.active_set import ActiveSet
from interplay.qp.problem import QP, QPSolution
from interplay.qp.relaxation import relax
from interplay.qp.solvers import Piqp
from interplay.scene.kinematics import Kinematics
from interplay.scene.scene import Scene

BRIEFLY, SLIGHT = 16, 10.0
"""A hasty solver gives up after so many changes of the rows that hold (99 of 100 programs that have a solution need fewer) and lets all
rows give way that may. Where none does by more than so much [m/s², rad/s², N·m, N] it tries again patiently: slack is cheap where
holding a row costs much."""


class IntegratedController:
    """Turns a state and demands into a plan. ``solve`` changes nothing but the solver's first guess for the next time."""

    natural_world = "direct"

    def __init__(self, scene: Scene, dt: float, solver: str = solvers.DEFAULT, manner: Manner = EXACT):
        """Take the scene, the control step [s], the name of the QP solver, and how firmly its world may be asked."""
        self.programs = Programs(scene, dt, manner)
        self.scene, self.dt = scene, self.programs.dt
        self.solver = solvers.make_solver(solver)
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

    def _decide(self, program: Program, state: State) -> tuple[QPSolution, tuple[Conflict, ...]]:
        """Return the solution of a state's program, and what had to give way for it."""
        return solve_or_relax(self.programs, self.solver, program, state)

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


def solve_or_relax(
    programs: Programs, solver: solvers.QPSolver, program: Program, state: State
) -> tuple[QPSolution, tuple[Conflict, ...]]:
    """Return the solution of a program and what had to give way for it: nothing, or at least one conflict."""
    qp, assembly = program.qp, program.assembly
    hasty, found, relaxed = programs.manner.hasty, None, None
    if (qp.x_l > qp.x_u).any():
        pass  # there is no need to look
    elif hasty and isinstance(solver, ActiveSet):
        found = solver.solve(qp, BRIEFLY, alone=True)
        if not found.solved and found.conflict is None:
            relaxed = relax(qp, assembly.relaxable(), Piqp(), at_once=True)
            if relaxed is None or all(abs(amount) < SLIGHT for *_, amount in relaxed.slack):
                found = solver.solve(qp)
    else:
        found = solver.solve(qp)
    if found is not None and found.solved:
        return found, ()
    if relaxed is None:
        relaxed = relax(qp, assembly.relaxable(), Piqp(), found and found.conflict, at_once=hasty)
    if relaxed is None:
        return _let_go(programs, program, state)
    named = assembly.name_conflicts(relaxed.slack)
    return relaxed.solution, named or (Conflict("solver", "no residual conflict", 0.0, ""),)


def _let_go(programs: Programs, program: Program, state: State) -> tuple[QPSolution, tuple[Conflict, ...]]:
    """Last resort when no solver copes: no motor, no contact force, passive motion under gravity and pushes."""
    terms, assembly, qp = programs.terms, program.assembly, program.qp
    x, rows = np.zeros(assembly.n), assembly.slip_rows
    x[: assembly.nv] = np.linalg.solve(terms.full_mass(), terms.qfrc_passive + state.applied - terms.qfrc_bias)
    slip = qp.A[rows] @ x - qp.b[rows]
    gave = [("A", rows.start + k, float(s)) for k, s in enumerate(slip)]
    found = QPSolution(x, True, "let go", 0, float("nan"), float("nan"), float("nan"), 0.0)
    return found, (Conflict("solver", "no solution", 0.0, ""), *assembly.name_conflicts(gave))
