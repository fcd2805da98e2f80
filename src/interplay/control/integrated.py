"""The integrated controller: one quadratic program (35) per step over all characters, objects and mechanisms of a scene."""

from __future__ import annotations

import time as clock
from collections.abc import Callable
from typing import NamedTuple

import mujoco
import numba
import numpy as np

from interplay.constraints.collision import ActivePairs, PairRows
from interplay.constraints.collision_set import CollisionSet
from interplay.constraints.contact import Contact
from interplay.constraints.limits import JointLimits
from interplay.control.assembly import Assembly, Structures
from interplay.control.cost import Cost
from interplay.control.perception import Perception
from interplay.control.state import (
    ACCELERATION_QUANTUM,
    FORCE_QUANTUM,
    Conflict,
    Memory,
    Proof,
    Solution,
    State,
    Timing,
    check_state,
    dump_state,
    rounded,
)
from interplay.errors import InputError, SolverError, number
from interplay.objectives.base import Objective
from interplay.qp import solvers
from interplay.qp.active_set import ActiveSet
from interplay.qp.problem import QP, QPSolution
from interplay.qp.relaxation import relax
from interplay.scene.kinematics import Kinematics
from interplay.scene.scene import Scene


class Demands(NamedTuple):
    """Contacts in force and objectives."""

    contacts: tuple[Contact, ...]
    objectives: list[Objective]


