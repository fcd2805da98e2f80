"""Independent programs: one QP per character, solved one after the other, and what physics makes of their torques.

This is what vaillant2017 argues against (sections 1 and 3.6, Appendix B), on the same scenes, so that the two can be compared.

**The programs.** A program is the integrated one with everything fixed that is not its own. Its own are its tree's q̈, the
wrenches of its contacts with the environment and, drawn to what was last felt there, with things that have no motors (it stands
or sits on them, it holds them); it keeps the equations, limits and cones of these, its collision rows, its no-slip
rows, and its share of every objective. Of the others it is fed what is known: the accelerations of those solved earlier in this
step (trees come in the order in which they were placed); those still to come are taken to come to rest. The wrench of a contact
with another character is a given force: what was last felt there (at first, what one program would apply), or what an objective asks for.
A subsystem without motors has nothing to decide: it has no program, and nobody is told where it should go.

What follows from the torques found this way is not theirs to say: they are meant for a world that finds it out (``worlds/rigid``).
"""

from __future__ import annotations

import time as clock
from typing import NamedTuple

import numpy as np
from scipy import sparse

from interplay.constraints.collision import ActivePairs
from interplay.constraints.contact_kernels import TORQUE_ARM
from interplay.constraints.manner import EXACT, Manner
from interplay.control.assembly import Assembly
from interplay.control.controller import Demands
from interplay.control.deciding import Deciding
from interplay.control.plan import FORCE_QUANTUM, Conflict, Plan, rounded
from interplay.control.program import Program, Programs
from interplay.control.state import State
from interplay.qp import solvers
from interplay.qp.problem import QP, QPSolution
from interplay.qp.relaxation import relax
from interplay.qp.solvers import Piqp
from interplay.scene.kinematics import Kinematics
from interplay.scene.scene import Scene

HABIT = 1e-2
"""Cost [1/N²] of a wrench against a thing without motors other than the one felt last; torques as in contacts."""

RESTING = 0.1
"""Seconds within which others are taken to come to rest, as long as nothing better is known."""


class Share(NamedTuple):
    """Some variables of a program with the rows that concern them, and where these ('x', 'A', 'G') stand in the whole one."""

    qp: QP
    rows: dict[str, np.ndarray]


def share(qp: QP, x: np.ndarray, own: np.ndarray, foreign: dict[str, np.ndarray]) -> Share:
    """Return the program of some variables; the others are fixed at their values in ``x``, and ``foreign`` rows left out."""
    given = x.copy()
    given[own] = 0.0
    rows, parts = {"x": own}, {}
    for block, matrix in (("A", qp.A), ("G", qp.G)):
        columns = matrix[:, own]
        rows[block] = np.setdiff1d(columns.indices, foreign[block])
        parts[block] = sparse.csc_matrix(columns[rows[block]]), (matrix @ given)[rows[block]]
    (A, known), (G, pressing) = parts["A"], parts["G"]
    a, g = rows["A"], rows["G"]
    low, high = qp.h_l[g] - pressing, qp.h_u[g] - pressing
    P = sparse.csc_matrix(qp.P[own][:, own])  # no cost couples a tree's variables with others'
    return Share(QP(P, qp.c[own], A, qp.b[a] - known, G, low, high, qp.x_l[own], qp.x_u[own], None), rows)


