"""Grasps in the simulated world: springs of bounded strength between the two frames of a grip. One that is overloaded slips off.

Springs are as firm as the simulator's steps allow: with the inertia A⁻¹ that the grips feel, A = J M⁻¹ Jᵀ of all of them together,
w = w_plan + A⁻¹(ω² e + 2ζω ė) makes each of them a mass on a spring of frequency ω, whatever hangs on it. Hands give what the plan
counts on at once, and the spring what is missing: left to springs alone, forces come 5 ms after the torques that count on them, plans
answer to what moves meanwhile, and a ring of four or more shakes itself to pieces.
"""

from __future__ import annotations

from typing import NamedTuple

import mujoco
import numba
import numpy as np

from interplay.constraints.contact import Contact, ContactRows
from interplay.constraints.contact_kernels import load
from interplay.maths.rotations import rotation_log
from interplay.scene.kinematics import Kinematics

FREQUENCY, DAMPING = 200.0, 0.8
"""ω [rad/s] and ζ of grips; in steps of 2 ms explicit springs stay calm up to about 2ζωh = 1."""
OFF = 0.03
"""A hand so far [m] from where it gripped has slipped off."""
_LEAST = 1e-3
"""Least mobility [1/kg, 1/(kg·m²)] of a grip: where arms are stretched nothing would move, and a spring be infinitely firm."""


class _Laid(NamedTuple):
    """Grips as arrays, for the kernel."""

    index: np.ndarray
    """Which contacts (k,) they are …"""
    bodies: np.ndarray
    """… their two bodies (k, 2) …"""
    place: np.ndarray
    """… where these have their frames (k, 2, 3) …"""
    turn: np.ndarray
    """… and how those are turned (k, 2, 3, 3) …"""
    strength: np.ndarray
    """… the most they give (k, 2) [N, N·m] …"""
    times: np.ndarray
    """… and when (k, 4) [s]: ``made_at``, ``fade_in``, ``release_at``, ``fade_out``."""

    @staticmethod
    def out(contacts: tuple[Contact, ...], index: list[int]) -> _Laid:
        """Lay some of the contacts out."""
        grips = [contacts[k] for k in index]
        return _Laid(
            np.array(index, np.int64),
            np.array([(c.first.body, c.second.body) for c in grips], np.int64).reshape(-1, 2),
            np.array([(c.p1, c.p2) for c in grips], float).reshape(-1, 2, 3),
            np.array([(c.R1, c.R2) for c in grips], float).reshape(-1, 2, 3, 3),
            np.array([(c.grip_force, c.grip_torque) for c in grips], float).reshape(-1, 2),
            np.array([(c.made_at, c.fade_in, c.release_at, c.fade_out) for c in grips], float).reshape(-1, 4),
        )


class Springs:
    """The grips of one scene; what has slipped off stays off until it grips anew."""

    def __init__(self) -> None:
        """Start with none."""
        self._contacts: tuple[Contact, ...] = ()
        self._rows: ContactRows | None = None
        self._without: frozenset[tuple[str, str, float]] = frozenset()
        """What had slipped off when they were laid out."""
        self._laid = _Laid.out((), [])
        self._inertia = np.zeros((0, 0))
        self._planned = np.zeros((0, 6))
        """What the plan counts on of each grip, ON the first, world axes."""
        none = np.zeros(0, np.int64)
        self._chains = none, none, none
        """Of the scene: the root of each body, and the DOFs that move it."""
        self.off: set[tuple[str, str, float]] = set()
        """Which grips have slipped off: their sides, and when they were made."""
        self.wrenches = np.zeros((0, 6))
        """What each contact (n, 6) got in the last step of the simulator: ON the first, world axes, at its frame."""

    def begin(self, terms: Kinematics, rows: ContactRows, jacobian: np.ndarray, planned: np.ndarray) -> None:
        """Take the contacts of a plan, with their Jacobians at the state in which it was made, and its wrenches in contact axes."""
        if rows is not self._rows or self.off != self._without:
            self._contacts, self._rows, self._without = tuple(rows.contacts), rows, frozenset(self.off)
            self._chains = terms.root, terms.chain_start, terms.chain_dofs
            index = [k for k, c in enumerate(self._contacts) if c.kind == "grasp" and _key(c) not in self.off]
            self._laid = _Laid.out(self._contacts, index)
        self.wrenches, index = np.zeros((len(self._contacts), 6)), self._laid.index
        if len(index):
            J, self._planned = np.zeros((6 * len(index), terms.model.nv)), np.empty((len(index), 6))
            _in_world_axes(index, rows.rotation, jacobian, *rows.movers, planned, J, self._planned)
            mobility = J @ terms.mass_solved(J).T
            mobility.flat[:: len(mobility) + 1] += _LEAST
            self._inertia = np.linalg.inv(mobility)

    def pull(self, d: mujoco.MjData, time: float) -> None:
        """Add the forces of all grips to ``qfrc_applied``; the simulator's kinematics are those of its state."""
        if not len(self._laid.index):
            return
        moving = d.xpos, d.xmat, d.cvel, d.cdof, d.subtree_com
        off = _pull(
            *moving, *self._chains, *self._laid, time, self._inertia, self._planned, self.wrenches, d.qfrc_applied
        )
        if off.any():
            self.off |= {_key(self._contacts[k]) for k in self._laid.index[off].tolist()}

    def lost(self, contacts: tuple[Contact, ...]) -> list[int]:
        """Return which of some contacts have slipped off."""
        return [k for k, c in enumerate(contacts) if c.kind == "grasp" and _key(c) in self.off] if self.off else []


