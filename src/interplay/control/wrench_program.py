"""The program of force control (11): wrenches of tasks, forces of contacts, torques and gravity, bound by statics. See :mod:`.force`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy import sparse

from interplay.constraints.contact import Contact, ContactRows, point_cone
from interplay.objectives.base import Effort
from interplay.qp.problem import QP, Pattern

CONTACT, GRAVITY, TORQUE = 1.0, 1e5, 1e-8
"""Weights of contact forces and of gravity (liu2012, VI), and of torques, which have none there: they must have a value where two would do."""
_CORNERS = np.array([(1, 1), (-1, 1), (-1, -1), (1, -1)], float)


class Carrier(NamedTuple):
    """What a contact carries with: its number among all, what makes its wrench of its forces (dim, m), and what bounds these."""

    contact: int
    makes: np.ndarray
    cone: np.ndarray
    """Facets E (4, 3), E f ≥ margin, of each of its forces; none of a grasp."""
    margin: float
    strength: np.ndarray
    """The most of each unknown (m,)."""


def carrier(k: int, contact: Contact) -> Carrier:
    """Return how a contact carries: a patch by forces at its four corners, a point by one, a grasp by a wrench of bounded strength."""
    if contact.kind == "grasp" or contact.pinned:
        strength = np.full(6, np.inf) if contact.pinned else np.repeat([contact.grip_force, contact.grip_torque], 3)
        return Carrier(k, np.eye(contact.dim), np.zeros((0, 3)), 0.0, strength[: contact.dim])
    cone, half = point_cone(contact.friction), (1.0 - contact.shrink) * contact.half
    if contact.kind == "point":
        return Carrier(k, np.eye(3), cone, contact.min_force, np.full(3, np.inf))
    arms = [[[0.0, 0.0, y], [0.0, 0.0, -x], [-y, x, 0.0]] for x, y in _CORNERS * half]
    makes = np.hstack([np.vstack([np.eye(3), arm]) for arm in arms])
    return Carrier(k, makes, cone, 0.25 * contact.min_force, np.full(12, np.inf))


class WrenchProgram:
    """Variables and rows of one pattern; all that varies stands in one source vector, from which the equality gathers its values."""

    def __init__(
        self,
        dofs: np.ndarray,
        limit: np.ndarray,
        tasks: Sequence[tuple[int, np.ndarray]],
        rows: ContactRows,
        support: Sequence[int],
    ):
        """Take the DOFs of who is led, motors' limits (nv,), sizes and DOFs of tasks, contacts, and which of them carry."""
        self.dofs, self.driven = dofs, dofs[~np.isnan(limit[dofs])]
        self._rows, self._carriers = rows, [carrier(k, rows.contacts[k]) for k in support]
        sizes = [size for size, _ in tasks] + [one.makes.shape[1] for one in self._carriers]
        begin = np.concatenate([[0], np.cumsum(sizes)]).astype(int)
        parts = [slice(a, b) for a, b in pairwise(begin.tolist())]
        self._tasks, self._forces = parts[: len(tasks)], parts[len(tasks) :]
        wide, n = int(begin[-1]), len(dofs)
        self.torques = slice(wide, wide + len(self.driven))
        self._gravity = slice(self.torques.stop, self.torques.stop + n)
        self.size = self._gravity.stop
        _, sign = rows.movers
        self._moves = [sign[one.contact] != 0.0 for one in self._carriers]
        self._equality(limit, tasks)
        self._cones()
        self._bounds(limit)
        self._weights = np.repeat([CONTACT, TORQUE, GRAVITY], [wide, len(self.driven), n])
        self._P = sparse.csc_matrix(sparse.diags(np.ones(self.size)))

    def _equality(self, limit: np.ndarray, tasks: Sequence[tuple[int, np.ndarray]]) -> None:
        """Lay out statics: τ − Σ Jᵀ W + Σ Jᵀ_c w_c − γ = what is known, a row for each DOF."""
        row_of = np.full(len(limit), -1)
        row_of[self.dofs] = np.arange(len(self.dofs))
        pattern, one, at = Pattern(), np.zeros(self.size, int), 1
        pattern.add(row_of[self.driven], np.arange(self.torques.start, self.torques.stop), one[: len(self.driven)])
        gravity = np.arange(self._gravity.start, self._gravity.stop)
        pattern.add(np.arange(len(self.dofs)), gravity, one[: len(gravity)], -1.0)
        cols, _ = self._rows.movers
        blocks = [(part, own, -1.0) for part, (_, own) in zip(self._tasks, tasks, strict=True)]
        held = zip(self._forces, self._carriers, self._moves, strict=True)
        blocks += [(part, cols[one.contact][moves], 1.0) for part, one, moves in held]
        for part, own, sense in blocks:
            variables, rows = np.meshgrid(np.arange(part.start, part.stop), row_of[own], indexing="ij")
            source, mine = at + np.arange(rows.size).reshape(rows.shape), rows >= 0
            pattern.add(rows[mine], variables[mine], source[mine], sense)
            at += rows.size
        self._source = np.zeros(at)
        self._source[0] = 1.0
        self._A, self._gather = pattern.freeze((len(self.dofs), self.size))

    def _cones(self) -> None:
        """Lay out friction: each force of a contact within its cone, by a margin (9)."""
        blocks, low = [], []
        for part, one in zip(self._forces, self._carriers, strict=True):
            for first in range(part.start, part.stop, 3) if len(one.cone) else ():
                block = sparse.lil_matrix((len(one.cone), self.size))
                block[:, first : first + 3] = one.cone
                blocks.append(block)
                low.append(np.full(len(one.cone), one.margin))
        self._G = sparse.csc_matrix(sparse.vstack(blocks)) if blocks else sparse.csc_matrix((0, self.size))
        self._least = np.concatenate([np.zeros(0), *low])
        self._unbounded = np.full(len(self._least), np.inf)

    def _bounds(self, limit: np.ndarray) -> None:
        """Bound torques by motors, and grasps by their strength; wrenches of tasks are bounded as they are asked."""
        self._low, self._high = np.full(self.size, -np.inf), np.full(self.size, np.inf)
        self._high[self.torques] = limit[self.driven]
        for part, one in zip(self._forces, self._carriers, strict=True):
            self._high[part] = one.strength
        self._low[: self.torques.stop] = -self._high[: self.torques.stop]

    @property
    def rows(self) -> tuple[int, int]:
        """How many equalities there are, and how many inequalities beside bounds."""
        return len(self.dofs), len(self._least)

    def fill(self, asked: Sequence[Effort], known: np.ndarray, gravity: np.ndarray, jacobian: np.ndarray) -> QP:
        """Return the program of a state, on arrays that the next one overwrites: efforts, known forces and gravity (nv,), Jacobians of contacts."""
        at, wanted, source = 1, np.zeros(self.size), self._source
        for part, effort in zip(self._tasks, asked, strict=True):
            source[at : at + effort.jacobian.size] = effort.jacobian.ravel()
            at += effort.jacobian.size
            self._weights[part], wanted[part] = effort.weight, effort.wrench
            self._low[part], self._high[part] = -effort.most, effort.most
        for one, moves in zip(self._carriers, self._moves, strict=True):
            block = one.makes.T @ jacobian[one.contact][: one.makes.shape[0], moves]
            source[at : at + block.size] = block.ravel()
            at += block.size
        self._gather(source)
        wanted[self._gravity] = gravity[self.dofs]
        self._P.data[:] = self._weights
        cost = -self._weights * wanted
        return QP(
            self._P,
            cost,
            self._A,
            known[self.dofs],
            self._G,
            self._least,
            self._unbounded,
            self._low,
            self._high,
            self,
        )

    def wrenches(self, x: np.ndarray) -> np.ndarray:
        """Return the unknowns of all contacts, one after another, as a plan has them; those that do not carry have none."""
        out = np.zeros(self._rows.size)
        for part, one in zip(self._forces, self._carriers, strict=True):
            first = self._rows.start[one.contact]
            out[first : first + one.makes.shape[0]] = one.makes @ x[part]
        return out
