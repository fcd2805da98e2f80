"""Force control by Jacobian transpose (liu2012): what is wanted are wrenches, and motors give what statics makes of them.

For each character: the force F on its centre of mass, torques Γ on its trunk, wrenches W of its tasks, the forces of its contacts, motors'
torques τ and gravity γ are unknowns of one program (11), whose one equality is statics,

    L τ = γ + Σ Jᵀ W − Σ Jᵀ_c w_c,    min Σ w ‖W^d − W‖² + ‖w_c‖² + 10⁵ ‖γ^r − γ‖²,

within bounds of wrenches and torques, and friction cones. Here w_c are forces ON the character at the corners of its contacts (the paper's F_c
are those BY it). Desired wrenches W^d are what objectives answer (`Objective.effort`): by PD in SE(3), with an offset of what hands press (4).
Nothing is asked of accelerations: motion follows from what forces do not balance.

Joints that no wrench concerns would wander. Postures pull them, Λ (−k e − d q̇), where Λ is the inertia of the joints with the root free to
move: however the character is held, no joint is asked for more than it can answer within a step.

Hands on things are tasks, not contacts: a surface that an effort leads carries nothing that balance counts on.
"""

from __future__ import annotations

import time as clock
from collections.abc import Sequence

import numba
import numpy as np

from interplay.constraints.collision import ActivePairs
from interplay.constraints.contact import ContactRows
from interplay.constraints.manner import EXACT, Manner
from interplay.control.controller import Demands
from interplay.control.plan import FORCE_QUANTUM, Plan, Proof, Timing, rounded
from interplay.control.program import Programs
from interplay.control.state import State
from interplay.control.wrench_program import WrenchProgram
from interplay.objectives.base import Effort
from interplay.objectives.posture import Posture
from interplay.qp import solvers
from interplay.scene.kinematics import Kinematics
from interplay.scene.scene import Scene

_KEPT = 16
"""Programs of so many patterns are kept."""