class IntegratedController:
    """Turns a state into accelerations, torques and wrenches. ``solve`` changes nothing: all memory travels in the state."""

    def __init__(self, scene: Scene, dt: float, solver: str = solvers.DEFAULT):
        """Take the scene, the control step [s] and the name of the QP solver."""
        self.scene = scene
        self.dt = number("dt", dt, 1e-5, 0.2, "s")
        self.solver = solvers.make_solver(solver)
        _refuse_stiff(scene.model, self.dt)
        self.terms = Kinematics(scene.model)
        self.limits = JointLimits.of(scene.model)
        self.demands: Callable[[], Demands] = lambda: Demands((), [])
        """What is asked at present; a simulation gives its contacts and objectives here."""
        self.collisions = CollisionSet(scene)
        self._at: State | None = None
        self._model_seconds = 0.0
        self._structures = Structures(self.terms, self.limits)
        self._slots: dict[tuple[int, int], int] = {}
        """Collision rows set aside for each pair of trees."""
        self._assembly: Assembly | None = None
        self._demanded: Demands | None = None
        self._foreseen: tuple[Contact, ...] | None = None
        self._ahead: QP | None = None
        """Contacts that are to come, and a program on their pattern that the solver has not laid out yet."""
        self.perception = Perception(scene, self.dt)
        self._pairs = self.perception.pairs(self.terms, self.collisions.pairs)
        self._pairs_version = (self.collisions.version, self.perception.version)
        self._lower, self._upper = np.zeros(scene.model.nv), np.zeros(scene.model.nv)

    def initial_state(self) -> State:
        """Return the scene's initial state, at rest."""
        nv = self.scene.model.nv
        return State(
            0.0,
            self.scene.qpos,
            np.zeros(nv),
            np.zeros(nv),
            Memory(np.zeros((2, len(self.limits.dof))), ActivePairs.none()),
        )

    def at(self, state: State) -> Kinematics:
        """Return the terms at a state; a state is never changed, so the same one is computed once."""
        if state is not self._at:
            begin = clock.perf_counter()
            check_state(self.scene.model, state)
            self.terms.update(state.qpos, state.qvel)
            self._at = state
            self._model_seconds = clock.perf_counter() - begin
        return self.terms

    def refresh(self) -> None:
        """Compute everything anew after the model itself was changed (a mass)."""
        self._at = None

    def solve(self, state: State) -> Solution:
        """Return the solution at a state. An infeasible program is relaxed in a fixed order; what gave way is named."""
        self.at(state)
        begin, before = clock.perf_counter(), self._assembly
        qp, assembly, memory, closest = self._program(state)
        assembled = clock.perf_counter()
        found, conflicts, fallback = self._solve_or_relax(qp, assembly, state)
        timing = Timing(self._model_seconds, assembled - begin, clock.perf_counter() - assembled)
        if assembly is before:
            self._look_ahead()
        return self._solution(found, assembly, state, memory, conflicts, fallback, timing, closest)

    def foresee(self, contacts: tuple[Contact, ...]) -> None:
        """Say which contacts come next: their pattern is laid out in steps that have time, before it is needed."""
        self._foreseen = contacts

    def _look_ahead(self) -> None:
        """Do a part of what a foreseen change of contacts will need."""
        if self._ahead is not None and isinstance(self.solver, ActiveSet):
            self.solver.prepare(self._ahead)
        self._ahead = None
        if self._foreseen is None or self._assembly is None:
            return
        contacts, self._foreseen, now = self._foreseen, None, self._assembly
        slots = now.structure.slots
        cost = Cost(self._structures.trees, now.objectives, contacts)
        if not self._structures.knows(contacts, cost, self._pairs, slots):
            ahead = Assembly(
                self.terms, self._structures, contacts, now.objectives, self._pairs, slots, self.limits.torque
            )
            ahead.x_l[: now.nv], ahead.x_u[: now.nv] = self._lower, self._upper
            ahead.x_l[ahead.pressed] = 0.0
            self._ahead = ahead.qp

    def problem(self, state: State) -> QP:
        """Return a copy of the program of a state, for other solvers and for study."""
        qp = self._program(state)[0]
        return qp._replace(
            P=qp.P.copy(),
            c=qp.c.copy(),
            A=qp.A.copy(),
            b=qp.b.copy(),
            G=qp.G.copy(),
            h_l=qp.h_l.copy(),
            h_u=qp.h_u.copy(),
            x_l=qp.x_l.copy(),
            x_u=qp.x_u.copy(),
        )

    def explain(self, state: State) -> tuple[Conflict, ...]:
        """Return which rows are in conflict at a state (body, joint, contact, pair) and by how much; empty: none."""
        return self.solve(state).conflicts

    def size(self) -> dict[str, int]:
        """Return the numbers of variables and rows of the last program."""
        a = self._assembly
        if a is None:
            return {"vars": 0, "eq": 0, "ineq": 0}
        return {"vars": a.n, "eq": len(a.b), "ineq": len(a.h_l) + 2 * self.scene.model.nv}

    # -- parts of a step -----------------------------------------------------------------------------------------------

    def near(self, state: State) -> ActivePairs:
        """Return the pairs of shapes that are inside their zones at a state."""
        return self._pair_rows(state, self.demands().contacts)[1]

    def _pair_rows(self, state: State, contacts: tuple[Contact, ...]) -> tuple[PairRows, ActivePairs]:
        """Return the rows of the pairs that matter at a state, and the pairs that stay active."""
        terms = self.at(state)
        version = (self.collisions.version, self.perception.version)
        if self._pairs_version != version:
            self._pairs = self.perception.pairs(terms, self.collisions.pairs)
            self._pairs_version, self._assembly = version, None
        self.perception.look(state)
        return self._pairs.update(terms, self.dt, state.memory.pairs, contacts)

    def _program(self, state: State) -> tuple[QP, Assembly, Memory, float]:
        """Return the program of a state, its assembly, the memory of the next one, and the smallest distance of a pair."""
        terms, demands = self.at(state), self.demands()
        rows, active = self._pair_rows(state, demands.contacts)
        limits = state.memory.limits.copy()
        self.limits.bounds(state.qpos, state.qvel, self.dt, limits, self._lower, self._upper)
        assembly = self._assembly_for(demands, rows)
        assembly.cost.yielded = state.yielded
        qp = assembly.fill(terms, state.time, self.dt, state.applied, (self._lower, self._upper), rows)
        closest = self._pairs.closest(terms, self.dt, rows, demands.contacts)
        return qp, assembly, Memory(limits, active, self.perception.remember(state)), closest

    def _assembly_for(self, demands: Demands, rows: PairRows) -> Assembly:
        """Return the assembly of the present demands: the last one, unless they have changed or more pairs came near."""
        present, last = self._assembly, self._demanded
        grown = self._grow_slots(rows)
        changed = last is None or demands.contacts is not last.contacts or demands.objectives != last.objectives
        if present is None or changed or grown:
            for objective in demands.objectives:
                objective.attach(self.scene)
            slots = np.array([self._slots.get(trees, 0) for trees in self._pairs.groups], np.int64)
            objectives = self.perception.objectives(self.terms, demands.objectives)
            present = Assembly(
                self.terms, self._structures, demands.contacts, objectives, self._pairs, slots, self.limits.torque
            )
            self._assembly, self._demanded = present, demands
        return present

    def _grow_slots(self, rows: PairRows) -> bool:
        """Set more collision rows aside, some to spare, if those that are do not suffice; return whether that was so."""
        present = self._assembly.structure.slots if self._assembly else np.zeros(len(self._pairs.groups), np.int64)
        need = np.bincount(self._pairs.group[rows.pair], minlength=len(present))
        short = np.flatnonzero(need > present)
        for group in short.tolist():
            trees = self._pairs.groups[group]
            self._slots[trees] = max(self._slots.get(trees, 0), 2 * int(need[group]) + 2)
        return bool(len(short))

    def _solve_or_relax(
        self, qp: QP, assembly: Assembly, state: State
    ) -> tuple[QPSolution, tuple[Conflict, ...], bool]:
        self._refuse_nan(qp, assembly, state)
        conflict = None
        if not (qp.x_l > qp.x_u).any():
            found = self.solver.solve(qp)
            if found.solved:
                return found, (), False
            conflict = found.conflict
        relaxed = relax(qp, relaxable(assembly), solvers.make_solver("piqp"), conflict)
        if relaxed is None:
            return self._let_go(qp, assembly, state)
        return relaxed.solution, name_conflicts(relaxed.slack, assembly, self.terms), True

    def _refuse_nan(self, qp: QP, assembly: Assembly, state: State) -> None:
        """Raise when the program holds a number that is not finite (or a bound that is NaN), and name the objective if it is one."""
        if _finite(qp.P.data, qp.c, qp.A.data, qp.b, qp.G.data, qp.h_l, qp.h_u, qp.x_l, qp.x_u):
            return
        culprits = [o.label for o in assembly.objectives if not np.isfinite(o.error(self.terms, state.time)).all()]
        blame = f" (objective {', '.join(culprits)})" if culprits else ""
        raise SolverError(
            f"the program at t = {state.time:.4f} s holds a number that is not finite{blame}; "
            f"the state was written to {dump_state(state)}"
        )

    def _let_go(self, qp: QP, assembly: Assembly, state: State) -> tuple[QPSolution, tuple[Conflict, ...], bool]:
        """Last resort when no solver copes: no motor, no contact force, passive motion under gravity and pushes."""
        terms, x, rows = self.terms, np.zeros(assembly.n), assembly.slip_rows
        x[: assembly.nv] = np.linalg.solve(terms.full_mass(), terms.qfrc_passive + state.applied - terms.qfrc_bias)
        slip = qp.A[rows] @ x - qp.b[rows]
        gave = [("A", rows.start + k, float(s)) for k, s in enumerate(slip)]
        found = QPSolution(x, True, "let go", 0, float("nan"), float("nan"), float("nan"), 0.0)
        return found, (Conflict("solver", "no solution", 0.0, ""), *name_conflicts(gave, assembly, terms)), True

    def _solution(
        self,
        found: QPSolution,
        assembly: Assembly,
        state: State,
        memory: Memory,
        conflicts: tuple[Conflict, ...],
        fallback: bool,
        timing: Timing,
        closest: float,
    ) -> Solution:
        terms, nv, rows = self.terms, assembly.nv, assembly.rows
        qacc = rounded(found.x[:nv], ACCELERATION_QUANTUM)
        unknowns = rounded(found.x[nv : nv + rows.size], FORCE_QUANTUM)
        wrenches, at_sites, contact = rows.forces(terms, unknowns, assembly.jacobian)
        tau = terms.mass_times(qacc) + terms.qfrc_bias - terms.qfrc_passive - state.applied - contact
        tau[assembly.structure.free_dofs] = 0.0
        proof = Proof(found.status, found.iterations, found.primal_residual, found.dual_residual, found.gap)
        return Solution(
            qacc,
            tau,
            wrenches,
            contact,
            at_sites,
            assembly.rows.drift.copy(),
            conflicts,
            fallback,
            memory,
            proof,
            timing,
            closest,
        )