class IndependentController:
    """Programs of single characters in sequence: it lays out the integrated program and solves shares of it."""

    natural_world = "rigid"

    def __init__(self, scene: Scene, dt: float, solver: str = solvers.DEFAULT, manner: Manner = EXACT):
        """Take scene, control step [s], name of the QP solver (of the very first guess alone), and how firmly the world may be asked."""
        self.programs = Programs(scene, dt, manner)
        self.scene, self.dt = scene, self.programs.dt
        self._terms, self._limits = self.programs.terms, self.programs.limits
        self._solver = solvers.make_solver(solver)

    def initial_state(self) -> State:
        """Return the scene's initial state, at rest."""
        return self.programs.initial_state()

    def at(self, state: State) -> Kinematics:
        """Return the terms at a state."""
        return self.programs.at(state)

    def size(self) -> dict[str, int]:
        """Return the numbers of variables and rows of the program that is shared out."""
        return self.programs.size()

    def near(self, state: State, demands: Demands) -> ActivePairs:
        """Return the pairs of shapes that are inside their zones at a state."""
        return self.programs.near(state, demands)[1]

    def solve(self, state: State, demands: Demands) -> Plan:
        """Return the torques that the programs find, and the accelerations and wrenches that they count on."""
        program = self.programs.of(state, demands)
        begin = clock.perf_counter()
        tau, x, conflicts = self._torques(program, state)
        nan = float("nan")
        found = QPSolution(x, True, "independent", 0, nan, nan, nan, 0.0)
        plan = self.programs.plan(program, found, state, conflicts, clock.perf_counter() - begin)
        return plan._replace(tau=rounded(tau, FORCE_QUANTUM))

    def forget(self) -> None:
        """Make the next plan as a new controller would."""
        self.programs.forget()
        self._solver.forget()

    # -- the programs --------------------------------------------------------------------------------------------------

    def _torques(self, program: Program, state: State) -> tuple[np.ndarray, np.ndarray, tuple[Conflict, ...]]:
        """Return the torques (nv,) that the programs find, one after the other, the unknowns, and what they had to give up."""
        qp, assembly, terms = program.qp, program.assembly, self._terms
        nv, rows, limit = assembly.nv, assembly.rows, self._limits.torque
        driven = ~np.isnan(limit)
        x, conflicts = np.zeros(assembly.n), []
        x[:nv] = -terms.qvel / RESTING
        x[nv : nv + rows.size] = expected = self._expected(program, state)
        habit = np.zeros(assembly.n)
        habit[nv : nv + rows.size] = self._habits(assembly)
        pull = np.zeros(assembly.n)
        pull[nv : nv + rows.size] = expected
        qp = qp._replace(P=sparse.csc_matrix(qp.P + sparse.diags(habit)), c=qp.c - habit * pull)
        tau = np.zeros(nv)
        for tree in map(int, np.unique(terms.model.dof_treeid[driven])):
            mine = self._own(qp, assembly, tree)
            found, gave_way = self._solve_part(share(qp, x, mine, self._foreign(assembly, tree)), assembly)
            conflicts += assembly.name_conflicts(gave_way)
            if found is None:  # nothing is known to be better than to let go
                conflicts.append(Conflict("solver", f"no solution for {self._name(tree)}", 0.0, ""))
                continue
            x[mine] = found
            _, _, contact = rows.forces(terms, x[nv : nv + rows.size], assembly.jacobian)
            needed = terms.mass_times(x[:nv]) + terms.qfrc_bias - terms.qfrc_passive - state.applied - contact
            dofs = terms.tree_dofs(tree)
            dofs = dofs[driven[dofs]]
            tau[dofs] = np.clip(needed[dofs], -limit[dofs], limit[dofs])
        return tau, x, tuple(conflicts)

    def _expected(self, program: Program, state: State) -> np.ndarray:
        """Return the wrenches that programs take as given: felt in the last step, drawn to what objectives ask for.

        That is the minimum of ½ r ‖w − felt‖² + ½ v ‖w − wished‖², r the cost of the contact's force and v the objective's
        weight: the program's own terms on a wrench are ½ (r + v) ‖w‖² − v wished·w.
        """
        qp, assembly, known = program.qp, program.assembly, state.memory.felt.by_label()
        rows = assembly.rows
        unknowns, felt = slice(assembly.nv, assembly.nv + rows.size), np.zeros(rows.size)
        for k, contact in enumerate(assembly.contacts):
            felt[rows.start[k] : rows.start[k + 1]] = known.get(contact.label, np.zeros(6))[: contact.dim]
        if not known and assembly.contacts:  # at the very beginning: as one program would hold the scene
            felt[:] = Deciding(self.programs).decide(self._solver, program, state)[0].x[unknowns]
        return (rows.cost * felt - qp.c[unknowns]) / qp.P.diagonal()[unknowns]

    def _own(self, qp: QP, assembly: Assembly, tree: int) -> np.ndarray:
        """Return the variables of a tree's program: q̈, wrenches against the environment, residuals of its objectives."""
        rows, dofs = assembly.rows, self._terms.tree_dofs(tree)
        own = [dofs]
        for k, contact in enumerate(assembly.contacts):
            trees = {self._tree(contact.first.body), self._tree(contact.second.body)} - {tree}
            if not any(self._driven(other) for other in trees) and len(trees) < 2:
                own.append(assembly.nv + np.arange(rows.start[k], rows.start[k + 1]))
        shared = np.diff(qp.A[assembly.residual_rows].tocsc()[:, dofs].tocsr().indptr) > 0
        return np.concatenate([*own, assembly.nv + rows.size + np.flatnonzero(shared)])

    def _solve_part(self, partial: Share, assembly: Assembly) -> tuple[np.ndarray | None, list[tuple[str, int, float]]]:
        """Return the solution of a tree's program and the rows of the whole one that gave way in it."""
        if not (partial.qp.x_l > partial.qp.x_u).any():
            found = Piqp().solve(partial.qp)
            if found.solved:
                return found.x, []
        places = {block: {int(row): k for k, row in enumerate(rows)} for block, rows in partial.rows.items()}
        rows = [
            row._replace(index=places[row.block][row.index])
            for row in assembly.relaxable()
            if row.index in places[row.block]
        ]
        relaxed = relax(partial.qp, rows, Piqp())
        if relaxed is None:
            return None, []
        return relaxed.solution.x, [(block, int(partial.rows[block][k]), s) for block, k, s in relaxed.slack]

    def _foreign(self, assembly: Assembly, tree: int) -> dict[str, np.ndarray]:
        """Return the rows of other trees' equations of motion: what they do is not a tree's to solve."""
        s, tree_of = assembly.structure, self.scene.model.dof_treeid
        return {block: np.flatnonzero(tree_of[d] != tree) for block, d in (("A", s.free_dofs), ("G", s.torque_dofs))}

    def _habits(self, assembly: Assembly) -> np.ndarray:
        """Return the cost of leaving what was felt, for each unknown of the contacts; none against the environment."""
        rows, out = assembly.rows, np.zeros(assembly.rows.size)
        for k, contact in enumerate(assembly.contacts):
            at = slice(rows.start[k], rows.start[k + 1])
            if min(self._tree(contact.first.body), self._tree(contact.second.body)) >= 0:
                out[at] = np.repeat([HABIT, HABIT / TORQUE_ARM**2], 3)[: contact.dim]
        return out

    def _driven(self, tree: int) -> bool:
        """Return whether a tree has motors."""
        return tree >= 0 and not np.isnan(self._limits.torque[self._terms.tree_dofs(tree)]).all()

    def _tree(self, body: int) -> int:
        """Return the tree of a body, −1 if it is fixed."""
        return int(self.scene.model.body_treeid[body])

    def _name(self, tree: int) -> str:
        m = self.scene.model
        return m.body(int(m.tree_bodyadr[tree])).name.split("/")[0]
