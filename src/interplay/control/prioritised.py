"""Strict priorities: a sequence of programs, one for each priority, instead of weights alone (abe2007, section 3.2.2).

The program of a level has the rows of the integrated one, and the cost of that level's objectives. What levels before it have
decided stays: J_i q̈ is what it was found to be for every objective i of theirs if q̈ moves in the null space of their Hessian
H = Σ w_i J_iᵀJ_i alone. So its range, as orthonormal rows D, is held: D q̈ = D q̈*. Weights count inside a level only.

The rows D may depend on those of the program (feet that stand decide the pelvis nearly, too). They are therefore not rows of it, but
held by multipliers: a cost W‖D (q̈ − q̈*)‖² far above the level's own, whose aim moves by what is missed, each time the program is
solved (the augmented Lagrangian). The pattern is that of the integrated program, and whatever has a solution there has one here.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import numpy as np

from interplay.constraints.manner import EXACT, Manner
from interplay.control.assembly import Assembly
from interplay.control.cost import REGULARISATION
from interplay.control.deciding import Decision
from interplay.control.integrated import IntegratedController
from interplay.control.program import Program
from interplay.control.state import State
from interplay.errors import whole
from interplay.maths.linear import range_beyond
from interplay.objectives.base import Objective
from interplay.qp import solvers
from interplay.qp.problem import QP, QPSolution, QPSolver
from interplay.scene.scene import Scene

PROXIMITY = 1e-3
"""Weight of ‖q̈ − q̈₀‖² in all programs but the last: enough to settle what their objectives leave open. q̈₀ is what was found so
far, so that each time less of it is left in what they do decide."""

LARGEST = 10.0
"""Levels with larger weights are scaled down: they count against each other inside a level only. What weighs a thousandth of the
largest is then not decided (``DECISIVE``); it was found by trying: with 100, Box gave way far more often, or fell."""

DECISIVE = 10.0
"""A level decides a direction in which its objectives weigh so many times as much as that, or as contact forces cost."""

STRICTNESS = 1e6
"""What it costs to leave what is decided: the more, the fewer times a program is solved until nothing is missed."""

EXACTNESS, TIMES = 1e-7, 4
"""A level is settled when it misses less [rad/s², m/s², N] of what is decided, and has less of the regularisation left in its slope;
or when it has been solved so many times."""


class PrioritisedController(IntegratedController):
    """Serves objectives by their ``priority``, smaller numbers first; those of one priority by their weights."""

    def __init__(self, scene: Scene, dt: float, solver: str = solvers.DEFAULT, manner: Manner = EXACT):
        """Take the scene, the control step [s], the name of the QP solver, and how firmly its world may be asked."""
        super().__init__(scene, dt, solver, manner)
        self._solver_name = solver
        self._solvers: dict[int, QPSolver] = {}
        """One for each priority: the rows that held for it are the first guess of the next time."""

    def forget(self) -> None:
        """Make the next plan as a new controller would."""
        super().forget()
        for solver in self._solvers.values():
            solver.forget()

    def _decide(self, program: Program, state: State) -> Decision:
        """Return the solution of the last level's program, and what had to give way for the first."""
        assembly, terms = program.assembly, self.programs.terms
        levels = by_priority(assembly.objectives)
        if len(levels) < 2:
            return super()._decide(program, state)
        decided, qp = Decided(assembly), program.qp
        found, conflicts = None, ()
        for priority, objectives in levels:
            last = priority == levels[-1][0]
            scale = min(1.0, LARGEST / max(1e-9, *(o.weight for o in objectives)))
            regularisation = REGULARISATION if last else PROXIMITY
            assembly.weigh(terms, state.time, objectives, regularisation, scale)
            if not decided.look(assembly, regularisation):
                continue
            solver = self._solver_of(priority)
            if found is None:
                found, conflicts = self._deciding.decide(solver, program, state)
                if found.status == "let go":
                    break
                qp = _widened(qp, found.x) if conflicts else qp
            else:
                decided.hold(assembly, found.x)
            found = self._settled(qp, assembly, decided, solver, found, last)
            decided.add()
        return (found, conflicts) if found is not None else super()._decide(program, state)

    def _settled(
        self, qp: QP, assembly: Assembly, decided: Decided, solver: QPSolver, found: QPSolution, last: bool
    ) -> QPSolution:
        """Return the solution of a level's program; what was found before is possible in it."""
        own, drawn = qp.c.copy(), np.zeros(assembly.n)
        if not last:
            drawn[: assembly.nv] = PROXIMITY
            drawn[assembly.nv : assembly.nv + assembly.rows.size] = assembly.rows.cost
        for _ in range(TIMES):
            better = solver.solve(qp._replace(c=own - drawn * found.x - decided.pull()))
            if not better.solved:
                break
            left = np.abs(drawn * (better.x - found.x)).max()
            found = better._replace(iterations=found.iterations + better.iterations)
            if decided.missed(found.x) < EXACTNESS and left < EXACTNESS:
                break
        return found

    def _solver_of(self, priority: int) -> QPSolver:
        if priority not in self._solvers:
            self._solvers[priority] = solvers.make_solver(self._solver_name)
        return self._solvers[priority]