@numba.njit(cache=True)
def _finite(P, c, A, b, G, h_l, h_u, x_l, x_u):
    """Return whether all numbers are finite and no bound is NaN: any other number makes the sum of its zero multiples NaN."""
    total = 0.0
    for part in (P, c, A, b, G):
        for value in part:
            total += 0.0 * value
    for part in (h_l, h_u, x_l, x_u):
        for value in part:
            if value != value:
                return False
    return total == 0.0


def _refuse_stiff(m: mujoco.MjModel, dt: float) -> None:
    """Refuse passive joints that a step of this length would blow up: dampers with c Δt > I, springs with k Δt² > I.

    They act at the state in which a step begins (the record says so), so the step must be shorter than they are quick.
    """
    for joint in range(m.njnt):
        dof = int(m.jnt_dofadr[joint])
        inertia, damping, stiffness = float(m.dof_M0[dof]), float(m.dof_damping[dof]), float(m.jnt_stiffness[joint])
        longest = min(
            inertia / damping if damping > 0 else np.inf, np.sqrt(inertia / stiffness) if stiffness > 0 else np.inf
        )
        if dt > longest:
            raise InputError(
                f"dt: {dt:g} s is too long for the spring or damper of {m.joint(joint).name!r}; expected at most {longest:.2g} s "
                "(or give the joint more armature; of a character from a file, 'passive: drop' in its sidecar)"
            )


def relaxable(assembly: Assembly) -> dict[str, list[tuple[str, int]]]:
    """Return the rows (block, index) of each kind that may give way."""
    s, nv = assembly.structure, assembly.nv
    nearby = s.collision_rows.start + np.flatnonzero(assembly.slot_pair >= 0)
    bounded = np.flatnonzero(np.isfinite(assembly.x_l[:nv]) | np.isfinite(assembly.x_u[:nv]))
    return {
        "force": [("x", index) for index in assembly.pressed.tolist()],
        "collision": [("G", index) for index in nearby.tolist()],
        "limit": [("x", index) for index in bounded.tolist()],
        "torque": [("G", index) for index in range(s.torque_rows.stop)],
        "slip": [("A", index) for index in range(s.slip_rows.start, s.slip_rows.stop)],
    }


def name_conflicts(slack: list[tuple[str, int, float]], assembly: Assembly, terms: Kinematics) -> tuple[Conflict, ...]:
    """Return the named conflicts; the six rows of a contact are one."""
    worst: dict[tuple[str, str, str], float] = {}
    for block, index, amount in slack:
        label = assembly.label(terms.model, block, index)
        worst[label] = max(worst.get(label, 0.0), abs(amount))
    return tuple(Conflict(kind, name, amount, unit) for (kind, name, unit), amount in sorted(worst.items()))
