"""The rows of the integrated QP (35), filled step by step on the pattern of a :class:`Structure`.

Torques are eliminated: τ = M q̈ + N − passive − applied − Jᵀw. On unactuated DOFs that is an equality (τ = 0), on motors with a
limit a two-sided row (28).
"""

from __future__ import annotations

from collections.abc import Sequence

import numba
import numpy as np

from interplay.constraints.base import Limit, RowBlock
from interplay.constraints.collision import COLLISION, Avoidance, PairRows
from interplay.constraints.contact import Contact, ContactRows
from interplay.constraints.limits import JointLimits, joint_rows
from interplay.constraints.manner import Manner
from interplay.control.cost import REGULARISATION, Cost
from interplay.control.plan import Conflict
from interplay.control.structure import Structure, structure_key
from interplay.control.trees import Trees
from interplay.objectives.base import Objective
from interplay.qp.problem import QP
from interplay.qp.relaxation import Elastic, Slack
from interplay.scene.kinematics import Kinematics

_KEPT = 32
"""Structures that are kept: those of a gait, with its hand-overs."""


class Structures:
    """The structures a scene has needed lately."""

    def __init__(self, terms: Kinematics, limits: JointLimits):
        """Start with none."""
        self.trees = Trees(terms.model, limits.torque)
        self._known: dict[object, Structure] = {}

    def knows(
        self,
        contacts: Sequence[Contact],
        cost: Cost,
        collisions: Avoidance,
        slots: np.ndarray,
        limits: Sequence[Limit],
    ) -> bool:
        """Return whether there is a structure of these contacts, objectives, collision slots and limits."""
        return structure_key(contacts, cost, collisions, slots, limits) in self._known

    def get(
        self,
        contacts: Sequence[Contact],
        rows: ContactRows,
        cost: Cost,
        collisions: Avoidance,
        slots: np.ndarray,
        limits: Sequence[Limit],
    ) -> Structure:
        """Return the structure of these contacts, objectives, slots and limits: one known already, or a new one."""
        key = structure_key(contacts, cost, collisions, slots, limits)
        found = self._known.pop(key, None)
        if found is None:
            found = Structure(self.trees, rows, cost, collisions, slots, limits)
        self._known[key] = found  # the one used last stands last
        if len(self._known) > _KEPT:
            del self._known[next(iter(self._known))]
        return found


