"""Programs: the quadratic program (35) of a state and demands, laid out once for each pattern and filled step by step."""

from __future__ import annotations

import time as clock
from typing import NamedTuple

import mujoco
import numba
import numpy as np

from interplay.constraints.collision import ActivePairs, Avoidance, PairRows
from interplay.constraints.limits import JointLimits
from interplay.constraints.manner import EXACT, Manner
from interplay.control.assembly import Assembly, Structures
from interplay.control.controller import Demands
from interplay.control.cost import Cost
from interplay.control.perception import Perception
from interplay.control.plan import ACCELERATION_QUANTUM, FORCE_QUANTUM, Conflict, Plan, Proof, Timing, rounded
from interplay.control.state import Memory, State, check_state
from interplay.errors import InputError, SolverError, number
from interplay.qp.problem import QP, QPSolution
from interplay.scene.ground import Ground
from interplay.scene.kinematics import Kinematics
from interplay.scene.scene import Scene

_UNLIMITED = 1e7
"""A torque [N·m] that bounds nothing."""


class Program(NamedTuple):
    """The program of one state, on arrays that the next one overwrites."""

    qp: QP
    assembly: Assembly
    memory: Memory
    """What is kept for the next step."""
    assemble_seconds: float


class Programs:
    """Lays out the programs of one scene; what it remembers (patterns, terms of the last state) only saves time."""

    def __init__(self, scene: Scene, dt: float, manner: Manner = EXACT):
        """Take the scene, the control step [s] and how firmly its world may be asked."""
        self.scene, self.manner = scene, manner
        self.dt = number("dt", dt, 1e-5, 0.2, "s")
        _refuse_stiff(scene.model, self.dt)
        self.terms = Kinematics(scene.model)
        self.limits = JointLimits.of(scene.model)
        self._ground = Ground(scene.model)
        self.assembly: Assembly | None = None
        """Of the last program."""
        self.model_seconds = 0.0
        self._at: State | None = None
        self._structures = Structures(self.terms, self.limits)
        self._slots: dict[tuple[int, int], int] = {}
        """Collision rows set aside for each pair of trees."""
        self._demanded = Demands()
        self._perception = Perception(scene, self._demanded.late)
        self._pairs: Avoidance = self._perception.pairs(self.terms, ())
        self._foreseen: tuple | None = None
        """The contacts to come that have been laid out already."""
        self._lower, self._upper = np.zeros(scene.model.nv), np.zeros(scene.model.nv)

    def initial_state(self) -> State:
        """Return the scene's initial state, at rest."""
        still, limits = np.zeros(self.scene.model.nv), np.zeros((2, len(self.limits.dof)))
        return State(0.0, self.scene.qpos, still, still, Memory(limits, ActivePairs.none()))

    def at(self, state: State) -> Kinematics:
        """Return the terms at a state; a state is never changed, so those of its configuration and velocity are computed once."""
        last = self._at
        if state is not last:
            begin = clock.perf_counter()
            check_state(self.scene.model, state)
            if last is None or state.qpos is not last.qpos or state.qvel is not last.qvel:
                self.terms.update(state.qpos, state.qvel)
                self.model_seconds = clock.perf_counter() - begin
            self._at = state
        return self.terms

    def of(self, state: State, demands: Demands) -> Program:
        """Return the program of a state and demands."""
        terms, begin = self.at(state), clock.perf_counter()
        rows, active = self.near(state, demands)
        limits = state.memory.limits.copy()
        self.limits.bounds(state.qpos, state.qvel, self.dt, limits, self._lower, self._upper, self.manner.braking)
        assembly = self._assembly_for(demands, rows)
        assembly.cost.ceded_acceleration = demands.ceded_acceleration
        if demands.unled is not None:
            self._lower[demands.unled], self._upper[demands.unled] = -np.inf, np.inf
        qp = assembly.fill(terms, state.time, self.dt, state.applied, (self._lower, self._upper), rows, self.manner)
        if demands.unled is not None:
            unled = np.zeros(assembly.nv, bool)
            unled[demands.unled] = True
            unasked = np.flatnonzero(unled[assembly.structure.torque_dofs])
            qp.h_l[unasked], qp.h_u[unasked] = -_UNLIMITED, _UNLIMITED
        self._refuse_nan(qp, assembly, state)
        memory = Memory(limits, active, self._perception.remember(state))
        return Program(qp, assembly, memory, clock.perf_counter() - begin)

    def near(self, state: State, demands: Demands) -> tuple[PairRows, ActivePairs]:
        """Return the rows of the pairs that matter at a state, and the pairs that stay active."""
        terms, last = self.at(state), self._demanded
        if demands.pairs is not last.pairs or demands.late is not last.late:
            if demands.late is not last.late:
                self._perception = Perception(self.scene, demands.late)
            self._pairs, self.assembly = self._perception.pairs(terms, demands.pairs), None
            self._demanded = last._replace(pairs=demands.pairs, late=demands.late)
        self._perception.look(state)
        return self._pairs.update(terms, self.dt, state.memory.pairs, demands.contacts)

    def ahead(self, demands: Demands) -> QP | None:
        """Return a program on the pattern that the contacts to come will need, if it is a new one and was not asked for yet."""
        contacts, now = demands.coming, self.assembly
        if contacts is None or contacts is self._foreseen or now is None:
            return None
        self._foreseen, slots = contacts, now.structure.slots
        cost = Cost(self._structures.trees, now.objectives, contacts)
        if self._structures.knows(contacts, cost, self._pairs, slots, now.limits):
            return None
        motors = self.limits.torque
        ahead = Assembly(self.terms, self._structures, contacts, now.objectives, self._pairs, slots, motors, now.limits)
        ahead.x_l[: now.nv], ahead.x_u[: now.nv] = self._lower, self._upper
        ahead.x_l[ahead.pressed] = 0.0
        return ahead.qp

    def forget(self) -> None:
        """Lay the next program out as if it were the first; patterns stay, which change no program."""
        self.assembly = None
        self._slots.clear()

    def size(self) -> dict[str, int]:
        """Return the numbers of variables and rows of the last program."""
        a = self.assembly
        if a is None:
            return {"vars": 0, "eq": 0, "ineq": 0}
        return {"vars": a.n, "eq": len(a.b), "ineq": len(a.h_l) + 2 * self.scene.model.nv}

    def plan(
        self, program: Program, found: QPSolution, state: State, conflicts: tuple[Conflict, ...], solve_seconds: float
    ) -> Plan:
        """Return a solution of a program as a plan; its torques follow from the equation of motion (12)."""
        terms, assembly = self.terms, program.assembly
        nv, rows = assembly.nv, assembly.rows
        qacc = rounded(found.x[:nv], ACCELERATION_QUANTUM)
        unknowns = rounded(found.x[nv : nv + rows.size], FORCE_QUANTUM)
        wrenches, _, contact = rows.forces(terms, unknowns, assembly.jacobian)
        tau = terms.mass_times(qacc)
        _subtract(tau, terms.qfrc_bias, terms.qfrc_passive, state.applied, contact, assembly.structure.free_dofs)
        return Plan(
            qacc,
            rounded(tau, FORCE_QUANTUM),
            tuple(assembly.contacts),
            wrenches,
            contact,
            rows.drift.copy(),
            *rows.opening(),
            conflicts,
            program.memory,
            Proof(found.status, found.iterations, found.primal_residual, found.dual_residual, found.gap),
            Timing(self.model_seconds, program.assemble_seconds, solve_seconds),
            self._ground.depth(terms, assembly.contacts, self.dt, terms.qvel + self.dt * qacc),
        )

    def _assembly_for(self, demands: Demands, rows: PairRows) -> Assembly:
        """Return the assembly of the present demands: the last one, unless they have changed or more pairs came near."""
        present, last = self.assembly, self._demanded
        grown = self._grow_slots(rows)
        changed = (
            demands.contacts is not last.contacts
            or demands.objectives != last.objectives
            or demands.limits != last.limits
        )
        if present is None or changed or grown:
            for demand in (*demands.objectives, *demands.limits):
                demand.attach(self.scene)
            for objective in demands.objectives:
                if self.dt >= objective.longest_dt:
                    raise InputError(
                        f"dt: {self.dt:g} s is too long for {objective.label!r} (stiffness {objective.stiffness:g} 1/s²): it would "
                        f"swing up instead of settling; expected less than {objective.longest_dt:.3g} s, or less stiffness"
                    )
            slots = np.array([self._slots.get(trees, 0) for trees in self._pairs.groups], np.int64)
            objectives = self._perception.objectives(self.terms, demands.objectives)
            present = Assembly(
                self.terms,
                self._structures,
                demands.contacts,
                objectives,
                self._pairs,
                slots,
                self.limits.torque,
                demands.limits,
            )
            self.assembly = present
        self._demanded = demands
        return present

    def _grow_slots(self, rows: PairRows) -> bool:
        """Set more collision rows aside, some to spare, if those that are do not suffice; return whether that was so."""
        if not len(rows.pair):
            return False
        present = self.assembly.structure.slots if self.assembly else np.zeros(len(self._pairs.groups), np.int64)
        if _suffice(present, self._pairs.group, rows.pair):
            return False
        need = np.bincount(self._pairs.group[rows.pair], minlength=len(present))
        short = np.flatnonzero(need > present)
        for group in short.tolist():
            trees = self._pairs.groups[group]
            self._slots[trees] = max(self._slots.get(trees, 0), 2 * int(need[group]) + 2)
        return True

    def _refuse_nan(self, qp: QP, assembly: Assembly, state: State) -> None:
        """Raise when the program holds a number that is not finite (or a bound that is NaN), and name the objective if it is one."""
        if _finite(qp.P.data, qp.c, qp.A.data, qp.b, qp.G.data, qp.h_l, qp.h_u, qp.x_l, qp.x_u):
            return
        culprits = [o.label for o in assembly.objectives if not np.isfinite(o.error(self.terms, state.time)).all()]
        blame = f" (objective {', '.join(culprits)})" if culprits else ""
        raise SolverError(f"the program at t = {state.time:.4f} s holds a number that is not finite{blame}")


@numba.njit(cache=True)
def _subtract(tau, bias, passive, applied, contact, free):
    """Take all that is not a motor's from M q̈ (12); free DOFs have no motor."""
    for i in range(tau.shape[0]):
        tau[i] += bias[i] - passive[i] - applied[i] - contact[i]
    for i in free:
        tau[i] = 0.0


@numba.njit(cache=True)
def _suffice(slots, group, pairs):
    """Return whether the slots of each group are enough for its pairs."""
    left = slots.copy()
    for k in pairs:
        left[group[k]] -= 1
    return left.min() >= 0


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
