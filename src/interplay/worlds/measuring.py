"""What the simulator's contacts did within a control step, told in the terms of the contacts that a plan counts on."""

from __future__ import annotations

from typing import NamedTuple

import mujoco
import numba
import numpy as np

from interplay.constraints.contact import Contact, ContactRows
from interplay.scene.kinematics import Kinematics
from interplay.worlds.world import NOTHING, Touches

_MOST = 512
"""Most pairs of bodies that are told of a step."""
CARRIES = 1.0
"""A force [N] from which a body counts as carried."""


class Forces(NamedTuple):
    """What acted in a step of the simulator: in ``MjData`` and from outside."""

    constraint: np.ndarray
    """Of all constraints (nv,)."""
    applied: np.ndarray
    """From outside (nv,): pushes, and what grips gave."""
    pushes: np.ndarray
    """Of that, pushes (nv,)."""
    springs: np.ndarray
    """Of that, what the grip of each contact gave (n, 6): world axes, at its frame."""


class Meter:
    """Adds up the forces between bodies over the simulator's steps."""

    rows: ContactRows
    """The contacts of a plan, at the state in which it was made, …"""
    jacobian: np.ndarray
    """… and their Jacobians."""

    def __init__(self, m: mujoco.MjModel, dt: float):
        """Take the model and the control step [s]."""
        self._dt = dt
        self._geom_body = m.geom_bodyid.astype(np.int64)
        self._fixed = m.body_treeid < 0
        self._all = np.zeros(m.nv)
        self._pairs, self._forces, self._found = (
            np.zeros((_MOST, 2), np.int64),
            np.zeros((_MOST, 3)),
            np.zeros(1, np.int64),
        )
        """Pairs of bodies that touched, the sum of forces ON the first of each, and their number."""
        self._contacts: tuple[Contact, ...] | None = None
        self._bodies = np.zeros((0, 2), np.int64)
        self._meant: frozenset[int] = frozenset()
        self._wrench, self._carried, self._steps = np.zeros((0, 6)), np.zeros(m.nbody), 0

    def begin(self, contacts: tuple[Contact, ...], terms: Kinematics, time: float) -> None:
        """Start anew with the contacts of a plan, at the state that the terms are at."""
        if self._contacts is not contacts:
            self._contacts, self.rows = contacts, ContactRows(terms, contacts)
            self.jacobian = np.zeros((len(contacts), 6, self.rows.width))
            self._bodies = np.array([(c.first.body, c.second.body) for c in contacts], np.int64).reshape(-1, 2)
            self._meant = frozenset(self._bodies.ravel().tolist())
        self.rows.update(terms, time, self._dt, self.jacobian)
        self._wrench, self._steps = np.zeros((len(contacts), 6)), 0
        self._carried[:] = 0.0
        self._all[:] = 0.0
        self._found[0] = 0

    def take(self, d: mujoco.MjData, given: Forces) -> None:
        """Add what acted in a step of the simulator."""
        self._steps += 1
        found = d.contact
        _add_up(
            *given, self._all, found.geom, found.pos, found.frame, found.dim, found.efc_address, d.efc_force, self._geom_body,
            self._fixed, self._bodies, self.rows.position, self._wrench, self._carried, self._pairs, self._forces, self._found,
        )  # fmt: skip

    def others(self, contact: np.ndarray) -> np.ndarray:
        """Return the mean generalized force (nv,) of all that acted but the contacts that were meant: other ones, stops of joints."""
        return self._all / max(self._steps, 1) - contact

    def touches(self) -> Touches:
        """Return all that touched."""
        count = int(self._found[0])
        return Touches(self._pairs[:count].copy(), self._forces[:count] / self._steps) if count else NOTHING

    def end(self, terms: Kinematics) -> tuple[np.ndarray, np.ndarray, tuple[int, ...]]:
        """Return mean wrenches (n, 6) in contact axes, their generalized force (nv,), and who is carried without being meant to."""
        rows, steps = self.rows, max(self._steps, 1)
        unknowns = np.empty(rows.size)
        _in_contact_axes(self._wrench, steps, rows.rotation, rows.start, rows.dim, unknowns)
        wrenches, _, total = rows.forces(terms, unknowns, self.jacobian)
        carried = (self._carried > CARRIES * steps).nonzero()[0].tolist()
        return wrenches, total, tuple(b for b in carried if b not in self._meant)


