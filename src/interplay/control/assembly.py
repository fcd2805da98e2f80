"""The rows of the integrated QP (35) on one fixed pattern: variables q̈, w (6 per contact), y (residuals of coupled objectives).

Torques are eliminated: τ = M q̈ + N − passive − applied − Jᵀw. On unactuated DOFs that is an equality (τ = 0), on motors with a
limit a two-sided row (28). Everything that varies stands in one source vector; matrices gather their values from it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import sparse

from interplay.constraints.collision import CollisionRows, PairRow
from interplay.constraints.contact import Contact, ContactRows, cone
from interplay.constraints.limits import JointLimits
from interplay.control.cost import Cost
from interplay.objectives.base import Objective
from interplay.qp.problem import QP, Pattern
from interplay.scene.kinematics import Kinematics

Slots = dict[tuple[int, int], int]
"""How many collision rows are set aside for each pair of trees (−1: fixed environment)."""


class Assembly:
    """Builds the pattern for one set of contacts, objectives and collision slots; then fills its values step by step."""

    def __init__(
        self, terms: Kinematics, limits: JointLimits, contacts: list[Contact], objectives: list[Objective], slots: Slots
    ):
        """Lay out variables and rows."""
        m = terms.model
        self.contacts, self.objectives, self.slots, self.limits = contacts, objectives, dict(slots), limits
        self.rows = ContactRows(terms, contacts)
        self.cost = Cost(terms, objectives, contacts)
        self.nv, nc, nr = m.nv, len(contacts), len(self.cost.residual_rate)
        self.n = self.nv + 6 * nc + nr
        self._w, self._y = self.nv, self.nv + 6 * nc
        driven = ~np.isnan(limits.torque)
        self.free_dofs = np.flatnonzero(~driven)
        self.torque_dofs = np.flatnonzero(driven & np.isfinite(limits.torque))
        # The source vector: one, Hessian, mass matrix, contact Jacobians, residual Jacobians, collision rows, costs, cones.
        self._parts: dict[str, slice] = {}
        sizes = {
            "one": 1,
            "hessian": self.cost.hessian.size,
            "mass": terms.M.size,
            "contact": nc * 6 * self.rows.width,
            "residual": sum(j.size for j in self.cost.residual_jacobian.values()),
            "collision": sum(self._width(key, m) * n for key, n in slots.items()),
            "wrench": 6 * nc,
            "weight": nr,
        }
        start = 0
        for name, size in sizes.items():
            self._parts[name] = slice(start, start + size)
            start += size
        cones = {k: cone(c.half, c.friction) for k, c in enumerate(contacts) if c.kind == "planar"}
        self._parts["cone"] = slice(start, start + sum(e.size for e in cones.values()))
        self.source = np.zeros(self._parts["cone"].stop)
        self.source[0] = 1.0
        self.cost.write_into(*(self.source[self._parts[name]] for name in ("hessian", "weight", "residual")))
        self._jacobian = self.source[self._parts["contact"]].reshape(nc, 6, self.rows.width)
        self._wrench_cost = self.source[self._parts["wrench"]].reshape(nc, 6)
        self.P, self._fill_P = self._hessian_pattern(nr)
        self.A, self._fill_A, self.b = self._equalities(terms, nc, nr)
        self.G, self._fill_G = self._inequalities(terms, cones)
        self.c = np.zeros(self.n)
        self.x_l, self.x_u = np.full(self.n, -np.inf), np.full(self.n, np.inf)
        for k, contact in enumerate(contacts):
            if contact.kind == "grasp":
                strength = np.repeat([contact.grip_force, contact.grip_torque], 3)
                self.x_l[self._w + 6 * k : self._w + 6 * k + 6], self.x_u[self._w + 6 * k : self._w + 6 * k + 6] = (
                    -strength,
                    strength,
                )
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
        for i in range(self.nv):  # MuJoCo stores the lower triangle by rows
            adr, count = int(m.M_rowadr[i]), int(m.M_rownnz[i])
            cols = m.M_colind[adr : adr + count]
            source = mass + adr + np.arange(count)
            if row_of[i] >= 0:
                pattern.add(row_of[i], cols, source)
            mirror = (row_of[cols] >= 0) & (cols != i)
            pattern.add(row_of[cols[mirror]], i, source[mirror])
        for k, cols in enumerate(self.rows.columns):
            mine = row_of[cols] >= 0
            source = self._contact_source(k, len(cols))[:, mine]
            pattern.add(row_of[cols[mine]], (self._w + 6 * k + np.arange(6))[:, None], source, -1.0)

    def _contact_source(self, k: int, columns: int) -> np.ndarray:
        width = self.rows.width
        return self._parts["contact"].start + (k * 6 + np.arange(6))[:, None] * width + np.arange(columns)

    def _equalities(
        self, terms: Kinematics, contacts: int, residuals: int
    ) -> tuple[sparse.csc_matrix, Callable[[np.ndarray], None], np.ndarray]:
        pattern = Pattern()
        self._motion_rows(terms, pattern, self.free_dofs)
        row = len(self.free_dofs)
        self.eq_labels: list[tuple[str, str, str]] = [
            ("dynamics", _dof_name(terms.model, int(d)), "") for d in self.free_dofs
        ]
        self.slip_rows = slice(row, row + 6 * contacts)
        for k, cols in enumerate(self.rows.columns):
            pattern.add((row + np.arange(6))[:, None], cols, self._contact_source(k, len(cols)))
            self.eq_labels += [
                ("slip", " – ".join(self.contacts[k].label), unit) for unit in ("m/s²", "rad/s²") for _ in range(3)
            ]
            row += 6
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

    def _inequalities(self, terms: Kinematics, cones: dict[int, np.ndarray]) -> tuple:
        m, pattern = terms.model, Pattern()
        self._motion_rows(terms, pattern, self.torque_dofs)
        row = len(self.torque_dofs)
        self.in_labels: list[tuple[str, str, str]] = [("torque", _dof_name(m, int(d)), "N·m") for d in self.torque_dofs]
        self.torque_rows = slice(0, row)
        at = self._parts["cone"].start
        for k, facets in cones.items():
            pattern.add(
                (row + np.arange(len(facets)))[:, None],
                self._w + 6 * k + np.arange(6),
                at + np.arange(facets.size).reshape(facets.shape),
            )
            self.source[at : at + facets.size] = facets.ravel()
            self.in_labels += [("friction", " – ".join(self.contacts[k].label), "N")] * len(facets)
            row, at = row + len(facets), at + facets.size
        self.cone_rows = slice(self.torque_rows.stop, row)
        at = self._parts["collision"].start
        self._slot_rows: dict[tuple[int, int], list[tuple[int, slice]]] = {}
        self._slot_start: dict[tuple[int, int], dict[int, int]] = {}
        for trees, count in self.slots.items():
            cols, offset, starts = [], 0, {-1: 0}
            for tree in dict.fromkeys(trees):
                if tree >= 0:
                    cols.append(terms.tree_dofs(tree))
                    starts[tree] = offset - int(m.tree_dofadr[tree])
                    offset += len(cols[-1])
            self._slot_start[trees] = starts
            self._slot_rows[trees] = []
            for _ in range(count):
                pattern.add(row, np.concatenate(cols), at + np.arange(offset))
                self._slot_rows[trees].append((row, slice(at, at + offset)))
                self.in_labels.append(("free", "", ""))
                row, at = row + 1, at + offset
        self.h_l, self.h_u = np.full(row, -np.inf), np.full(row, np.inf)
        self.h_l[self.cone_rows] = 0.0
        return pattern.freeze((row, self.n))

    # -- values --------------------------------------------------------------------------------------------------------

    def fill(
        self,
        terms: Kinematics,
        time: float,
        dt: float,
        applied: np.ndarray,
        q_bounds: tuple[np.ndarray, np.ndarray],
        collisions: CollisionRows,
        pairs: list[PairRow],
    ) -> QP:
        """Fill the program for the present state."""
        cost, nv = self.cost, self.nv
        self.source[self._parts["mass"]] = terms.M
        self.rows.update(terms, time, dt, self._jacobian)
        cost.clear()
        for objective in self.objectives:
            objective.add_to(terms, time, cost)
        self._wrench_cost[:] = [c.costs(time) for c in self.contacts] if self.contacts else 0.0
        for k, contact in enumerate(self.contacts):
            if contact.kind == "planar" and contact.min_force > 0:
                self.x_l[self._w + 6 * k + 2] = contact.min_force * contact.load(time)
        self.c[:nv] = cost.gradient
        if self.contacts:
            self._wrench_cost[:, :3] += cost.force_weight
            self.c[self._w : self._y].reshape(-1, 6)[:, :3] = cost.force_gradient
        # M q̈ − Jᵀw = f with f = passive + applied − N on unactuated DOFs, within ±limit of it on motors (12), (28).
        force = terms.qfrc_passive + applied - terms.qfrc_bias
        self.b[: len(self.free_dofs)] = force[self.free_dofs]
        self.b[self.slip_rows] = self.rows.rhs.reshape(-1)
        self.b[self.residual_rows] = -cost.residual_rate
        limit = self.limits.torque[self.torque_dofs]
        self.h_l[self.torque_rows], self.h_u[self.torque_rows] = (
            force[self.torque_dofs] - limit,
            force[self.torque_dofs] + limit,
        )
        self.x_l[:nv], self.x_u[:nv] = q_bounds
        self._fill_collisions(terms, collisions, pairs)
        self._fill_P(self.source)
        self._fill_A(self.source)
        self._fill_G(self.source)
        return self.qp

    def _fill_collisions(self, terms: Kinematics, collisions: CollisionRows, pairs: list[PairRow]) -> None:
        if not self.slots:
            return
        first = self.cone_rows.stop
        self.h_l[first:] = -1.0  # an empty slot is the row 0 ≥ −1
        self.source[self._parts["collision"]] = 0.0
        self.in_labels[first:] = [("free", "", "")] * (len(self.in_labels) - first)
        taken = dict.fromkeys(self.slots, 0)
        for row in pairs:
            p = collisions.pairs[row.pair]
            key = slot_key(p)
            at, part = self._slot_rows[key][taken[key]]
            taken[key] += 1
            start = self._slot_start[key]
            collisions.jacobian(terms, row, (start[p.tree1], start[p.tree2]), self.source[part])
            self.h_l[at] = row.bound
            self.in_labels[at] = ("collision", p.name, "m/s²")


def enough_slots(present: Slots, rows: list[PairRow], collisions: CollisionRows) -> Slots:
    """Return slots into which the rows of all active pairs fit: the present ones, or larger ones with some to spare."""
    count: Slots = {}
    for row in rows:
        key = slot_key(collisions.pairs[row.pair])
        count[key] = count.get(key, 0) + 1
    return present | {key: n + 2 for key, n in count.items() if present.get(key, 0) < n}


def slot_key(pair) -> tuple[int, int]:
    """Return the unordered trees of a pair."""
    return min(pair.tree1, pair.tree2), max(pair.tree1, pair.tree2)


def _dof_name(m, dof: int) -> str:
    joint = m.joint(int(m.dof_jntid[dof]))
    return joint.name or f"dof {dof}"
