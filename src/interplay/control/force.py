"""Force control by Jacobian transpose (liu2012): what is wanted are wrenches, and motors give what statics makes of them.

For each character: the force F on its centre of mass, torques Γ on its trunk, wrenches W of its tasks, the forces of its contacts, motors'
torques τ and gravity γ are unknowns of one program (11), whose one equality is statics,

    L τ = γ + Σ Jᵀ W − Σ Jᵀ_c w_c,    min Σ w ‖W^d − W‖² + ‖w_c‖² + 10⁵ ‖γ^r − γ‖²,

within bounds of wrenches and torques, and friction cones. Here w_c are forces ON the character at the corners of its contacts (the paper's F_c are
those BY it). Desired wrenches W^d are what objectives answer (`Objective.effort`): by PD in SE(3), with an offset of what hands press (4). Nothing is
asked of accelerations: motion follows from what forces do not balance.

Joints that no wrench concerns would wander. Postures pull them, Λ (−k e − d q̇), where Λ is the inertia of the joints with the root free to move: however
the character is held, no joint is asked for more than it can answer within a step.

Hands on things are tasks, not contacts: a surface that an effort leads carries nothing that balance counts on.
"""

from __future__ import annotations

import time as clock
from collections.abc import Sequence

import numpy as np
from scipy import sparse

from interplay.constraints.collision import ActivePairs
from interplay.constraints.contact import Contact, ContactRows, point_cone
from interplay.constraints.manner import EXACT, Manner
from interplay.control.controller import Demands
from interplay.control.plan import FORCE_QUANTUM, Plan, Proof, Timing, rounded
from interplay.control.program import Programs
from interplay.control.state import State
from interplay.objectives.base import Effort
from interplay.objectives.posture import Posture
from interplay.qp import solvers
from interplay.qp.problem import QP, Pattern
from interplay.scene.kinematics import Kinematics
from interplay.scene.scene import Scene

CONTACT, GRAVITY, TORQUE = 1.0, 1e5, 1e-8
"""Weights of contact forces and of gravity (liu2012, VI), and of torques, which have none there: they must have a value where two would do."""
_UNBOUNDED = np.inf
_SIGNS = np.array([(1, 1), (-1, 1), (-1, -1), (1, -1)], float)
_SHAPES = 16
"""Layouts that are kept."""


class ForceController:
    """Turns a state and what objectives want to push into torques."""

    natural_world = "simulated"

    def __init__(self, scene: Scene, dt: float, solver: str = solvers.DEFAULT, manner: Manner = EXACT):
        """Take the scene, the control step [s], the name of the QP solver, and how firmly its world may be asked."""
        self._programs = Programs(scene, dt, manner)
        self.scene, self.dt = scene, self._programs.dt
        self._solver = solvers.make_solver(solver)
        self._rows = ContactRows(self._programs.terms, ())
        self._layouts: dict[object, _Layout] = {}
        self._layout: _Layout | None = None
        self._still = np.zeros(scene.model.nv)

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
        """Return the numbers of variables and rows of the last program."""
        layout = self._layout
        if layout is None:
            return {"vars": 0, "eq": 0, "ineq": 0}
        return {"vars": layout.size, "eq": len(layout.dofs), "ineq": layout.cones}

    def forget(self) -> None:
        """Make the next plan as a new controller would."""
        self._programs.forget()
        self._solver.forget()

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
        layout = self._layout = self._layout_of(rows, demands, asked)
        qp = layout.fill(terms, asked, self._postured(terms, state, demands), jacobian)
        assembled = clock.perf_counter()
        found = self._solver.solve(qp)
        solved = clock.perf_counter()
        tau = self._still.copy()
        tau[layout.driven] = found.x[layout.torques]
        wrenches, _, contact = rows.forces(terms, rounded(layout.wrenches(found.x), FORCE_QUANTUM), jacobian)
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
            Timing(self._programs.model_seconds, assembled - begin, solved - assembled),
            0.0,
        )

    def _layout_of(self, rows: ContactRows, demands: Demands, asked: Sequence[Effort]) -> _Layout:
        """Return the layout of a program; of those that come again, the same."""
        led = np.isnan(self._programs.limits.torque)
        powered = np.unique(self.scene.model.dof_treeid[~led])
        dofs = np.flatnonzero(np.isin(self.scene.model.dof_treeid, powered))
        if demands.unled is not None:
            dofs = np.setdiff1d(dofs, demands.unled)
        leads = {effort.leads for effort in asked} - {""}
        support = np.array([not leads & {c.first.name, c.second.name} for c in demands.contacts], bool)
        cols, sign = rows.movers
        kinds = tuple((c.kind, tuple(c.half), c.friction, c.min_force) for c in demands.contacts)
        key = (
            dofs.tobytes(),
            support.tobytes(),
            kinds,
            cols.tobytes(),
            sign.tobytes(),
            tuple((len(effort.wrench), effort.dofs.tobytes()) for effort in asked),
        )
        found = self._layouts.get(key)
        if found is None:
            if len(self._layouts) >= _SHAPES:
                self._layouts.clear()
            shapes = [(len(effort.wrench), effort.dofs) for effort in asked]
            found = _Layout(dofs, self._programs.limits.torque, shapes, rows, np.flatnonzero(support))
            self._layouts[key] = found
        return found

    def _postured(self, terms: Kinematics, state: State, demands: Demands) -> np.ndarray:
        """Return the torques (nv,) by which postures pull the joints that have motors."""
        out, m = np.zeros(terms.model.nv), terms.model
        postures = [o for o in demands.objectives if isinstance(o, Posture)]
        if not postures:
            return out
        wanted = np.zeros(m.nv)
        for posture in postures:
            wanted[posture.dofs] -= posture.level(state.time) * posture.pull(terms, state.time)
        mass = terms.full_mass()
        for tree in np.unique(m.dof_treeid[np.concatenate([o.dofs for o in postures])]):
            dofs = terms.tree_dofs(int(tree))
            free = np.isnan(self._programs.limits.torque[dofs])
            root, joints = dofs[free], dofs[~free]
            inertia = mass[np.ix_(joints, joints)]
            if len(root):
                between = mass[np.ix_(root, joints)]
                inertia = inertia - between.T @ np.linalg.solve(mass[np.ix_(root, root)], between)
            out[joints] += inertia @ wanted[joints]
        return out


