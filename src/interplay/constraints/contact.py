"""Contacts: one 6D wrench each, no-slip with drift correction, and the cone in which the wrench may lie.

The unknown w of a contact is the wrench ON the first body BY the second, at the contact point, in the axes of the contact
frame C. With J = J1 − J2 (6D, at p_C1, C axes) the same rows serve twice: the no-slip rows J q̈ = … (18), (20), and the
generalized force Jᵀw (12), in which the second body gets −w by construction: Newton's third law.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numba
import numpy as np

from interplay.scene.kinematics import Kinematics, point_column, point_motion
from interplay.scene.surfaces import ContactFrame, Surface

FORCE_COST = 1e-6
"""Default cost of a contact force [1/N²]; torques cost as much as the force at an arm of 0.1 m."""

RETURN_SPEED, STOPPING = 0.2, 200.0
"""Fastest return [m/s, rad/s] of a contact that has slipped, and fastest stop [m/s², rad/s²]: asked for more at once, a body
would be thrown."""

_FADED_COST = 1.0
_TORQUE_ARM = 0.1
_SETTLING = 0.03


@dataclass(frozen=True)
class Contact:
    """A contact between two surfaces, made at one moment; ``p``, ``R`` are the frame C in the two bodies."""

    first: Surface
    second: Surface
    kind: str
    half: np.ndarray
    p1: np.ndarray
    R1: np.ndarray
    p2: np.ndarray
    R2: np.ndarray
    friction: float = 0.8
    grip_force: float = 500.0
    grip_torque: float = 25.0
    min_force: float = 0.0
    force_cost: float = FORCE_COST
    made_at: float = -np.inf
    fade_in: float = 0.0
    release_at: float = np.inf
    fade_out: float = 0.0
    label: tuple[str, str] = field(init=False)

    def __post_init__(self) -> None:
        """Name the two sides; the fixed environment is the world."""
        object.__setattr__(self, "label", (self.first.name, "world" if self.second.fixed else self.second.name))

    @property
    def second_side(self) -> np.ndarray:
        """What turns a force on the first surface into the one on the second, each in its own contact axes.

        It acts back; and with the two sides swapped the frame of a planar contact has the axes (x, −y, −z), a grip's the same.
        """
        return np.array([-1.0, 1.0, 1.0]) if self.kind == "planar" else -np.ones(3)

    def load(self, time: float) -> float:
        """Return how far the contact may carry: 1 fully, 0 not at all; it fades in after making and out before release."""
        load = 1.0
        if self.fade_in > 0:
            load = min(load, smooth((time - self.made_at) / self.fade_in))
        if time > self.release_at:
            load = min(load, 1.0 - smooth((time - self.release_at) / self.fade_out) if self.fade_out > 0 else 0.0)
        return load

    def softness(self, time: float, dt: float) -> float:
        """Return ρ, how much of the relative velocity a step may leave: 0, or while the contact fades in up to e^(−2Δt/T).

        A contact that stopped its bodies within one step would make the torques jump.
        """
        return (1.0 - self.load(time)) * math.exp(-2.0 * dt / _SETTLING) if time < self.made_at + self.fade_in else 0.0

    def costs(self, time: float) -> np.ndarray:
        """Return the cost of each wrench component (6,): low when loaded, so high when faded that the force vanishes."""
        load = self.load(time)
        cost = self.force_cost**load * _FADED_COST ** (1.0 - load)
        return np.repeat([cost, cost / _TORQUE_ARM**2], 3)

    def checkpoint(self) -> dict[str, Any]:
        """Return what restores this contact, as plain numbers."""
        return {
            "first": self.first.name,
            "second": self.second.name,
            "kind": self.kind,
            **{k: getattr(self, k).tolist() for k in ("half", "p1", "R1", "p2", "R2")},
            **{k: getattr(self, k) for k in _NUMBERS},
        }


_NUMBERS = (
    "friction",
    "grip_force",
    "grip_torque",
    "min_force",
    "force_cost",
    "made_at",
    "fade_in",
    "release_at",
    "fade_out",
)


def smooth(t: float) -> float:
    """Return the smooth step (C²) from 0 at t = 0 to 1 at t = 1."""
    t = min(max(t, 0.0), 1.0)  # also of ±inf
    return t * t * t * (10.0 + t * (6.0 * t - 15.0))


def make_contact(terms: Kinematics, first: Surface, second: Surface, frame: ContactFrame, **options: float) -> Contact:
    """Fix the frame C in both bodies at the present configuration."""
    local = []
    for body in (first.body, second.body):
        R = terms.xmat[body].reshape(3, 3)
        local += [R.T @ (frame.position - terms.xpos[body]), R.T @ frame.rotation]
    return Contact(first, second, frame.kind, frame.half, *local, **options)


def cone(half: np.ndarray, friction: float) -> np.ndarray:
    """Return the 16 facets E (16, 6), E w ≥ 0, of the wrenches that four corner forces of a rectangle can make.

    Corner forces obey |fx|, |fy| ≤ μ' fz with μ' = μ/√2 (a pyramid inside Coulomb's cone); half sizes (X, Y). The facets:
    |fx|, |fy| ≤ μ' fz; |tx| ≤ Y fz; |ty| ≤ X fz; and |tz| bounded by μ'(X + Y) fz less what the other torques use up.
    """
    X, Y = half
    mu = friction / np.sqrt(2.0)
    rows = []
    for s in (1.0, -1.0):
        rows += [[s, 0, mu, 0, 0, 0], [0, s, mu, 0, 0, 0], [0, 0, Y, s, 0, 0], [0, 0, X, 0, s, 0]]
    for a in (1.0, -1.0):
        for b in (1.0, -1.0):
            # tz ≥ −μ'(X + Y) fz ± (Y fx − μ' tx) ± (X fy − μ' ty), and its mirror image for the upper side.
            rows.append([a * Y, b * X, mu * (X + Y), -a * mu, -b * mu, 1])
            rows.append([a * Y, b * X, mu * (X + Y), a * mu, b * mu, -1])
    return np.array(rows, float)


class ContactRows:
    """The contacts of one problem as arrays: Jacobians, no-slip right-hand sides and frames, all from one kernel."""

    def __init__(self, terms: Kinematics, contacts: list[Contact]):
        """Find the DOFs that move each contact; a DOF that moves both bodies alike drops out."""
        self.contacts = contacts
        n = len(contacts)
        columns, signs = [], []
        for contact in contacts:
            sign = np.zeros(terms.model.nv)
            sign[terms.chain(contact.first.body)] += 1
            sign[terms.chain(contact.second.body)] -= 1
            columns.append(np.flatnonzero(sign))
            signs.append(sign[columns[-1]])
        self.columns = columns
        self.width = max((len(c) for c in columns), default=0)
        self._cols, self._sign = np.zeros((n, self.width), np.int64), np.zeros((n, self.width))
        for k, (cols, sign) in enumerate(zip(columns, signs, strict=True)):
            self._cols[k, : len(cols)], self._sign[k, : len(cols)] = cols, sign
        self._bodies = np.array([(c.first.body, c.second.body) for c in contacts], np.int64).reshape(n, 2)
        self._p = np.array([(c.p1, c.p2) for c in contacts]).reshape(n, 2, 3)
        self._R = np.array([(c.R1, c.R2) for c in contacts]).reshape(n, 2, 3, 3)
        self._soft = np.zeros(n)
        self.position = np.zeros((n, 3))
        self.rotation = np.zeros((n, 3, 3))
        self.drift = np.zeros((n, 6))
        self.rhs = np.zeros((n, 6))

    def update(self, terms: Kinematics, time: float, dt: float, jacobian: np.ndarray) -> None:
        """Fill ``jacobian`` (n, 6, width) and the right-hand sides for the present state."""
        if self.contacts:
            self._soft[:] = [c.softness(time, dt) for c in self.contacts]
            _contact_rows(
                terms.xpos,
                terms.xmat,
                terms.subtree_com,
                terms.root,
                terms.cdof,
                terms.cvel,
                terms.bias_acc,
                self._bodies,
                self._p,
                self._R,
                self._cols,
                self._sign,
                self._soft,
                dt,
                jacobian,
                self.rhs,
                self.position,
                self.rotation,
                self.drift,
            )

    def wrench_at_site(self, terms: Kinematics, k: int, w: np.ndarray) -> np.ndarray:
        """Return contact k's wrench in world axes at the origin of its first site."""
        force, torque = self.rotation[k] @ w[:3], self.rotation[k] @ w[3:]
        arm = self.position[k] - terms.site_xpos[self.contacts[k].first.site]
        return np.concatenate([force, torque + np.cross(arm, force)])


@numba.njit(cache=True)
def rotation_log(R, out):
    """Write the rotation vector of a matrix."""
    c = min(max((R[0, 0] + R[1, 1] + R[2, 2] - 1.0) / 2.0, -1.0), 1.0)
    x, y, z = R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]
    s = 0.5 * np.sqrt(x * x + y * y + z * z)
    angle = np.arctan2(s, c)
    if s > 1e-9:
        k = 0.5 * angle / s
        out[0], out[1], out[2] = k * x, k * y, k * z
    elif c > 0:
        out[0], out[1], out[2] = 0.5 * x, 0.5 * y, 0.5 * z
    else:  # a half turn: the axis is the largest column of R + 1
        best = 0
        for i in range(3):
            if R[i, i] > R[best, best]:
                best = i
        norm = np.sqrt(2.0 * (1.0 + R[best, best]))
        for i in range(3):
            out[i] = np.pi * (R[i, best] + (1.0 if i == best else 0.0)) / norm


