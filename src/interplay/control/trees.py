"""What a program's pattern takes from the scene alone: the blocks of its kinematic trees, and the entries of their mass matrix."""

from __future__ import annotations

from functools import cache

import mujoco
import numpy as np

from interplay.qp.problem import Entries


class Trees:
    """Found once per scene; the source vector of every :class:`Structure` begins with 1, the trees' blocks and M."""

    def __init__(self, m: mujoco.MjModel, torque: np.ndarray):
        """Take the scene's model and the torque limits of its DOFs: NaN without a motor, infinite without a limit."""
        self.nv = m.nv
        self.free_dofs, self.torque_dofs = np.flatnonzero(np.isnan(torque)), np.flatnonzero(np.isfinite(torque))
        """DOFs without a motor, and those whose motor has a limit."""
        self.start, self.size = m.tree_dofadr.astype(np.int64), m.tree_dofnum.astype(np.int64)
        """First DOF of each tree, and their number."""
        self.block = np.concatenate([[0], np.cumsum(self.size**2)])
        """Where each tree's dense block begins; last, the size of all."""
        self.of_dof: list[int] = m.dof_treeid.tolist()
        tree = m.dof_treeid
        self.diagonal = self.block[tree] + (np.arange(m.nv) - self.start[tree]) * (self.size[tree] + 1)
        """Where each DOF's diagonal entry stands among the blocks."""
        # MuJoCo stores the lower triangle of M by rows, one after another.
        first, self.mass_size = 1 + int(self.block[-1]), len(m.M_colind)
        i, j = np.repeat(np.arange(m.nv), m.M_rownnz), m.M_colind.astype(np.int64)
        source, mirrored = np.arange(first, first + len(j)), np.flatnonzero(i != j)
        mass = Entries(
            np.concatenate([i, j[mirrored]]),
            np.concatenate([j, i[mirrored]]),
            np.concatenate([source, source[mirrored]]),
        )
        self.free_mass, self.torque_mass = self._rows(mass, self.free_dofs), self._rows(mass, self.torque_dofs)
        """The entries of M in the rows of either, counted in their order."""
        self.hessian = cache(self._hessian)
        """Rows and columns of the upper triangle of the q̈ part of P, by columns, and their source; see ``_hessian``."""

    def _rows(self, mass: Entries, dofs: np.ndarray) -> Entries:
        """Return the entries in the rows of some DOFs."""
        row_of = np.full(self.nv, -1)
        row_of[dofs] = np.arange(len(dofs))
        rows = row_of[mass.row]
        mine = np.flatnonzero(rows >= 0)
        return Entries(rows[mine], mass.column[mine], mass.source[mine])

    def _hessian(self, dense: bytes) -> Entries:
        """Return the entries of P over q̈: a full triangle for the trees that are dense (one bool each), else a diagonal."""
        parts = []
        for tree, full in enumerate(np.frombuffer(dense, bool)):
            first, size = int(self.start[tree]), int(self.size[tree])
            column, row = np.tril_indices(size) if full else (np.arange(size), np.arange(size))
            parts.append(Entries(first + row, first + column, 1 + self.block[tree] + row * size + column))
        none = np.zeros(0, np.int64)
        return Entries(*(np.concatenate([none, *columns]) for columns in zip(*parts, strict=True)))