def by_priority(objectives: Sequence[Objective]) -> list[tuple[int, list[Objective]]]:
    """Return the objectives of each priority, in the order in which they are served."""

    def priority(objective: Objective) -> int:
        return whole(f"priority of {objective.label!r}", objective.priority, 0)

    return [(level, list(those)) for level, those in groupby(sorted(objectives, key=priority), priority)]


def _widened(qp: QP, x: np.ndarray) -> QP:
    """Return a program whose rows hold at x: what has given way for one level has for those after it."""
    Gx = qp.G @ x
    return qp._replace(
        b=qp.A @ x,
        h_l=np.minimum(qp.h_l, Gx),
        h_u=np.maximum(qp.h_u, Gx),
        x_l=np.minimum(qp.x_l, x),
        x_u=np.maximum(qp.x_u, x),
    )


class Decided:
    """What levels have decided in one program: orthonormal rows D over the q̈ of each tree, and single wrenches and residuals."""

    def __init__(self, assembly: Assembly):
        """Begin with nothing."""
        trees = assembly.structure.trees
        self._nv = trees.nv
        self._places = list(zip(trees.start.tolist(), trees.size.tolist(), trees.block.tolist(), strict=False))
        self._rows = [np.zeros((0, size)) for _, size, _ in self._places]
        self._single = np.zeros(assembly.n - trees.nv, bool)
        self._new, self._new_single = self._rows, self._single
        self._wanted = self._aim = np.zeros(assembly.n)

    def look(self, assembly: Assembly, regularisation: float) -> bool:
        """Find the directions that the present cost decides and none before it has; return whether there are any."""
        hessian, single = assembly.cost.hessian.copy(), assembly.qp.P.diagonal()[self._nv :]
        hessian[assembly.structure.trees.diagonal] -= regularisation
        self._new = [
            range_beyond(hessian[at : at + size * size].reshape(size, size), rows, DECISIVE * PROXIMITY)
            for (_, size, at), rows in zip(self._places, self._rows, strict=True)
        ]
        least = np.full(len(single), PROXIMITY)
        least[: assembly.rows.size] = assembly.rows.cost
        self._new_single = (single > DECISIVE * least) & ~self._single
        return bool(self._new_single.any()) or any(len(rows) for rows in self._new)

    def add(self) -> None:
        """Take what was found to be decided by now."""
        self._rows = [np.vstack(both) for both in zip(self._rows, self._new, strict=True)]
        self._single = self._single | self._new_single

    def hold(self, assembly: Assembly, x: np.ndarray) -> None:
        """Let the cost of the present level hold what is decided as it is at x."""
        blocks = [STRICTNESS * (rows.T @ rows).ravel() for rows in self._rows]
        assembly.add_weight(np.concatenate(blocks), STRICTNESS * self._single)
        self._wanted = self._aim = self._part(x)

    def pull(self) -> np.ndarray:
        """Return the slope W Dᵀ(D q̈* + what was missed so far)."""
        return STRICTNESS * self._aim

    def missed(self, x: np.ndarray) -> float:
        """Return the most that x misses, and aim farther by that from now on."""
        missed = self._wanted - self._part(x)
        self._aim = self._aim + missed
        return float(np.abs(missed).max())

    def _part(self, x: np.ndarray) -> np.ndarray:
        """Return the part DᵀD x of a point that is decided."""
        part = np.zeros_like(x)
        for (start, size, _), rows in zip(self._places, self._rows, strict=True):
            part[start : start + size] = (rows @ x[start : start + size]) @ rows
        part[self._nv :] = np.where(self._single, x[self._nv :], 0.0)
        return part
