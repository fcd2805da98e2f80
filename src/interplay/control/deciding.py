"""From a program to a decision: its solution, or, where it has none, what comes nearest, and what had to give way for it.

Where a plan is what happens, rows give way order by order, however long that takes. In haste (``Manner.hasty``) work is bounded: after so
many changes of the rows that hold, all rows that may give way do so at once, in one program that always has a solution. Its own work is
bounded, too: what satisfies its rows then is taken, the best or not, and if nothing does, nothing is asked of anybody for a step. A program
after one in which rows gave way begins with that.
"""

from __future__ import annotations

import numpy as np

from interplay.control.plan import Conflict
from interplay.control.program import Program, Programs
from interplay.control.state import State
from interplay.qp.problem import QPSolution, QPSolver
from interplay.qp.relaxation import Relaxed, relax, relax_at_once, slim
from interplay.qp.solvers import Piqp

BRIEFLY, SLIGHT = 16, 10.0
"""In haste a solver gives up after so much work (changes of rows; 99 of 100 programs that have a solution need fewer). Where none of the rows
then gives way by more than so much [m/s², rad/s², N·m, N], the program is solved all the same: of 1,179 that had a solution, 2
gave way by more, of 702 that had none, 25 by less. (With less weight on costs the two come apart better, but she falls more.)"""
ROUGHLY, STEPS, FIRMLY = 1e-6, 25, 25
"""In haste, how exactly a program is solved in which rows give way, and in how many steps at most (half of them take 12); and in how many
steps one that may have a solution after all (99 of 100 that have one take 22)."""

Decision = tuple[QPSolution, tuple[Conflict, ...]]
"""A solution, and what gave way for it: nothing, or at least one conflict."""


class Deciding:
    """Decides programs one after another; of the last one it knows whether rows gave way in it."""

    def __init__(self, programs: Programs):
        """Take what lays programs out."""
        self._programs = programs
        self._gave_way = False

    def forget(self) -> None:
        """Decide the next program as the first one."""
        self._gave_way = False

    def decide(self, solver: QPSolver, program: Program, state: State) -> Decision:
        """Return the solution of a state's program, and what had to give way for it."""
        qp = program.qp
        crossed = bool((qp.x_l > qp.x_u).any())  # there is no need to look
        decide = self._hastily if self._programs.manner.hasty else self._patiently
        found, relaxed = decide(solver, program, crossed)
        self._gave_way = found is None
        if found is not None:
            return found, ()
        if relaxed is None:
            return self._let_go(program, state)
        named = program.assembly.name_conflicts(relaxed.slack)
        return relaxed.solution, named or (Conflict("solver", "no residual conflict", 0.0, ""),)

    def _patiently(self, solver: QPSolver, program: Program, crossed: bool) -> tuple[QPSolution | None, Relaxed | None]:
        """Return a solution, or that of the program in which as few orders of rows give way as must."""
        found = None if crossed else solver.solve(program.qp)
        if found is not None and found.solved:
            return found, None
        return None, relax(program.qp, program.assembly.relaxable(), Piqp(), found and found.conflict)

    def _hastily(self, solver: QPSolver, program: Program, crossed: bool) -> tuple[QPSolution | None, Relaxed | None]:
        """Return a solution, or that of the program in which all rows give way that may."""
        qp, found = program.qp, None
        if not (crossed or self._gave_way):
            found = solver.solve(qp, BRIEFLY)
            if found.solved:
                return found, None
        relaxed = relax_at_once(qp, program.assembly.elastic(), Piqp(ROUGHLY), STEPS)
        known = crossed or (found is not None and found.conflict is not None)
        if known or relaxed is None or relaxed.worst > SLIGHT:
            return None, relaxed
        if self._gave_way:
            found = solver.solve(qp, BRIEFLY)
            if found.solved or found.conflict is not None:
                return (found, None) if found.solved else (None, relaxed)
        found = Piqp().solve(slim(qp), FIRMLY)
        return (found, None) if found.solved else (None, relaxed)

    def _let_go(self, program: Program, state: State) -> Decision:
        """Last resort when no solver copes: no motor, no contact force, passive motion under gravity and pushes."""
        terms, assembly, qp = self._programs.terms, program.assembly, program.qp
        x, rows = np.zeros(assembly.n), assembly.slip_rows
        x[: assembly.nv] = np.linalg.solve(terms.full_mass(), terms.qfrc_passive + state.applied - terms.qfrc_bias)
        slip = qp.A[rows] @ x - qp.b[rows]
        gave = [("A", rows.start + k, float(s)) for k, s in enumerate(slip)]
        found = QPSolution(x, True, "let go", 0, float("nan"), float("nan"), float("nan"), 0.0)
        return found, (Conflict("solver", "no solution", 0.0, ""), *assembly.name_conflicts(gave))
