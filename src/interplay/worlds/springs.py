"""Grasps in the simulated world: springs of bounded strength between the two frames of a grip. One that is overloaded slips off.

Springs are as firm as the simulator's steps allow: with the inertia A⁻¹ that the grips feel, A = J M⁻¹ Jᵀ of all of them together,
w = w_plan + A⁻¹(ω² e + 2ζω ė) makes each of them a mass on a spring of frequency ω, whatever hangs on it. Hands give what the plan
counts on at once, and the spring what is missing: left to springs alone, forces come 5 ms after the torques that count on them, plans
answer to what moves meanwhile, and a ring of four or more shakes itself to pieces.
"""

from __future__ import annotations

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


class Springs:
    """The grips of one scene; what has slipped off stays off until it grips anew."""

    def __init__(self) -> None:
        """Start with none."""
        self._grips: list[Contact] = []
        self._index: list[int] = []
        self._inertia = np.zeros((0, 0))
        self._planned = np.zeros((0, 6))
        """What the plan counts on of each grip, ON the first, world axes."""
        self.off: set[tuple[str, str, float]] = set()
        """Which grips have slipped off: their sides, and when they were made."""
        self.wrenches = np.zeros((0, 6))
        """What each contact (n, 6) got in the last step of the simulator: ON the first, world axes, at its frame."""

    def begin(self, terms: Kinematics, rows: ContactRows, jacobian: np.ndarray, planned: np.ndarray) -> None:
        """Take the contacts of a plan, with their Jacobians at the state in which it was made, and its wrenches in contact axes."""
        contacts = rows.contacts
        self.wrenches = np.zeros((len(contacts), 6))
        self._index = [k for k, c in enumerate(contacts) if c.kind == "grasp" and _key(c) not in self.off]
        self._grips = [contacts[k] for k in self._index]
        if self._grips:
            self._planned = np.array([_to_world(rows.rotation[k]) @ planned[k] for k in self._index])
            J = np.zeros((rows.size, terms.model.nv))
            row, dof, place = rows.entries()
            J[row, dof] = jacobian.reshape(-1)[place]
            J = np.concatenate(
                [_to_world(rows.rotation[k]) @ J[rows.start[k] : rows.start[k] + 6] for k in self._index]
            )
            mobility = J @ terms.mass_solved(J).T
            self._inertia = np.linalg.inv(mobility + _LEAST * np.eye(len(mobility)))

    def pull(self, m: mujoco.MjModel, d: mujoco.MjData, time: float) -> None:
        """Add the forces of all grips to ``qfrc_applied``; the simulator's kinematics are those of its state."""
        if not self._grips:
            return
        asked, places = np.empty(6 * len(self._grips)), np.empty((len(self._grips), 3))
        twist = np.zeros((2, 6))
        for k, c in enumerate(self._grips):
            one, two = c.first.body, c.second.body
            for row, body in zip(twist, (one, two), strict=True):
                mujoco.mj_objectVelocity(m, d, mujoco.mjtObj.mjOBJ_XBODY, body, row, 0)
            frames = (d.xpos[one], d.xmat[one], d.xpos[two], d.xmat[two], c.p1, c.R1, c.p2, c.R2)
            away = _asked(*frames, twist, places[k], asked[6 * k : 6 * k + 6])
            if away > OFF:
                self.off.add(_key(c))
        wrenches = self._planned + (self._inertia @ asked).reshape(-1, 6)
        for k, c, w, place in zip(self._index, self._grips, wrenches, places, strict=True):
            share = 0.0 if _key(c) in self.off else load(time, c.made_at, c.fade_in, c.release_at, c.fade_out)
            strength = share * np.repeat([c.grip_force, c.grip_torque], 3)
            self.wrenches[k] = w = np.clip(w, -strength, strength)
            mujoco.mj_applyFT(m, d, w[:3], w[3:], place, c.first.body, d.qfrc_applied)
            mujoco.mj_applyFT(m, d, -w[:3], -w[3:], place, c.second.body, d.qfrc_applied)

    def lost(self, contacts: tuple[Contact, ...]) -> list[int]:
        """Return which of some contacts have slipped off."""
        return [k for k, c in enumerate(contacts) if c.kind == "grasp" and _key(c) in self.off] if self.off else []


def _key(contact: Contact) -> tuple[str, str, float]:
    return (*contact.label, contact.made_at)


def _to_world(R: np.ndarray) -> np.ndarray:
    return np.kron(np.eye(2), R)


@numba.njit(cache=True)
def _asked(x1, X1, x2, X2, p1, R1, p2, R2, twist, place, out):
    """Write ω² e + 2ζω ė (6) of the second frame seen from the first, and where that is; return how far they are apart [m]."""
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
        a, b = twist[0], twist[1]  # (ω, v of the body's own origin)
        v1 = a[3 + i] + a[j] * (place[k] - x1[k]) - a[k] * (place[j] - x1[j])
        v2 = b[3 + i] + b[j] * (place[k] - x2[k]) - b[k] * (place[j] - x2[j])
        out[i] = FREQUENCY**2 * e[i] + 2.0 * DAMPING * FREQUENCY * (v2 - v1)
        out[3 + i] = FREQUENCY**2 * w[i] + 2.0 * DAMPING * FREQUENCY * (b[i] - a[i])
    return np.sqrt(e[0] ** 2 + e[1] ** 2 + e[2] ** 2)
