"""What a coupled system does under given forces within a short step: velocities and impulses by Coulomb's law, bodies rigid.

The rows are the velocities of all that may touch or hold: corners of planar contacts, points, grasps (w = T f), points where bodies
meet the ground and other obstacles, joints at their stops. With v_free = v + h M⁻¹ f, the velocity without them, and G the rows'
Jacobian, v⁺ = v_free + M⁻¹Gᵀx, and impulses x obey Coulomb's law with u = G v⁺ − w (:mod:`.coulomb`); w is what lets a gap close within
the step, and brings back what lies inside, at a bounded pace. A corner presses while it is closed, opens without pulling, holds
as long as its friction suffices and slides against it; a stop ends the velocity that would pass it. All of it only takes energy.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import linalg

from interplay.constraints.contact import Contact, ContactRows
from interplay.constraints.limits import JointLimits
from interplay.scene.kinematics import Kinematics
from interplay.worlds.coulomb import FREE, Laws, settle
from interplay.worlds.obstacles import Points, point_rows

HELD = 1e-4
"""Up to here [m, rad] a contact is where it was made, and rounding is corrected; beyond it has slid, and stays where it is."""

LOST, TIPPED = 0.05, 0.35
"""A grasp that has slid so far [m] is lost; another contact when it has slid by its own length, opened or tipped so far [m, rad]."""

OUT = 0.1
"""Fastest return [m/s, rad/s] of what lies inside another, or beyond its stop."""

_STOP_NEAR = 0.05
"""Joints nearer to their stops than this [rad, m], or than they may come within a step, are looked at."""


class Response(NamedTuple):
    """What becomes of a short step."""

    qvel: np.ndarray
    """Velocities (nv,) at its end."""
    wrench: np.ndarray
    """Wrenches of the declared contacts, one after another."""
    slip: np.ndarray
    """How far each of their rows is from standing still [m/s², rad/s²]."""
    stopped: np.ndarray
    """Generalized force (nv,) of obstacles and stops."""
    resting: tuple[int, ...]
    """Bodies that obstacles carry."""
    returned: float
    """Work [J] of bringing back what lay inside another."""
    settled: bool
    """Whether impulses were found that obey Coulomb's law."""


def respond(
    terms: Kinematics,
    rows: ContactRows,
    J: np.ndarray,
    force: np.ndarray,
    points: Points,
    limits: JointLimits,
    h: float,
) -> Response:
    """Return what follows from generalized forces (nv,) in h seconds; J (rows.size, nv) are the contacts' Jacobians in contact axes."""
    spread = [_corners(c) for c in rows.contacts]
    T = np.asarray(linalg.block_diag(*spread)) if spread else np.zeros((0, 0))
    hold, still = _hold(terms, rows, J, h)
    declared = T.T @ J
    stops, room = _stops(limits, terms.qpos, terms.qvel, h)
    G = np.vstack([declared, point_rows(terms, points), stops])
    laws, wanted = _laws(rows, [t.shape[1] for t in spread], T.T @ hold, points, room, h)
    solved = terms.mass_solved(np.vstack([force, G]))
    free = terms.qvel + h * solved[0]
    if not len(G):
        return Response(free, np.zeros(0), np.zeros(0), np.zeros_like(free), (), 0.0, True)
    x, settled = settle(G @ solved[1:].T, G @ free - wanted, laws)
    qvel = free + x @ solved[1:]
    n = len(declared)
    slip = (J @ qvel - still) / h
    returned = float(x @ np.maximum(wanted, 0.0))
    return Response(qvel, T @ x[:n] / h, slip, x[n:] @ G[n:] / h, _carried(points, x[n:]), returned, bool(settled))


def _carried(points: Points, x: np.ndarray) -> tuple[int, ...]:
    """Return the bodies that are pressed upward at points."""
    upward = points.axes[:, 2, 2] * (x[2 : 3 * len(points.gap) : 3] > 0.0)
    pressed = np.concatenate([points.bodies[upward > 0.5, 0], points.bodies[upward < -0.5, 1]])
    return tuple(np.unique(pressed).tolist())


def lost(rows: ContactRows) -> list[bool]:
    """Return for each contact whether it has come off: slid away, opened or tipped."""
    out = []
    for contact, drift, opening in zip(rows.contacts, rows.drift, rows.opening()[0], strict=True):
        slid, tipped = float(np.linalg.norm(drift[:3])), float(np.linalg.norm(drift[3:]))
        if contact.kind == "grasp":
            out.append(slid > LOST)
        else:
            out.append(slid > 2.0 * max(LOST / 2.0, *contact.half) or opening > LOST or tipped > TIPPED)
    return out