class _Layout:
    """Variables and rows of one pattern: wrenches, contact forces, torques, gravity; everything that varies stands in one source vector."""

    def __init__(
        self,
        dofs: np.ndarray,
        limit: np.ndarray,
        shapes: Sequence[tuple[int, np.ndarray]],
        rows: ContactRows,
        support: np.ndarray,
    ):
        """Take the DOFs of who is led, motors' limits, sizes and DOFs of tasks, contacts, and which of them carry."""
        self.dofs = dofs
        self._shapes, self._support, self._rows = shapes, support, rows
        self._maps = [_corners(rows.contacts[k]) for k in support]
        row_of = np.full(len(limit), -1)
        row_of[dofs] = np.arange(len(dofs))
        self.driven = dofs[~np.isnan(limit[dofs])]
        wide = [size for size, _ in shapes]
        self._tasks = np.concatenate([[0], np.cumsum(wide)]).astype(np.int64)
        carried = [made.shape[1] for made, _, _ in self._maps]
        self._forces = self._tasks[-1] + np.concatenate([[0], np.cumsum(carried)]).astype(np.int64)
        first = int(self._forces[-1])
        self.torques = slice(first, first + len(self.driven))
        self._gravity = slice(self.torques.stop, self.torques.stop + len(dofs))
        self.size = self._gravity.stop
        pattern, at = Pattern(), 1
        pattern.add(row_of[self.driven], np.arange(first, self.torques.stop), np.zeros(len(self.driven), int))
        n = len(dofs)
        pattern.add(np.arange(n), np.arange(self._gravity.start, self._gravity.stop), np.zeros(n, int), -1.0)
        for (size, own), begin in zip(shapes, self._tasks, strict=False):
            source = at + np.arange(size * len(own)).reshape(size, len(own))
            at += source.size
            mine = row_of[own] >= 0
            variables, moved = np.broadcast_arrays(begin + np.arange(size)[:, None], row_of[own][None, mine])
            pattern.add(moved.ravel(), variables.ravel(), source[:, mine].ravel(), -1.0)
        cols, sign = rows.movers
        for k, begin, (made, _, _) in zip(support, self._forces, self._maps, strict=False):
            there = sign[k] != 0.0
            own = cols[k][there]
            source = at + np.arange(made.shape[1] * len(own)).reshape(made.shape[1], len(own))
            at += source.size
            mine = row_of[own] >= 0
            variables, moved = np.broadcast_arrays(
                begin + np.arange(made.shape[1])[:, None], row_of[own][None, mine]
            )
            pattern.add(moved.ravel(), variables.ravel(), source[:, mine].ravel())
        self._source = np.zeros(at)
        self._source[0] = 1.0
        self._A, self._gather = pattern.freeze((n, self.size))
        facets = [np.kron(np.eye(f.shape[1] // 3), cone) for (f, cone, _) in self._maps if len(cone)]
        at_forces = [b for b, (_, cone, _) in zip(self._forces, self._maps, strict=False) if len(cone)]
        self.cones = int(sum(len(part) for part in facets))
        G = sparse.lil_matrix((self.cones, self.size))
        row = 0
        for begin, part in zip(at_forces, facets, strict=True):
            G[row : row + len(part), begin : begin + part.shape[1]] = part
            row += len(part)
        self._G = sparse.csc_matrix(G)
        margins = [
            np.full(len(part), least)
            for part, least in zip(facets, (m for _, cone, m in self._maps if len(cone)), strict=True)
        ]
        self._low_G = np.concatenate([np.zeros(0), *margins])
        self._high_G = np.full(self.cones, np.inf)
        self._weights = np.concatenate(
            [
                np.zeros(self._tasks[-1]),
                np.full(first - self._tasks[-1], CONTACT),
                np.full(len(self.driven), TORQUE),
                np.full(n, GRAVITY),
            ]
        )
        self._P = sparse.csc_matrix(sparse.diags(np.ones(self.size)))
        self._low, self._high = np.full(self.size, -np.inf), np.full(self.size, np.inf)
        self._low[self.torques], self._high[self.torques] = -limit[self.driven], limit[self.driven]
        for begin, k, (made, cone, _) in zip(self._forces, support, self._maps, strict=False):
            if not len(cone):
                contact = rows.contacts[k]
                strength = np.repeat([contact.grip_force, contact.grip_torque], 3)[: made.shape[1]]
                strength = np.full(made.shape[1], np.inf) if contact.pinned else strength
                self._low[begin : begin + made.shape[1]] = -strength
                self._high[begin : begin + made.shape[1]] = strength

    def fill(
        self,
        terms: Kinematics,
        asked: Sequence[Effort],
        postured: np.ndarray,
        jacobian: np.ndarray,
    ) -> QP:
        """Return the program of a state."""
        at, wanted = 1, np.zeros(self.size)
        for effort, begin in zip(asked, self._tasks, strict=False):
            size = len(effort.wrench)
            self._source[at : at + effort.jacobian.size] = effort.jacobian.ravel()
            at += effort.jacobian.size
            mine = slice(begin, begin + size)
            self._weights[mine], wanted[mine] = effort.weight, effort.wrench
            self._low[mine], self._high[mine] = -effort.most, effort.most
        cols, sign = self._rows.movers
        for k, (made, _, _) in zip(self._support, self._maps, strict=True):
            block = made.T @ jacobian[k][: made.shape[0], sign[k] != 0.0]
            self._source[at : at + block.size] = block.ravel()
            at += block.size
        self._gather(self._source)
        wanted[self._gravity] = _gravity(terms)[self.dofs]
        self._P.data[:] = self._weights
        b = postured[self.dofs] - terms.data.qfrc_spring[self.dofs]
        return QP(
            self._P,
            -self._weights * wanted,
            self._A,
            b,
            self._G,
            self._low_G,
            self._high_G,
            self._low,
            self._high,
            self,
        )

    def wrenches(self, x: np.ndarray) -> np.ndarray:
        """Return the unknowns of all contacts, one after another, as a plan has them: those that do not carry have none."""
        out = np.zeros(self._rows.size)
        for k, begin, (made, _, _) in zip(self._support, self._forces, self._maps, strict=False):
            at = self._rows.start[k]
            out[at : at + made.shape[0]] = made @ x[begin : begin + made.shape[1]]
        return out


def _corners(contact: Contact) -> tuple[np.ndarray, np.ndarray, float]:
    """Return what makes a contact's wrench of its forces (dim, m), the cone of each of these forces, and its margin [N]."""
    if contact.kind == "grasp" or contact.pinned:
        return np.eye(contact.dim), np.zeros((0, 3)), 0.0
    cone = point_cone(contact.friction)
    if contact.kind == "point":
        return np.eye(3), cone, contact.min_force
    half = (1.0 - contact.shrink) * contact.half
    parts = []
    for x, y in _SIGNS * half:
        parts.append(np.vstack([np.eye(3), [[0.0, 0.0, y], [0.0, 0.0, -x], [-y, x, 0.0]]]))
    return np.hstack(parts), cone, contact.min_force / 4.0 / np.sqrt(2.0)


def _gravity(terms: Kinematics) -> np.ndarray:
    """Return γ (nv,): what holds everything against gravity, g times the mass below a DOF times how fast that rises with it."""
    m = terms.model
    below = terms.crb[m.dof_bodyid]  # mass · offset and mass, about the tree's centre of mass
    axes, h, mass = terms.cdof, below[:, 6:9], below[:, 9]
    rises = mass[:, None] * axes[:, 3:] + np.cross(axes[:, :3], h)
    return -rises @ m.opt.gravity