class Assembly:
    """The program of one set of contacts, objectives and limits."""

    def __init__(
        self,
        terms: Kinematics,
        structures: Structures,
        contacts: Sequence[Contact],
        objectives: Sequence[Objective],
        collisions: Avoidance,
        slots: np.ndarray,
        torque: np.ndarray,
        limits: Sequence[Limit] = (),
    ):
        """Take what is asked, the collision rows set aside for each group of pairs, the torque limits of all DOFs, other limits."""
        self.contacts, self.objectives, self.collisions, self.limits = contacts, objectives, collisions, limits
        self._model = terms.model
        self.rows = rows = ContactRows(terms, contacts)
        self.cost = Cost(structures.trees, objectives, contacts)
        self.structure = s = structures.get(contacts, rows, self.cost, collisions, slots, limits)
        self.nv, self.n, self.slip_rows, self.residual_rows = s.nv, s.n, s.slip_rows, s.residual_rows
        part = {name: s.source[where] for name, where in s.parts.items()}
        self.cost.write_into(part["hessian"], part["weight"], part["residual"])
        self.jacobian = part["contact"].reshape(len(contacts), 6, rows.width)
        """Jacobians of the contacts (n, 6, width), in contact axes."""
        self._mass, self._wrench_cost, self._pair_rows = part["mass"], part["wrench"], part["collision"]
        self._cones = part["cone"]
        self._cones[:] = np.concatenate([np.zeros(0), *(c.counted_on().ravel() for c in contacts)])
        self._torque = torque[s.torque_dofs]
        self.b, self.c = np.zeros(s.residual_rows.stop), np.zeros(s.n)
        self.h_l, self.h_u = np.full(s.limit_rows.stop, -np.inf), np.full(s.limit_rows.stop, np.inf)
        self.h_l[s.cone_rows] = 0.0
        self.x_l, self.x_u = np.full(s.n, -np.inf), np.full(s.n, np.inf)
        for k, contact in enumerate(contacts):
            if contact.kind == "grasp":
                strength, at = np.repeat([contact.grip_force, contact.grip_torque], 3), s.w + rows.start[k]
                self.x_l[at : at + 6], self.x_u[at : at + 6] = -strength, strength
        pressed = [k for k, c in enumerate(contacts) if c.kind != "grasp" and c.min_force > 0]
        self._pressed = np.array(pressed, np.int64)
        self.pressed = s.w + rows.start[self._pressed] + 2
        """Normal forces with a wished minimum."""
        self.slot_pair = np.full(int(slots.sum()), -1)
        """Pair of shapes in each slot at present, −1: none."""
        self._limit_rows: list[tuple[Limit, slice, np.ndarray]] = []
        """Each limit, its rows, and where its Jacobian stands in the source."""
        row, start = s.limit_rows.start, 0
        for limit in limits:
            size = limit.dim * len(limit.dofs)
            jacobian = part["limit"][start : start + size].reshape(limit.dim, -1)
            self._limit_rows.append((limit, slice(row, row + limit.dim), jacobian))
            row, start = row + limit.dim, start + size
        self.qp = QP(s.P, self.c, s.A, self.b, s.G, self.h_l, self.h_u, self.x_l, self.x_u, s, self._names())

    def _names(self) -> np.ndarray:
        """Return a number for each row of G and each variable's bounds that stays its own while others come and go."""
        s, dofs = self.structure, np.arange(self.structure.nv)
        pairs = [c.first.site * _MANY + c.second.site for c in self.contacts]
        contacts = -1 - np.array(pairs, np.int64)
        return np.concatenate(
            [
                s.torque_dofs * _MANY,
                _numbered(contacts, np.diff(s.facet_start)),
                _numbered(s.nv + np.arange(len(s.slots)), s.slots),
                _numbered(
                    s.nv + len(s.slots) + np.arange(len(self.limits)), np.array([x.dim for x in self.limits], int)
                ),
                dofs * _MANY + 1,
                _numbered(contacts, self.rows.dim) + _MANY // 2,
                np.full(s.n - s.y, -1),
            ]
        )

    # -- values --------------------------------------------------------------------------------------------------------

    def fill(
        self,
        terms: Kinematics,
        time: float,
        dt: float,
        applied: np.ndarray,
        q_bounds: tuple[np.ndarray, np.ndarray],
        pairs: PairRows,
        manner: Manner,
    ) -> QP:
        """Fill the program for the present state."""
        cost, rows, s = self.cost, self.rows, self.structure
        self._mass[:] = terms.M
        rows.update(terms, time, dt, self.jacobian, manner)
        if manner.back > 0.0:
            rows.counted_on(self._cones)
        self.weigh(terms, time, self.objectives)
        self.x_l[self.pressed] = rows.least[self._pressed]
        _right_sides(
            terms.qfrc_passive,
            applied,
            terms.qfrc_bias,
            s.free_dofs,
            s.torque_dofs,
            self._torque,
            rows.rhs,
            cost.residual_rate,
            self.b,
            self.h_l,
            self.h_u,
        )
        self.x_l[: s.nv], self.x_u[: s.nv] = q_bounds
        self._fill_collisions(terms, pairs)
        for limit, at, jacobian in self._limit_rows:
            jacobian[:], self.h_l[at], self.h_u[at] = limit.checked_rows(terms, time, dt)
        s.fill_A(s.source)
        s.fill_G(s.source)
        return self.qp

    def weigh(
        self,
        terms: Kinematics,
        time: float,
        objectives: Sequence[Objective],
        regularisation: float = REGULARISATION,
        scale: float = 1.0,
    ) -> None:
        """Let the cost be that of some of its objectives, to a scale, beside the regularisation and the costs of contact forces."""
        cost, s = self.cost, self.structure
        cost.clear(regularisation / scale)
        for objective in objectives:
            objective.add_to(terms, time, cost)
        if scale != 1.0:
            cost.scale(scale)
        self._wrench_cost[:] = self.rows.cost
        self.c[: s.nv] = cost.gradient
        cost.write_forces(self.rows.start, self._wrench_cost, self.c[s.w : s.y])
        s.fill_P(s.source)

    def add_weight(self, blocks: np.ndarray, single: np.ndarray) -> None:
        """Add to the present cost's Hessian: to the trees' blocks, one after another, and to single wrenches and residuals."""
        self.cost.hessian += blocks
        self._wrench_cost += single[: self.rows.size]
        self.cost.residual_weight += single[self.rows.size :]
        self.structure.fill_P(self.structure.source)

    def _fill_collisions(self, terms: Kinematics, pairs: PairRows) -> None:
        if not len(self.slot_pair):
            return
        s = self.structure
        lower = self.h_l[s.collision_rows]
        lower[:] = -1.0  # an empty slot is the row 0 ≥ −1
        self._pair_rows[:] = 0.0
        group = self.collisions.group[pairs.pair]
        row, start = _take_slots(pairs.pair, group, self.slot_pair, s.slot_row, s.slots, s.slot_start, s.slot_width)
        self.slot_pair[:] = -1
        lower[row], self.slot_pair[row] = pairs.bound, pairs.pair
        self.collisions.jacobian(terms, pairs, start, self._pair_rows)

    # -- what gives way ------------------------------------------------------------------------------------------------

    def row_blocks(self) -> list[RowBlock]:
        """Return the rows of the present program that may give way, each kind as it is declared where its rows are."""
        s, nv = self.structure, self.nv
        first, pairs, in_slot = s.collision_rows.start, self.collisions.pairs, self.slot_pair
        near = first + np.flatnonzero(in_slot >= 0)
        return [
            *self.rows.row_blocks(s.slip_rows.start, s.w, self.pressed),
            RowBlock("G", near, COLLISION, lambda row: pairs[int(in_slot[row - first])].name),
            *joint_rows(self._model, self.x_l[:nv], self.x_u[:nv], s.torque_dofs),
            *(limit.row_block(at.start) for limit, at, _ in self._limit_rows),
        ]

    def relaxable(self) -> list[Slack]:
        """Return the rows that may give way, for ``relax``."""
        return [
            Slack(rows.block, index, rows.gives_way.order, rows.gives_way.cap)
            for rows in self.row_blocks()
            for index in rows.index.tolist()
        ]

    def elastic(self) -> Elastic:
        """Return the same rows, all together and without caps."""
        parts = [(r.block, r.index, np.full(len(r.index), float(r.gives_way.order))) for r in self.row_blocks()]
        blocks = np.repeat([block for block, *_ in parts], [len(index) for _, index, _ in parts])
        index, order = np.concatenate([p[1] for p in parts]), np.concatenate([p[2] for p in parts])
        return Elastic(blocks, index, order, np.full(len(index), np.inf))

    def name_conflicts(self, slack: Sequence[tuple[str, int, float]]) -> tuple[Conflict, ...]:
        """Return the conflicts of rows that gave way ('A', 'G' or 'x', index, by how much); rows of one name are one conflict."""
        amounts = {"A": np.zeros(len(self.b)), "G": np.zeros(len(self.h_l)), "x": np.zeros(self.n)}
        for block, index, amount in slack:
            amounts[block][index] = abs(amount)
        worst: dict[tuple[str, str, str], float] = {}
        for rows in self.row_blocks():
            amount = amounts[rows.block][rows.index]
            gave = np.flatnonzero(amount)
            for index, by in zip(rows.index[gave].tolist(), amount[gave].tolist(), strict=True):
                label = rows.gives_way.kind, rows.name(index), rows.gives_way.unit
                worst[label] = max(worst.get(label, 0.0), by)
        return tuple(Conflict(kind, name, amount, unit) for (kind, name, unit), amount in sorted(worst.items()))


