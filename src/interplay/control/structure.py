"""The pattern of a program: which variables and rows it has, and where its matrices take their values from.

Variables: q̈, w (6 per contact, 3 of a point), y (residuals of coupled objectives). It depends on which bodies are in contact and
in which way, on which trees objectives couple, and on how many collision rows are set aside; not on where contacts are, nor on
what objectives want. A motion comes back to few patterns, so they are kept.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numba
import numpy as np

from interplay.constraints.collision import Avoidance
from interplay.constraints.contact import Contact, ContactRows
from interplay.constraints.limits import JointLimits
from interplay.control.cost import Cost
from interplay.qp.problem import Pattern
from interplay.scene.kinematics import Kinematics


class Structure:
    """Variables, rows and sparse matrices of one pattern; everything that varies stands in one source vector."""

    def __init__(
        self,
        terms: Kinematics,
        limits: JointLimits,
        rows: ContactRows,
        cost: Cost,
        collisions: Avoidance,
        slots: np.ndarray,
    ):
        """Lay out variables and rows; ``slots`` says how many collision rows are set aside for each group of pairs."""
        residuals, widths = len(cost.residual_rate), np.array([len(d) for d in collisions.dofs], np.int64)
        self.nv, self.slots = terms.model.nv, slots
        self.w, self.y = self.nv, self.nv + rows.size
        """First of the wrenches, first of the residuals."""
        self.n = self.y + residuals
        driven = ~np.isnan(limits.torque)
        self.free_dofs = np.flatnonzero(~driven)
        self.torque_dofs = np.flatnonzero(driven & np.isfinite(limits.torque))
        facets = np.array([_FACETS.get(c.kind, 16) for c in rows.contacts], np.int64)
        self.parts: dict[str, slice] = {}
        """Parts of the source vector."""
        sizes = {
            "one": 1,
            "hessian": int(cost.block[-1]),
            "mass": terms.M.size,
            "contact": len(rows.contacts) * 6 * rows.width,
            "residual": sum(o.dim * len(o.dofs) for o in cost.coupled),
            "collision": int(slots @ widths),
            "wrench": rows.size,
            "weight": residuals,
            "cone": int(facets @ rows.dim),
        }
        start = 0
        for name, size in sizes.items():
            self.parts[name] = slice(start, start + size)
            start += size
        self.source = np.zeros(start)
        self.source[0] = 1.0
        # Rows of A: dynamics of unactuated DOFs, no-slip, residuals; of G: torques, friction, collisions.
        free, driven_rows, cones = len(self.free_dofs), len(self.torque_dofs), int(facets.sum())
        self.slip_rows = slice(free, free + rows.size)
        self.residual_rows = slice(self.slip_rows.stop, self.slip_rows.stop + residuals)
        self.torque_rows = slice(0, driven_rows)
        self.cone_rows = slice(driven_rows, driven_rows + cones)
        self.facet_start = np.concatenate([[0], np.cumsum(facets)])
        """First facet of each contact among the friction rows; last, their number."""
        self.collision_rows = slice(self.cone_rows.stop, self.cone_rows.stop + int(slots.sum()))
        self.slot_row = np.concatenate([[0], np.cumsum(slots)])[:-1]
        self.slot_width = widths
        self.slot_start = np.concatenate([[0], np.cumsum(slots * widths)])[:-1]
        """Of each group: its first collision row, their length, and where they begin in their part of the source."""
        mass, forces = self._mass_entries(terms), rows.entries()
        self.P, self.fill_P = self._hessian(cost)
        self.A, self.fill_A = self._equalities(cost, mass, forces)
        self.G, self.fill_G = self._inequalities(rows, facets, collisions, mass, forces)

    def _mass_entries(self, terms: Kinematics) -> _Entries:
        """Return row, column and source of all entries of M; MuJoCo stores the lower triangle by rows, one after another."""
        m, first = terms.model, self.parts["mass"].start
        i, j = np.repeat(np.arange(self.nv), m.M_rownnz), m.M_colind.astype(np.int64)
        source, mirrored = np.arange(first, first + len(j)), np.flatnonzero(i != j)
        return (
            np.concatenate([i, j[mirrored]]),
            np.concatenate([j, i[mirrored]]),
            np.concatenate([source, source[mirrored]]),
        )

    def _hessian(self, cost: Cost) -> tuple:
        pattern, first = Pattern(), self.parts["hessian"].start
        for tree, (start, size) in enumerate(zip(cost.tree_start.tolist(), cost.tree_size.tolist(), strict=True)):
            if cost.dense[tree]:
                i, j = np.triu_indices(size)
                pattern.add(start + i, start + j, first + int(cost.block[tree]) + i * size + j)
            else:
                i = np.arange(start, start + size)
                pattern.add(i, i, first + cost.diagonal[i])
        for begin, end, name in ((self.w, self.y, "wrench"), (self.y, self.n, "weight")):
            i = np.arange(begin, end)
            pattern.add(i, i, i + (self.parts[name].start - begin))
        return pattern.freeze((self.n, self.n))

    def _motion_rows(self, pattern: Pattern, dofs: np.ndarray, mass: _Entries, forces: _Entries) -> None:
        """Add rows M q̈ − Jᵀw of the given DOFs, in order from row 0."""
        row_of = np.full(self.nv, -1)
        row_of[dofs] = np.arange(len(dofs))
        for sign, (dof, variable, source) in (
            (1.0, mass),
            (-1.0, (forces[1], self.w + forces[0], self.parts["contact"].start + forces[2])),
        ):
            rows = row_of[dof]
            mine = np.flatnonzero(rows >= 0)
            pattern.add(rows[mine], variable[mine], source[mine], sign)

    def _equalities(self, cost: Cost, mass: _Entries, forces: _Entries) -> tuple:
        pattern = Pattern()
        self._motion_rows(pattern, self.free_dofs, mass, forces)
        unknown, dof, place = forces
        pattern.add(self.slip_rows.start + unknown, dof, self.parts["contact"].start + place)
        row, source = self.residual_rows.start, self.parts["residual"].start
        for objective in cost.coupled:
            pattern.add_block(np.arange(row, row + objective.dim), objective.dofs, source)
            row, source = row + objective.dim, source + objective.dim * len(objective.dofs)
        y = np.arange(self.y, self.n)
        pattern.add(self.residual_rows.start + y - self.y, y, np.zeros_like(y), -1.0)
        return pattern.freeze((self.residual_rows.stop, self.n))

    def _inequalities(
        self, rows: ContactRows, facets: np.ndarray, collisions: Avoidance, mass: _Entries, forces: _Entries
    ) -> tuple:
        pattern = Pattern()
        self._motion_rows(pattern, self.torque_dofs, mass, forces)
        facet, unknown = _cone_entries(facets, rows.dim, rows.start)
        cone = self.parts["cone"]
        pattern.add(self.cone_rows.start + facet, self.w + unknown, np.arange(cone.start, cone.stop))
        # A group's rows reach over all DOFs of its two trees, so that any pair of them fits.
        for g, dofs in enumerate(collisions.dofs):
            first = self.collision_rows.start + int(self.slot_row[g])
            source = self.parts["collision"].start + int(self.slot_start[g])
            pattern.add_block(np.arange(first, first + int(self.slots[g])), dofs, source)
        return pattern.freeze((self.collision_rows.stop, self.n))


_Entries = tuple[np.ndarray, np.ndarray, np.ndarray]

_FACETS = {"grasp": 0, "point": 4}
"""Facets of a contact's cone; a patch has 16."""


def structure_key(contacts: Sequence[Contact], cost: Cost, collisions: Avoidance, slots: np.ndarray) -> Hashable:
    """Return what a structure depends on within one scene."""
    touching = tuple((c.first.body, c.second.body, c.kind, c.min_force > 0) for c in contacts)
    return touching, cost.key, tuple(collisions.groups), slots.tobytes()


@numba.njit(cache=True)
def _cone_entries(facets, dim, start):
    """Return facet and unknown of each entry of the contacts' cones."""
    total = 0
    for k in range(dim.shape[0]):
        total += facets[k] * dim[k]
    facet, unknown, at, row = np.empty(total, np.int64), np.empty(total, np.int64), 0, 0
    for k in range(dim.shape[0]):
        for _ in range(facets[k]):
            for r in range(dim[k]):
                facet[at], unknown[at] = row, start[k] + r
                at += 1
            row += 1
    return facet, unknown
