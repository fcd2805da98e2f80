"""Grasps in the simulated world: springs of bounded strength between the two frames of a grip. One that is overloaded slips off."""

from __future__ import annotations

import mujoco
import numba
import numpy as np

from interplay.constraints.contact import Contact, load
from interplay.maths.rotations import rotation_log

STIFFNESS, DAMPING = 2e4, 250.0
"""Of a grip against shifting [N/m, N·s/m]: as firm as explicit springs of a hand may be in steps of 2 ms …"""
TURN_STIFFNESS, TURN_DAMPING = 200.0, 2.0
"""… and against turning [N·m/rad, N·m·s/rad]."""
OFF = 0.03
"""A hand so far [m] from where it gripped has slipped off."""


class Springs:
    """The grips of one scene; what has slipped off stays off until it grips anew."""

    def __init__(self, m: mujoco.MjModel):
        """Start with none."""
        self._force = np.zeros(m.nv)
        self._contacts: tuple[Contact, ...] = ()
        self._grips: list[int] = []
        self.off: set[tuple[str, str, float]] = set()
        """Which grips have slipped off: their sides, and when they were made."""
        self.wrenches = np.zeros((0, 6))
        """What each contact (n, 6) got from its spring in the last step of the simulator: ON the first, world axes, at its frame."""

    def begin(self, contacts: tuple[Contact, ...]) -> None:
        """Take the contacts of a plan."""
        if contacts is not self._contacts:
            self._contacts, self.wrenches = contacts, np.zeros((len(contacts), 6))
            self._grips = [k for k, c in enumerate(contacts) if c.kind == "grasp"]

    def pull(self, m: mujoco.MjModel, d: mujoco.MjData, time: float) -> None:
        """Add the forces of all grips to ``qfrc_applied``; the simulator's kinematics are those of its state."""
        for k in self._grips:
            c, w = self._contacts[k], self.wrenches[k]
            w[:] = 0.0
            if (*c.label, c.made_at) in self.off:
                continue
            one, two = c.first.body, c.second.body
            twist = np.zeros((2, 6))
            for row, body in zip(twist, (one, two), strict=True):
                mujoco.mj_objectVelocity(m, d, mujoco.mjtObj.mjOBJ_XBODY, body, row, 0)
            share = load(time, c.made_at, c.fade_in, c.release_at, c.fade_out)
            place = np.empty(3)
            away = _spring(
                d.xpos[one], d.xmat[one], d.xpos[two], d.xmat[two], c.p1, c.R1, c.p2, c.R2, twist,
                share * c.grip_force, share * c.grip_torque, place, w,
            )  # fmt: skip
            if away > OFF:
                self.off.add((*c.label, c.made_at))
                w[:] = 0.0
                continue
            mujoco.mj_applyFT(m, d, w[:3], w[3:], place, one, d.qfrc_applied)
            mujoco.mj_applyFT(m, d, -w[:3], -w[3:], place, two, d.qfrc_applied)

    def lost(self) -> list[int]:
        """Return which of the present contacts have slipped off."""
        return [k for k in self._grips if (*self._contacts[k].label, self._contacts[k].made_at) in self.off]


@numba.njit(cache=True)
def _spring(x1, X1, x2, X2, p1, R1, p2, R2, twist, force, torque, place, out):
    """Write the wrench ON the first body at ``place``, its frame, and return how far the two frames are apart [m]."""
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
    away = np.sqrt(e[0] ** 2 + e[1] ** 2 + e[2] ** 2)
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        a, b = twist[0], twist[1]  # (ω, v of the body's own origin)
        v1 = a[3 + i] + a[j] * (place[k] - x1[k]) - a[k] * (place[j] - x1[j])
        v2 = b[3 + i] + b[j] * (place[k] - x2[k]) - b[k] * (place[j] - x2[j])
        out[i] = min(max(STIFFNESS * e[i] + DAMPING * (v2 - v1), -force), force)
        out[3 + i] = min(max(TURN_STIFFNESS * w[i] + TURN_DAMPING * (b[i] - a[i]), -torque), torque)
    return away