_MANY = 1 << 14
"""More than a scene has sites, and than a contact, a group of pairs or a limit has rows."""


def _numbered(owners: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return numbers for some things of each owner."""
    first = np.cumsum(counts) - counts
    return np.repeat(owners * _MANY - first, counts) + np.arange(int(counts.sum()))


@numba.njit(cache=True)
def _right_sides(passive, applied, bias, free, driven, limit, slip, residual, b, h_l, h_u):
    """Write M q̈ − Jᵀw = f, f = passive + applied − N, on unactuated DOFs, within ±limit of it on motors (12), (28); then (20)."""
    at = free.shape[0]
    for k in range(at):
        b[k] = passive[free[k]] + applied[free[k]] - bias[free[k]]
    for k in range(driven.shape[0]):
        force = passive[driven[k]] + applied[driven[k]] - bias[driven[k]]
        h_l[k], h_u[k] = force - limit[k], force + limit[k]
    for k in range(slip.shape[0]):
        b[at + k] = slip[k]
    for k in range(residual.shape[0]):
        b[at + slip.shape[0] + k] = -residual[k]


@numba.njit(cache=True)
def _take_slots(pair, group, before, slot_row, slots, slot_start, slot_width):
    """Return the row and the place in the source of each pair row, among those of its group.

    A pair keeps the rows it had before: the solver's first guess is which rows held.
    """
    taken = np.zeros(before.shape[0], np.int64)
    row, start = np.empty(pair.shape[0], np.int64), np.empty(pair.shape[0], np.int64)
    for n in range(pair.shape[0]):
        row[n] = -1
    for wanted in range(3):  # its own, then empty ones, then any
        for n in range(pair.shape[0]):
            g = group[n]
            for r in range(slot_row[g], slot_row[g] + slots[g]):
                if row[n] >= 0:
                    break
                if taken[r] == 0 and (wanted == 2 or before[r] == (pair[n] if wanted == 0 else -1)):
                    row[n], taken[r] = r, 1
    for n in range(pair.shape[0]):
        g = group[n]
        start[n] = slot_start[g] + (row[n] - slot_row[g]) * slot_width[g]
    return row, start
