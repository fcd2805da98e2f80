"""The rows of the integrated QP (35) on one fixed pattern: variables q̈, w (6 per contact, 3 of a point), y (residuals of coupled objectives).

Torques are eliminated: τ = M q̈ + N − passive − applied − Jᵀw. On unactuated DOFs that is an equality (τ = 0), on motors with a
limit a two-sided row (28). Everything that varies stands in one source vector; matrices gather their values from it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numba
import numpy as np
from scipy import sparse

from interplay.constraints.collision import Avoidance, PairRows
from interplay.constraints.contact import Contact, ContactRows
from interplay.constraints.limits import JointLimits
from interplay.control.cost import Cost
from interplay.objectives.base import Objective
from interplay.qp.problem import QP, Pattern
from interplay.scene.kinematics import Kinematics


class Assembly:
    """Builds the pattern for one set of contacts, objectives and collision slots; then fills its values step by step."""

    def __init__(
        self,
        terms: Kinematics,
        limits: JointLimits,
        contacts: Sequence[Contact],
        objectives: Sequence[Objective],
        collisions: Avoidance,
        slots: np.ndarray,
    ):
        """Lay out variables and rows; ``slots`` says how many collision rows are set aside for each group of pairs."""
        m = terms.model
        self.contacts, self.objectives, self.slots = contacts, objectives, slots
        self.rows = rows = ContactRows(terms, contacts)
        self.cost = Cost(terms, objectives, contacts)
        self.nv, nc, nr = m.nv, len(contacts), len(self.cost.residual_rate)
        self.n = self.nv + rows.size + nr
        self._w, self._y = self.nv, self.nv + rows.size
        driven = ~np.isnan(limits.torque)
        self.free_dofs = np.flatnonzero(~driven)
        self.torque_dofs = np.flatnonzero(driven & np.isfinite(limits.torque))
        self._torque = limits.torque[self.torque_dofs]
        # The source vector: one, Hessian, mass matrix, contact Jacobians, residual Jacobians, collision rows, costs, cones.
        self._parts: dict[str, slice] = {}
        cones = {k: c.cone() for k, c in enumerate(contacts) if c.kind != "grasp"}
        sizes = {
            "one": 1,
            "hessian": self.cost.hessian.size,
            "mass": terms.M.size,
            "contact": nc * 6 * rows.width,
            "residual": sum(j.size for j in self.cost.residual_jacobian.values()),
            "collision": sum(self._width(key, m) * int(n) for key, n in zip(collisions.groups, slots, strict=True)),
            "wrench": rows.size,
            "weight": nr,
            "cone": sum(e.size for e in cones.values()),
        }
        start = 0
        for name, size in sizes.items():
            self._parts[name] = slice(start, start + size)
            start += size
        self.source = np.zeros(start)
        self.source[0] = 1.0
        self.cost.write_into(*(self.source[self._parts[name]] for name in ("hessian", "weight", "residual")))
        self.jacobian = self.source[self._parts["contact"]].reshape(nc, 6, rows.width)
        """Jacobians of the contacts (n, 6, width), in contact axes."""
        self._mass, self._wrench_cost = self.source[self._parts["mass"]], self.source[self._parts["wrench"]]
        self.P, self._fill_P = self._hessian_pattern(nr)
        self.A, self._fill_A, self.b = self._equalities(terms, nr)
        self.G, self._fill_G = self._inequalities(terms, cones, collisions)
        self.c = np.zeros(self.n)
        self.x_l, self.x_u = np.full(self.n, -np.inf), np.full(self.n, np.inf)
        pressed = [k for k, c in enumerate(contacts) if c.kind != "grasp" and c.min_force > 0]
        self._pressed = np.array(pressed, np.int64)
        self.pressed = self._w + rows.start[self._pressed] + 2
        """Normal forces with a wished minimum."""
        for k, contact in enumerate(contacts):
            if contact.kind == "grasp":
                strength, at = np.repeat([contact.grip_force, contact.grip_torque], 3), self._w + rows.start[k]
                self.x_l[at : at + 6], self.x_u[at : at + 6] = -strength, strength
        self.qp = QP(self.P, self.c, self.A, self.b, self.G, self.h_l, self.h_u, self.x_l, self.x_u, self)

    # -- layout --------------------------------------------------------------------------------------------------------

    @staticmethod
    def _width(trees: tuple[int, int], m) -> int:
        return sum(int(m.tree_dofnum[t]) for t in dict.fromkeys(trees) if t >= 0)

    def _hessian_pattern(self, residuals: int) -> tuple:
        pattern, cost, base = Pattern(), self.cost, self._parts["hessian"].start
        for tree, used in cost.used.items():
            i, j = np.nonzero(np.triu(used | used.T))
            start = int(cost.tree_start[tree])
            pattern.add(start + i, start + j, base + cost.block[tree] + i * cost.tree_size[tree] + j)
        w = np.arange(self._w, self._y)
        pattern.add(w, w, self._parts["wrench"].start + np.arange(len(w)))
        y = np.arange(self._y, self._y + residuals)
        pattern.add(y, y, self._parts["weight"].start + np.arange(residuals))
        return pattern.freeze((self.n, self.n))

    def _motion_rows(self, terms: Kinematics, pattern: Pattern, dofs: np.ndarray) -> None:
        """Add rows M q̈ − Jᵀw of the given DOFs, in order from row 0."""
        m, mass = terms.model, self._parts["mass"].start
        row_of = np.full(self.nv, -1)
        row_of[dofs] = np.arange(len(dofs))
        # MuJoCo stores the lower triangle by rows, one after another.
        i, j, source = np.repeat(np.arange(self.nv), m.M_rownnz), m.M_colind, mass + np.arange(len(m.M_colind))
        below, above = row_of[i] >= 0, (row_of[j] >= 0) & (i != j)
        pattern.add(row_of[i[below]], j[below], source[below])
        pattern.add(row_of[j[above]], i[above], source[above])
        for k, cols in enumerate(self.rows.columns):
            mine = row_of[cols] >= 0
            source = self._contact_source(k, len(cols))[:, mine]
            pattern.add(row_of[cols[mine]], self._unknowns(k)[:, None], source, -1.0)

    def _unknowns(self, k: int) -> np.ndarray:
        """Return the variables of contact k."""
        return self._w + np.arange(self.rows.start[k], self.rows.start[k + 1])

    def _contact_source(self, k: int, columns: int) -> np.ndarray:
        width = self.rows.width
        return (
            self._parts["contact"].start + (k * 6 + np.arange(self.rows.dim[k]))[:, None] * width + np.arange(columns)
        )

    def _equalities(
        self, terms: Kinematics, residuals: int
    ) -> tuple[sparse.csc_matrix, Callable[[np.ndarray], None], np.ndarray]:
        pattern = Pattern()
        self._motion_rows(terms, pattern, self.free_dofs)
        row = len(self.free_dofs)
        self.eq_labels: list[tuple[str, str, str]] = [
            ("dynamics", _dof_name(terms.model, int(d)), "") for d in self.free_dofs
        ]
        self.slip_rows = slice(row, row + self.rows.size)
        for k, cols in enumerate(self.rows.columns):
            dim, name = int(self.rows.dim[k]), " – ".join(self.contacts[k].label)
            pattern.add((row + np.arange(dim))[:, None], cols, self._contact_source(k, len(cols)))
            self.eq_labels += [("slip", name, "m/s²" if r < 3 else "rad/s²") for r in range(dim)]
            row += dim
        self.residual_rows = slice(row, row + residuals)
        source, y = self._parts["residual"].start, self._y
        for objective in self.cost.coupled:
            dim, n = objective.dim, len(objective.dofs)
            pattern.add((row + np.arange(dim))[:, None], objective.dofs, source + np.arange(dim * n).reshape(dim, n))
            pattern.add(row + np.arange(dim), y + np.arange(dim), 0, -1.0)
            self.eq_labels += [("residual", objective.name, "")] * dim
            row, y, source = row + dim, y + dim, source + dim * n
        matrix, gather = pattern.freeze((row, self.n))
        return matrix, gather, np.zeros(row)

    def _inequalities(self, terms: Kinematics, cones: dict[int, np.ndarray], collisions: Avoidance) -> tuple:
        pattern = Pattern()
        self._motion_rows(terms, pattern, self.torque_dofs)
        row = len(self.torque_dofs)
        self.in_labels: list[tuple[str, str, str]] = [
            ("torque", _dof_name(terms.model, int(d)), "N·m") for d in self.torque_dofs
        ]
        self.torque_rows = slice(0, row)
        at = self._parts["cone"].start
        for k, facets in cones.items():
            pattern.add(
                (row + np.arange(len(facets)))[:, None],
                self._unknowns(k),
                at + np.arange(facets.size).reshape(facets.shape),
            )
            self.source[at : at + facets.size] = facets.ravel()
            self.in_labels += [("friction", " – ".join(self.contacts[k].label), "N")] * len(facets)
            row, at = row + len(facets), at + facets.size
        self.collision_rows = slice(row, row + int(self.slots.sum()))
        self._collision_slots(terms, pattern, collisions)
        row = self.collision_rows.stop
        self.h_l, self.h_u = np.full(row, -np.inf), np.full(row, np.inf)
        self.h_l[self.torque_rows.stop :] = 0.0
        return pattern.freeze((row, self.n))

    def _collision_slots(self, terms: Kinematics, pattern: Pattern, collisions: Avoidance) -> None:
        """Set rows aside for each group of pairs: over all DOFs of its two trees, so that any pair of them fits."""
        m, row, at = terms.model, self.collision_rows.start, 0
        self._collisions = collisions
        self._slot_row = np.zeros(len(self.slots), np.int64)
        self._slot_start, self._slot_width = np.zeros_like(self._slot_row), np.zeros_like(self._slot_row)
        self._offsets = np.zeros((len(collisions.pairs), 2), np.int64)
        self.slot_pair = np.full(int(self.slots.sum()), -1)
        """Pair of shapes in each slot at present, −1: none."""
        first = self._parts["collision"].start
        for g, trees in enumerate(collisions.groups):
            begin, offset = {-1: 0}, 0
            for tree in dict.fromkeys(trees):
                if tree >= 0:
                    begin[tree] = offset - int(m.tree_dofadr[tree])
                    offset += int(m.tree_dofnum[tree])
            for k in np.flatnonzero(collisions.group == g):
                self._offsets[k] = begin[collisions.pairs[k].tree1], begin[collisions.pairs[k].tree2]
            self._slot_row[g], self._slot_start[g], self._slot_width[g] = row - self.collision_rows.start, at, offset
            columns = np.concatenate([terms.tree_dofs(t) for t in dict.fromkeys(trees) if t >= 0])
            for _ in range(int(self.slots[g])):
                pattern.add(row, columns, first + at + np.arange(offset))
                row, at = row + 1, at + offset

    # -- values --------------------------------------------------------------------------------------------------------

    def fill(
        self,
        terms: Kinematics,
        time: float,
        dt: float,
        applied: np.ndarray,
        q_bounds: tuple[np.ndarray, np.ndarray],
        pairs: PairRows,
    ) -> QP:
        """Fill the program for the present state."""
        cost, rows, nv = self.cost, self.rows, self.nv
        self._mass[:] = terms.M
        rows.update(terms, time, dt, self.jacobian)
        cost.clear()
        for objective in self.objectives:
            objective.add_to(terms, time, cost)
        self._wrench_cost[:] = rows.cost
        self.c[:nv] = cost.gradient
        if cost.forces:
            cost.write_forces(rows.start, self._wrench_cost, self.c[self._w : self._y])
        self.x_l[self.pressed] = rows.least[self._pressed]
        # M q̈ − Jᵀw = f with f = passive + applied − N on unactuated DOFs, within ±limit of it on motors (12), (28).
        force = terms.qfrc_passive + applied - terms.qfrc_bias
        self.b[: len(self.free_dofs)] = force[self.free_dofs]
        self.b[self.slip_rows] = rows.rhs
        self.b[self.residual_rows] = -cost.residual_rate
        driven = force[self.torque_dofs]
        self.h_l[self.torque_rows], self.h_u[self.torque_rows] = driven - self._torque, driven + self._torque
        self.x_l[:nv], self.x_u[:nv] = q_bounds
        self._fill_collisions(terms, pairs)
        self._fill_P(self.source)
        self._fill_A(self.source)
        self._fill_G(self.source)
        return self.qp

    def _fill_collisions(self, terms: Kinematics, pairs: PairRows) -> None:
        if not len(self.slot_pair):
            return
        lower, source = self.h_l[self.collision_rows], self.source[self._parts["collision"]]
        lower[:] = -1.0  # an empty slot is the row 0 ≥ −1
        source[:] = 0.0
        self.slot_pair[:] = -1
        row, start = _take_slots(self._collisions.group[pairs.pair], self._slot_row, self._slot_start, self._slot_width)
        lower[row], self.slot_pair[row] = pairs.bound, pairs.pair
        self._collisions.jacobian(terms, pairs, self._offsets, start, source)

    def label(self, block: str, index: int) -> tuple[str, str, str]:
        """Return kind, name and unit of a row of A or G."""
        if block == "A":
            return self.eq_labels[index]
        if index < self.collision_rows.start:
            return self.in_labels[index]
        return "collision", self._collisions.pairs[self.slot_pair[index - self.collision_rows.start]].name, "m/s²"


def enough_slots(present: np.ndarray, pairs: PairRows, collisions: Avoidance) -> np.ndarray:
    """Return slots into which all rows fit: the present ones, or larger ones with some to spare."""
    need = np.bincount(collisions.group[pairs.pair], minlength=len(collisions.groups))
    return present if (need <= present).all() else np.where(need > present, need + 2, present)


@numba.njit(cache=True)
def _take_slots(group, slot_row, slot_start, slot_width):
    """Return the row and the place in the source of each pair row: those of its group, one after another."""
    taken = np.zeros(slot_row.shape[0], np.int64)
    row, start = np.empty(group.shape[0], np.int64), np.empty(group.shape[0], np.int64)
    for n in range(group.shape[0]):
        g = group[n]
        row[n], start[n] = slot_row[g] + taken[g], slot_start[g] + taken[g] * slot_width[g]
        taken[g] += 1
    return row, start


def _dof_name(m, dof: int) -> str:
    joint = m.joint(int(m.dof_jntid[dof]))
    return joint.name or f"dof {dof}"