def _key(contact: Contact) -> tuple[str, str, float]:
    return (*contact.label, contact.made_at)


@numba.njit(cache=True)
def _in_world_axes(index, rotation, jacobian, cols, sign, planned, J, wrenches):
    """Write the Jacobians (6k, nv) of grips and what the plan counts on of them (k, 6), both in world axes."""
    for n in range(index.shape[0]):
        k = index[n]
        for r in range(6):
            part, i, total = 3 * (r // 3), r % 3, 0.0
            for j in range(3):
                total += rotation[k, i, j] * planned[k, part + j]
            wrenches[n, r] = total
            for c in range(cols.shape[1]):
                if sign[k, c] == 0.0:
                    break
                total = 0.0
                for j in range(3):
                    total += rotation[k, i, j] * jacobian[k, part + j, c]
                J[6 * n + r, cols[k, c]] = total


@numba.njit(cache=True)
def _pull(
    xpos, xmat, cvel, cdof, com, root, chain_start, chain_dofs,
    index, bodies, place, turn, strength, times, time, inertia, planned, wrenches, applied,
):  # fmt: skip
    """Write the wrench of each grip, and add their generalized forces; return which have slipped off: they have no strength from now on."""
    count = index.shape[0]
    asked, at, off = np.empty(6 * count), np.empty((count, 3)), np.zeros(count, np.bool_)
    for k in range(count):
        one, two = bodies[k, 0], bodies[k, 1]
        frames = xpos[one], xmat[one], xpos[two], xmat[two], place[k, 0], turn[k, 0], place[k, 1], turn[k, 1]
        motion = cvel[one], com[root[one]], cvel[two], com[root[two]]
        if _asked(frames, motion, at[k], asked[6 * k : 6 * k + 6]) > OFF:
            off[k], strength[k, 0], strength[k, 1] = True, 0.0, 0.0
    for k in range(count):
        share, w = load(time, times[k, 0], times[k, 1], times[k, 2], times[k, 3]), wrenches[index[k]]
        for i in range(6):
            total, most = planned[k, i], share * strength[k, i // 3]
            for j in range(6 * count):
                total += inertia[6 * k + i, j] * asked[j]
            w[i] = min(max(total, -most), most)
        for side, sign in ((0, 1.0), (1, -1.0)):
            body = bodies[k, side]
            origin = com[root[body]]
            for n in range(chain_start[body], chain_start[body + 1]):
                dof = chain_dofs[n]
                axis, force = cdof[dof], 0.0  # (ω, v at the tree's centre of mass)
                for i in range(3):
                    j, l = (i + 1) % 3, (i + 2) % 3
                    speed = axis[3 + i] + axis[j] * (at[k, l] - origin[l]) - axis[l] * (at[k, j] - origin[j])
                    force += w[i] * speed + w[3 + i] * axis[i]
                applied[dof] += sign * force
    return off


@numba.njit(cache=True)
def _asked(frames, motion, place, out):
    """Write ω² e + 2ζω ė (6) of the second frame seen from the first, and where that is; return how far they are apart [m]."""
    x1, X1, x2, X2, p1, R1, p2, R2 = frames
    a, origin1, b, origin2 = motion  # (ω, v at the tree's centre of mass)
    e, turn, w, A, B = np.empty(3), np.empty((3, 3)), np.empty(3), np.empty((3, 3)), np.empty((3, 3))
    for i in range(3):
        place[i], q = x1[i], x2[i]
        for j in range(3):
            place[i] += X1[3 * i + j] * p1[j]
            q += X2[3 * i + j] * p2[j]
            A[i, j] = X1[3 * i] * R1[0, j] + X1[3 * i + 1] * R1[1, j] + X1[3 * i + 2] * R1[2, j]
            B[i, j] = X2[3 * i] * R2[0, j] + X2[3 * i + 1] * R2[1, j] + X2[3 * i + 2] * R2[2, j]
        e[i] = q - place[i]
    for i in range(3):
        for j in range(3):
            turn[i, j] = B[i, 0] * A[j, 0] + B[i, 1] * A[j, 1] + B[i, 2] * A[j, 2]
    rotation_log(turn, w)
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        v1 = a[3 + i] + a[j] * (place[k] - origin1[k]) - a[k] * (place[j] - origin1[j])
        v2 = b[3 + i] + b[j] * (place[k] - origin2[k]) - b[k] * (place[j] - origin2[j])
        out[i] = FREQUENCY**2 * e[i] + 2.0 * DAMPING * FREQUENCY * (v2 - v1)
        out[3 + i] = FREQUENCY**2 * w[i] + 2.0 * DAMPING * FREQUENCY * (b[i] - a[i])
    return np.sqrt(e[0] ** 2 + e[1] ** 2 + e[2] ** 2)