class ForceController:
    """Turns a state and what objectives want to push into torques."""

    natural_world = "simulated"

    def __init__(self, scene: Scene, dt: float, solver: str = solvers.DEFAULT, manner: Manner = EXACT):
        """Take the scene, the control step [s], the name of the QP solver, and how firmly its world may be asked."""
        self.programs = Programs(scene, dt, manner)
        self.scene, self.dt = scene, self.programs.dt
        self.solver = solvers.make_solver(solver)
        self._limit, m = self.programs.limits.torque, scene.model
        powered = np.unique(m.dof_treeid[~np.isnan(self._limit)])
        self._dofs = np.flatnonzero(np.isin(m.dof_treeid, powered))
        self._rows = ContactRows(self.programs.terms, ())
        self._patterns: dict[object, WrenchProgram] = {}
        self._program: WrenchProgram | None = None
        self._still = np.zeros(m.nv)

    def initial_state(self) -> State:
        """Return the scene's initial state, at rest."""
        return self.programs.initial_state()

    def at(self, state: State) -> Kinematics:
        """Return the terms at a state."""
        return self.programs.at(state)

    def near(self, state: State, demands: Demands) -> ActivePairs:
        """Return the pairs of shapes that are inside their zones at a state."""
        return self.programs.near(state, demands)[1]

    def size(self) -> dict[str, int]:
        """Return the numbers of variables and rows of the last program."""
        equalities, rows = (0, 0) if self._program is None else self._program.rows
        return {"vars": 0 if self._program is None else self._program.size, "eq": equalities, "ineq": rows}

    def forget(self) -> None:
        """Make the next plan as a new controller would."""
        self.programs.forget()
        self.solver.forget()

    def solve(self, state: State, demands: Demands) -> Plan:
        """Return the torques at a state; accelerations are not known to it."""
        terms, begin = self.at(state), clock.perf_counter()
        for objective in demands.objectives:
            objective.attach(self.scene)
        asked = [effort for o in demands.objectives if (effort := o.effort(terms, state.time)) is not None]
        rows = self._rows
        if rows.contacts is not demands.contacts:
            rows = self._rows = ContactRows(terms, demands.contacts)
        jacobian = np.zeros((len(demands.contacts), 6, rows.width))
        rows.update(terms, state.time, self.dt, jacobian)
        program = self._program = self._of(rows, demands, asked)
        known = self._postured(terms, state, demands) - terms.data.qfrc_spring
        qp = program.fill(
            asked, known, gravity(terms.crb, terms.cdof, terms.model.dof_bodyid, terms.model.opt.gravity), jacobian
        )
        assembled = clock.perf_counter()
        found = self.solver.solve(qp)
        solved = clock.perf_counter()
        tau = self._still.copy()
        tau[program.driven] = found.x[program.torques]
        wrenches, _, contact = rows.forces(terms, rounded(program.wrenches(found.x), FORCE_QUANTUM), jacobian)
        return Plan(
            self._still,
            rounded(tau, FORCE_QUANTUM),
            demands.contacts,
            wrenches,
            contact,
            rows.drift.copy(),
            *rows.opening(),
            (),
            state.memory._replace(pairs=self.near(state, demands)),
            Proof(found.status, found.iterations, found.primal_residual, found.dual_residual, found.gap),
            Timing(self.programs.model_seconds, assembled - begin, solved - assembled),
            0.0,
        )

    def _of(self, rows: ContactRows, demands: Demands, asked: Sequence[Effort]) -> WrenchProgram:
        """Return the program of a pattern; of those that come again, the same."""
        contacts, leads = demands.contacts, {effort.leads for effort in asked if effort.leads}
        support = tuple(k for k, c in enumerate(contacts) if not leads & {c.first.name, c.second.name})
        tasks = [(len(effort.wrench), effort.dofs) for effort in asked]
        unled = b"" if demands.unled is None else demands.unled.tobytes()
        key = id(contacts), support, unled, tuple((size, own.tobytes()) for size, own in tasks)
        found = self._patterns.pop(key, None)
        if found is None:
            dofs = self._dofs if demands.unled is None else np.setdiff1d(self._dofs, demands.unled)
            found = WrenchProgram(dofs, self._limit, tasks, rows, support)
        self._patterns[key] = found  # the one used last stands last
        if len(self._patterns) > _KEPT:
            del self._patterns[next(iter(self._patterns))]
        return found

    def _postured(self, terms: Kinematics, state: State, demands: Demands) -> np.ndarray:
        """Return the torques (nv,) by which postures pull the joints that have motors."""
        wanted, out = np.zeros(terms.model.nv), np.zeros(terms.model.nv)
        postures = [o for o in demands.objectives if isinstance(o, Posture)]
        for posture in postures:
            wanted[posture.dofs] -= posture.level(state.time) * posture.pull(terms, state.time)
        if not postures:
            return out
        # M⁻¹ with the root free: joints' inertia Λ is the inverse of their block of it. Λ x by two products with M and a small solution.
        mass, m = terms.full_mass(), terms.model
        for tree in {int(m.dof_treeid[o.dofs[0]]) for o in postures if len(o.dofs)}:
            dofs = terms.tree_dofs(tree)
            free = np.isnan(self._limit[dofs])
            root, joints = dofs[free], dofs[~free]
            pulled = mass[np.ix_(joints, joints)] @ wanted[joints]
            if len(root):
                between = mass[np.ix_(root, joints)]
                pulled -= between.T @ np.linalg.solve(mass[np.ix_(root, root)], between @ wanted[joints])
            out[joints] += pulled
        return out


@numba.njit(cache=True)
def gravity(crb, cdof, dof_body, pull):
    """Return γ (nv,): what holds everything against gravity, of each DOF the mass below it times how fast that rises with it."""
    out = np.empty(cdof.shape[0])
    for i in range(cdof.shape[0]):
        c, a = crb[dof_body[i]], cdof[i]  # mass · offset from the tree's centre of mass, and mass; axis there
        rise = np.empty(3)
        rise[0] = c[9] * a[3] + a[1] * c[8] - a[2] * c[7]
        rise[1] = c[9] * a[4] + a[2] * c[6] - a[0] * c[8]
        rise[2] = c[9] * a[5] + a[0] * c[7] - a[1] * c[6]
        out[i] = -(rise[0] * pull[0] + rise[1] * pull[1] + rise[2] * pull[2])
    return out