@numba.njit(cache=True)
def _in_contact_axes(wrench, steps, rotation, start, dim, out):
    """Write the mean of what was added up in so many steps, as the unknowns of a program."""
    for k in range(wrench.shape[0]):
        for r in range(dim[k]):
            part, i, total = 3 * (r // 3), r % 3, 0.0
            for j in range(3):
                total += rotation[k, j, i] * wrench[k, part + j]
            out[start[k] + r] = total / steps


@numba.njit(cache=True)
def _add_up(
    constraint, applied, pushes, springs, everything, geoms, pos, frame, dim, address, force, geom_body, fixed, bodies,
    position, wrench, carried, pairs, sums, found,
):  # fmt: skip
    for i in range(everything.shape[0]):
        everything[i] += constraint[i] + (applied[i] - pushes[i])
    for k in range(wrench.shape[0]):
        for i in range(6):
            wrench[k, i] += springs[k, i]
    f = np.empty(3)
    for c in range(pos.shape[0]):
        at = address[c]
        if at < 0:
            continue
        b1, b2 = geom_body[geoms[c, 0]], geom_body[geoms[c, 1]]
        # In the axes of an elliptic contact: normal, tangents (torsion, rolling); ON the second body BY the first.
        for i in range(3):
            f[i] = frame[c, i] * force[at]
            if dim[c] > 1:
                f[i] += frame[c, 3 + i] * force[at + 1] + frame[c, 6 + i] * force[at + 2]
        twist = force[at + 3] if dim[c] > 3 else 0.0
        roll, tumble = (force[at + 4], force[at + 5]) if dim[c] > 4 else (0.0, 0.0)
        if fixed[b1] and not fixed[b2]:
            carried[b2] += force[at]
        elif fixed[b2] and not fixed[b1]:
            carried[b1] += force[at]
        one, two, sign = (b1, b2, -1.0) if b1 < b2 else (b2, b1, 1.0)
        at = 0
        while at < found[0] and (pairs[at, 0] != one or pairs[at, 1] != two):
            at += 1
        if at == found[0] and at < pairs.shape[0]:
            pairs[at, 0], pairs[at, 1], found[0] = one, two, at + 1
            sums[at] = 0.0
        if at < found[0]:
            for i in range(3):
                sums[at, i] += sign * f[i]
        k, sign = _meant(bodies, b1, b2, fixed)
        if k >= 0:
            for i in range(3):
                j, l = (i + 1) % 3, (i + 2) % 3
                wrench[k, i] += sign * f[i]
                arm_j, arm_l = pos[c, j] - position[k, j], pos[c, l] - position[k, l]
                turn = frame[c, i] * twist + frame[c, 3 + i] * roll + frame[c, 6 + i] * tumble
                wrench[k, 3 + i] += sign * (arm_j * f[l] - arm_l * f[j] + turn)


@numba.njit(cache=True)
def _meant(bodies, b1, b2, fixed):
    """Return which contact is between two bodies, and 1 if the second one is its first; else one with other parts of the environment."""
    for same in (True, False):
        for k in range(bodies.shape[0]):
            one, two = bodies[k, 0], bodies[k, 1]
            if one == b2 and (two == b1 if same else fixed[two] and fixed[b1]):
                return k, 1.0
            if one == b1 and (two == b2 if same else fixed[two] and fixed[b2]):
                return k, -1.0
    return -1, 0.0