def _corners(contact: Contact) -> np.ndarray:
    """Return T of a contact (dim, unknowns): the wrench of forces at the four corners of a patch, otherwise the identity."""
    if contact.kind != "planar":
        return np.eye(contact.dim)
    out = np.zeros((6, 12))
    for k, (sx, sy) in enumerate(((1, 1), (1, -1), (-1, 1), (-1, -1))):
        x, y = sx * contact.half[0], sy * contact.half[1]
        out[:3, 3 * k : 3 * k + 3] = np.eye(3)
        out[3:, 3 * k : 3 * k + 3] = [[0, 0, y], [0, 0, -x], [-y, x, 0]]  # (x, y, 0) × f
    return out


def _hold(terms: Kinematics, rows: ContactRows, J: np.ndarray, h: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the velocities J v⁺ that keep contacts together, and the same without leave to close: rounding is corrected.

    What has slid stays where it is; what has opened may close, and must before it presses. As in the program (20), the rows
    turn with the bodies: J v⁺ = e/h − h J̇q̇.
    """
    out = np.zeros((2, rows.size))
    for k, contact in enumerate(rows.contacts):
        R, p, at = rows.rotation[k], rows.position[k], slice(rows.start[k], rows.start[k + 1])
        one, two = (terms.motion(s.body, p).bias for s in (contact.first, contact.second))
        e, bias = (np.concatenate([R.T @ v[:3], R.T @ v[3:]])[: contact.dim] for v in (rows.drift[k], one - two))
        opening = np.isin(np.arange(contact.dim), (2, 3, 4)) & (contact.kind != "grasp")
        for part in (opening, ~opening):
            moved = np.abs(e[part]).max(initial=0.0) > HELD
            for wanted, back in zip(out, (not moved or part is opening, not moved), strict=True):
                wanted[at][part] = back * e[part] / h - h * bias[part]
    return out[0], out[1]


def _stops(limits: JointLimits, qpos: np.ndarray, qvel: np.ndarray, h: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows (n, nv) of joints that are near their stops, inward, and how far they are from them (n,)."""
    q, v = qpos[limits.adr], qvel[limits.dof]
    rows, room = [np.zeros((0, len(qvel)))], [np.zeros(0)]
    for sign, distance in ((1.0, q - limits.low), (-1.0, limits.high - q)):
        near = np.flatnonzero(distance < _STOP_NEAR + h * np.abs(v))
        out = np.zeros((len(near), len(qvel)))
        out[np.arange(len(near)), limits.dof[near]] = sign
        rows.append(out)
        room.append(distance[near])
    return np.vstack(rows), np.concatenate(room)


def _laws(
    rows: ContactRows, sizes: list[int], hold: np.ndarray, points: Points, room: np.ndarray, h: float
) -> tuple[Laws, np.ndarray]:
    """Return the laws of all rows and the velocities that are wanted along them; a contact that is lost gives nothing."""
    declared, met = sum(sizes), len(points.gap)
    total = declared + 3 * met + len(room)
    low, high = np.zeros(total), np.full(total, np.inf)
    normal, friction, wanted = np.full(total, FREE), np.zeros(total), np.zeros(total)
    wanted[:declared] = hold
    at = 0
    for contact, size, gone in zip(rows.contacts, sizes, lost(rows), strict=True):
        part = slice(at, at + size)
        if contact.kind == "grasp":
            high[part] = h * np.repeat([contact.grip_force, contact.grip_torque], 3)
            low[part] = -high[part]
        else:
            _friction(normal, friction, at, size // 3, contact.friction)
            normals = slice(at + 2, at + size, 3)
            wanted[normals] = np.minimum(wanted[normals], OUT)
        if gone:
            low[part] = high[part] = 0.0
        at += size
    for k in range(met):
        _friction(normal, friction, declared + 3 * k, 1, points.friction[k])
    gap = np.concatenate([points.gap, room])
    unilateral = np.concatenate([declared + 2 + 3 * np.arange(met), np.arange(declared + 3 * met, total)])
    wanted[unilateral] = np.minimum(-gap / h, OUT)
    return Laws(low, high, normal, friction), wanted


def _friction(normal: np.ndarray, friction: np.ndarray, at: int, points: int, coefficient: float) -> None:
    """Tie the two tangents of some points to their normals: a pyramid inside Coulomb's cone, |fx|, |fy| ≤ μ/√2 fz."""
    for k in range(at, at + 3 * points, 3):
        normal[k : k + 2], friction[k : k + 2] = k + 2, coefficient / np.sqrt(2.0)
