"""Independent programs: one QP per character, solved one after the other, and what physics makes of their torques.

This is what vaillant2017 argues against (sections 1 and 3.6, Appendix B), on the same scenes, so that the two can be compared.

**The programs.** A program is the integrated one with everything fixed that is not its own. Its own are its tree's q̈, the
wrenches of its contacts with the environment and, drawn to what was last felt there, with things that have no motors (it stands
or sits on them, it holds them); it keeps the equations, limits and cones of these, its collision rows, its no-slip
rows, and its share of every objective. Of the others it is fed what is known: the accelerations of those solved earlier in this
step (trees come in the order in which they were placed); those still to come are taken to come to rest. The wrench of a contact
with another character is a given force: what was last felt there (at first, what one program would apply), or what an objective asks for.
A subsystem without motors has nothing to decide: it has no program, and nobody is told where it should go.

**The physics.** The torques found this way are applied, within the limits of their motors; accelerations and all contact wrenches
then follow from the coupled equation of motion (12) and Coulomb's law (``response``). Bodies that the programs could not keep apart
pass through each other (the certificate says how far); a joint driven beyond its stop ends the run.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy import sparse

from interplay.constraints.contact import TORQUE_ARM, Contact
from interplay.control.assembly import Assembly
from interplay.control.integrated import IntegratedController
from interplay.control.response import respond
from interplay.control.state import Conflict, Solution, State, dump_state
from interplay.errors import StateError
from interplay.qp.problem import QP, QPSolution
from interplay.qp.relaxation import relax
from interplay.qp.solvers import Piqp

SLIPPING = 1e-2
"""Acceleration [m/s², rad/s²] from which a contact counts as one that gave way."""

HABIT = 1e-2
"""Cost [1/N²] of a wrench against a thing without motors other than the one felt last; torques as in contacts."""

RESTING = 0.1
"""Seconds within which others are taken to come to rest, as long as nothing better is known."""

STOP = 0.1
"""How far beyond its range [rad or m] a joint may be: its stop would have acted before, and is not modelled."""


class Part(NamedTuple):
    """Some variables of a program with the rows that concern them, and where these ('x', 'A', 'G') stand in the whole one."""

    qp: QP
    rows: dict[str, np.ndarray]


def part(qp: QP, x: np.ndarray, own: np.ndarray, foreign: dict[str, np.ndarray]) -> Part:
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
    return Part(QP(P, qp.c[own], A, qp.b[a] - known, G, low, high, qp.x_l[own], qp.x_u[own], None), rows)


class IndependentController(IntegratedController):
    """Programs of single characters in sequence; it lays out the integrated program and solves parts of it."""

    def _solve_or_relax(
        self, qp: QP, assembly: Assembly, state: State
    ) -> tuple[QPSolution, tuple[Conflict, ...], bool]:
        self._refuse_nan(qp, assembly, state)
        self._refuse_broken(state)
        tau, conflicts = self._torques(qp, assembly, state)
        terms, slip = self.terms, assembly.slip_rows
        force = tau + terms.qfrc_passive + state.applied - terms.qfrc_bias
        found = respond(terms, assembly.rows, qp.A[slip, : assembly.nv].toarray(), force, self.dt)
        slipped = [("A", slip.start + k, float(s)) for k, s in enumerate(found.slip) if abs(s) > SLIPPING]
        conflicts = (*conflicts, *assembly.name_conflicts(slipped))
        if not found.settled:
            conflicts = (*conflicts, Conflict("solver", "contact forces", 0.0, ""))
        x = np.concatenate([found.qacc, found.wrench, np.zeros(len(assembly.cost.residual_rate))])
        nan = float("nan")
        return QPSolution(x, True, found.status, found.iterations, nan, nan, nan, 0.0), conflicts, bool(conflicts)

    def _solution(self, found, assembly, state, memory, conflicts, fallback, timing, closest) -> Solution:
        """Return the solution; the wrenches are what the programs of the next step have felt."""
        solution = super()._solution(found, assembly, state, memory, conflicts, fallback, timing, closest)
        felt = {_key(c): w for c, w in zip(assembly.contacts, solution.wrenches, strict=True)}
        return replace(solution, memory=solution.memory._replace(felt=felt))

    def _refuse_broken(self, state: State) -> None:
        """Raise when a joint is beyond its stop: someone has fallen."""
        q, limits, m = state.qpos[self.limits.adr], self.limits, self.scene.model
        beyond = np.maximum(limits.low - q, q - limits.high)
        if beyond.max(initial=0.0) > STOP:
            worst = int(beyond.argmax())
            joint = m.joint(int(m.dof_jntid[limits.dof[worst]])).name
            message = f"at t = {state.time:.4f} s, {joint!r} is {beyond[worst]:.2f} beyond its stop: the motion is lost"
            raise StateError(message, dump_state(state))

    # -- the programs --------------------------------------------------------------------------------------------------

    def _torques(self, qp: QP, assembly: Assembly, state: State) -> tuple[np.ndarray, tuple[Conflict, ...]]:
        """Return the torques (nv,) that the programs find, one after the other, and what they had to give up."""
        terms, nv, rows = self.terms, assembly.nv, assembly.rows
        driven, limit = ~np.isnan(self.limits.torque), self.limits.torque
        x, conflicts = np.zeros(assembly.n), []
        x[:nv] = -terms.qvel / RESTING
        x[nv : nv + rows.size] = expected = self._expected(qp, assembly, state)
        habit = np.zeros(assembly.n)
        habit[nv : nv + rows.size] = self._habits(assembly)
        pull = np.zeros(assembly.n)
        pull[nv : nv + rows.size] = expected
        qp = qp._replace(P=sparse.csc_matrix(qp.P + sparse.diags(habit)), c=qp.c - habit * pull)
        tau = np.zeros(nv)
        for tree in map(int, np.unique(terms.model.dof_treeid[driven])):
            mine = self._own(qp, assembly, tree)
            found, gave_way = self._solve_part(part(qp, x, mine, self._foreign(assembly, tree)), assembly)
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
        return tau, tuple(conflicts)

    def _expected(self, qp: QP, assembly: Assembly, state: State) -> np.ndarray:
        """Return the wrenches that programs take as given: felt in the last step, drawn to what objectives ask for.

        That is the minimum of ½ r ‖w − felt‖² + ½ v ‖w − wished‖², r the cost of the contact's force and v the objective's
        weight: the program's own terms on a wrench are ½ (r + v) ‖w‖² − v wished·w.
        """
        rows, known = assembly.rows, state.memory.felt
        unknowns, felt = slice(assembly.nv, assembly.nv + rows.size), np.zeros(rows.size)
        for k, contact in enumerate(assembly.contacts):
            felt[rows.start[k] : rows.start[k + 1]] = known.get(_key(contact), np.zeros(6))[: contact.dim]
        if not known and assembly.contacts:  # at the very beginning: as one program would hold the scene
            felt[:] = super()._solve_or_relax(qp, assembly, state)[0].x[unknowns]
        return (rows.cost * felt - qp.c[unknowns]) / qp.P.diagonal()[unknowns]

    def _own(self, qp: QP, assembly: Assembly, tree: int) -> np.ndarray:
        """Return the variables of a tree's program: q̈, wrenches against the environment, residuals of its objectives."""
        rows, dofs = assembly.rows, self.terms.tree_dofs(tree)
        own = [dofs]
        for k, contact in enumerate(assembly.contacts):
            trees = {self._tree(contact.first.body), self._tree(contact.second.body)} - {tree}
            if not any(self._driven(other) for other in trees) and len(trees) < 2:
                own.append(assembly.nv + np.arange(rows.start[k], rows.start[k + 1]))
        shared = np.diff(qp.A[assembly.residual_rows].tocsc()[:, dofs].tocsr().indptr) > 0
        return np.concatenate([*own, assembly.nv + rows.size + np.flatnonzero(shared)])

    def _solve_part(self, partial: Part, assembly: Assembly) -> tuple[np.ndarray | None, list[tuple[str, int, float]]]:
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
        return tree >= 0 and not np.isnan(self.limits.torque[self.terms.tree_dofs(tree)]).all()

    def _tree(self, body: int) -> int:
        """Return the tree of a body, −1 if it is fixed."""
        return int(self.scene.model.body_treeid[body])

    def _name(self, tree: int) -> str:
        m = self.scene.model
        return m.body(int(m.tree_bodyadr[tree])).name.split("/")[0]


def _key(contact: Contact) -> str:
    return " – ".join(contact.label)