@numba.njit(cache=True)
def _bounded(x, longest):
    size = np.sqrt(x[0] ** 2 + x[1] ** 2 + x[2] ** 2)
    return x * (longest / size) if size > longest else x


@numba.njit(cache=True)
def _contact_rows(
    xpos,
    xmat,
    com,
    root,
    cdof,
    cvel,
    bias_acc,
    bodies,
    p_local,
    R_local,
    cols,
    sign,
    soft,
    dt,
    J,
    rhs,
    position,
    rotation,
    drift,
):
    motion1, motion2 = np.empty((2, 6)), np.empty((2, 6))
    column, e, need = np.empty(6), np.empty(6), np.empty(6)
    for k in range(bodies.shape[0]):
        b1, b2 = bodies[k, 0], bodies[k, 1]
        X1, X2 = xmat[b1].reshape(3, 3), xmat[b2].reshape(3, 3)
        p = X1 @ p_local[k, 0] + xpos[b1]
        q = X2 @ p_local[k, 1] + xpos[b2]
        R = X1 @ R_local[k, 0]
        Q = X2 @ R_local[k, 1]
        e[:3] = q - p
        rotation_log(Q @ R.T, e[3:])
        point_motion(cvel[b1], bias_acc[b1], p - com[root[b1]], motion1)
        point_motion(cvel[b2], bias_acc[b2], p - com[root[b2]], motion2)
        # (20): (J1 − J2) q̈ = (e/Δt − (v1 − v2))/Δt − (J̇1 − J̇2) q̇, world axes at p_C1; then turned into C axes.
        # A soft contact (ρ > 0) is critically damped instead: v⁺ = ρ v + (1 − √ρ)² e/Δt.
        rho = soft[k]
        pull = (1.0 - np.sqrt(rho)) ** 2
        for half in range(2):  # linear, angular: a contact that has slipped is brought back at a bounded pace
            part = slice(3 * half, 3 * half + 3)
            back = _bounded(pull * e[part] / dt, RETURN_SPEED)
            stop = _bounded((back - (1.0 - rho) * (motion1[0, part] - motion2[0, part])) / dt, STOPPING)
            need[part] = stop - (motion1[1, part] - motion2[1, part])
        rhs[k, :3], rhs[k, 3:] = R.T @ need[:3], R.T @ need[3:]
        position[k], rotation[k], drift[k] = p, R, e
        for j in range(cols.shape[1]):
            s = sign[k, j]
            if s == 0.0:
                break
            i = cols[k, j]
            origin = com[root[b1]] if s > 0 else com[root[b2]]
            point_column(cdof[i], p - origin, column)
            for r in range(3):
                J[k, r, j] = s * (R[0, r] * column[0] + R[1, r] * column[1] + R[2, r] * column[2])
                J[k, r + 3, j] = s * (R[0, r] * column[3] + R[1, r] * column[4] + R[2, r] * column[5])
