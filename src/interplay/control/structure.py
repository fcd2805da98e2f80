"""The pattern of a program: which variables and rows it has, and where its matrices take their values from.

Variables: q̈, w (6 per contact, 3 of a point), y (residuals of coupled objectives). It depends on which bodies are in contact and
in which way, on which trees objectives couple, on which DOFs limits concern, and on how many collision rows are set aside; not on
where contacts are, nor on what objectives want. A motion comes back to few patterns, so they are kept.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from interplay.constraints.base import Limit
from interplay.constraints.collision import Avoidance
from interplay.constraints.contact import Contact, ContactRows
from interplay.control.cost import Cost
from interplay.control.trees import Trees
from interplay.qp.problem import Entries, Pattern, gathered


class Structure:
    """Variables, rows and sparse matrices of one pattern; everything that varies stands in one source vector."""

    def __init__(
        self,
        trees: Trees,
        rows: ContactRows,
        cost: Cost,
        collisions: Avoidance,
        slots: np.ndarray,
        limits: Sequence[Limit],
    ):
        """Lay out variables and rows; ``slots`` says how many collision rows are set aside for each group of pairs."""
        residuals, widths = len(cost.residual_rate), np.array([len(d) for d in collisions.dofs], np.int64)
        self.trees, self.nv, self.slots = trees, trees.nv, slots
        self.w, self.y = self.nv, self.nv + rows.size
        """First of the wrenches, first of the residuals."""
        self.n = self.y + residuals
        self.free_dofs, self.torque_dofs = trees.free_dofs, trees.torque_dofs
        facets = np.array([c.facets for c in rows.contacts], np.int64)
        self.parts: dict[str, slice] = {}
        """Parts of the source vector."""
        sizes = {
            "one": 1,
            "hessian": int(trees.block[-1]),
            "mass": trees.mass_size,
            "contact": len(rows.contacts) * 6 * rows.width,
            "residual": sum(o.dim * len(o.dofs) for o in cost.coupled),
            "collision": int(slots @ widths),
            "wrench": rows.size,
            "weight": residuals,
            "cone": int(facets @ rows.dim),
            "limit": sum(limit.dim * len(limit.dofs) for limit in limits),
        }
        start = 0
        for name, size in sizes.items():
            self.parts[name] = slice(start, start + size)
            start += size
        self.source = np.zeros(start)
        self.source[0] = 1.0
        # Rows of A: dynamics of unactuated DOFs, no-slip, residuals; of G: torques, friction, collisions, limits.
        free, driven_rows, cones = len(self.free_dofs), len(self.torque_dofs), int(facets.sum())
        self.slip_rows = slice(free, free + rows.size)
        self.residual_rows = slice(self.slip_rows.stop, self.slip_rows.stop + residuals)
        self.cone_rows = slice(driven_rows, driven_rows + cones)
        self.facet_start = np.concatenate([[0], np.cumsum(facets)])
        """First facet of each contact among the friction rows; last, their number."""
        self.collision_rows = slice(self.cone_rows.stop, self.cone_rows.stop + int(slots.sum()))
        self.limit_rows = slice(self.collision_rows.stop, self.collision_rows.stop + sum(limit.dim for limit in limits))
        self.slot_row = np.concatenate([[0], np.cumsum(slots)])[:-1]
        self.slot_width = widths
        self.slot_start = np.concatenate([[0], np.cumsum(slots * widths)])[:-1]
        """Of each group: its first collision row, their length, and where they begin in their part of the source."""
        forces = Entries(*rows.entries())
        self.P, self.fill_P = self._hessian(trees.hessian(cost.dense.tobytes()))
        self.A, self.fill_A = self._equalities(cost, trees.free_mass, forces)
        self.G, self.fill_G = self._inequalities(rows, facets, collisions, limits, trees.torque_mass, forces)

    def _hessian(self, motion: Entries) -> tuple:
        """Return P: the trees' blocks, then the costs of wrenches and residuals on the diagonal; columns ascend already."""
        rest = np.arange(self.w, self.n)
        first = np.where(rest < self.y, self.parts["wrench"].start - self.w, self.parts["weight"].start - self.y)
        counts = np.concatenate([[0], np.bincount(motion.column, minlength=self.nv), np.ones_like(rest)])
        indices, source = np.concatenate([motion.row, rest]), np.concatenate([motion.source, rest + first])
        return gathered(
            np.cumsum(counts).astype(np.int32), indices.astype(np.int32), source, np.ones(len(source)), (self.n, self.n)
        )

    def _motion_rows(self, pattern: Pattern, dofs: np.ndarray, mass: Entries, forces: Entries) -> None:
        """Add rows M q̈ − Jᵀw of the given DOFs, in order from row 0."""
        pattern.add(*mass)
        row_of = np.full(self.nv, -1)
        row_of[dofs] = np.arange(len(dofs))
        rows = row_of[forces.column]
        mine = np.flatnonzero(rows >= 0)
        pattern.add(rows[mine], self.w + forces.row[mine], self.parts["contact"].start + forces.source[mine], -1.0)

    def _equalities(self, cost: Cost, mass: Entries, forces: Entries) -> tuple:
        pattern = Pattern()
        self._motion_rows(pattern, self.free_dofs, mass, forces)
        pattern.add(self.slip_rows.start + forces.row, forces.column, self.parts["contact"].start + forces.source)
        heights, dofs = [o.dim for o in cost.coupled], [o.dofs for o in cost.coupled]
        pattern.add_blocks(self.residual_rows.start, heights, dofs, self.parts["residual"].start)
        y = np.arange(self.y, self.n)
        pattern.add(self.residual_rows.start + y - self.y, y, np.zeros_like(y), -1.0)
        return pattern.freeze((self.residual_rows.stop, self.n))

    def _inequalities(
        self,
        rows: ContactRows,
        facets: np.ndarray,
        collisions: Avoidance,
        limits: Sequence[Limit],
        mass: Entries,
        forces: Entries,
    ) -> tuple:
        pattern = Pattern()
        self._motion_rows(pattern, self.torque_dofs, mass, forces)
        unknowns = [self.w + np.arange(first, first + dim) for first, dim in zip(rows.start, rows.dim, strict=False)]
        pattern.add_blocks(self.cone_rows.start, facets.tolist(), unknowns, self.parts["cone"].start)
        # A group's rows reach over all DOFs of its two trees, so that any pair of them fits.
        first, source = self.collision_rows.start, self.parts["collision"].start
        pattern.add_blocks(first, self.slots.tolist(), collisions.dofs, source)
        heights, dofs = [limit.dim for limit in limits], [limit.dofs for limit in limits]
        pattern.add_blocks(self.limit_rows.start, heights, dofs, self.parts["limit"].start)
        return pattern.freeze((self.limit_rows.stop, self.n))


def structure_key(
    contacts: Sequence[Contact], cost: Cost, collisions: Avoidance, slots: np.ndarray, limits: Sequence[Limit]
) -> Hashable:
    """Return what a structure depends on within one scene."""
    touching = tuple((c.first.body, c.second.body, c.kind, c.facets, c.min_force > 0) for c in contacts)
    limited = tuple((limit.dim, limit.dofs.tobytes()) for limit in limits)
    return touching, cost.key, tuple(collisions.groups), slots.tobytes(), limited
