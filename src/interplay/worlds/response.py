"""What a coupled system does under given forces: accelerations and contact wrenches by Coulomb's law, bodies rigid.

The unknowns are forces at the corners of planar contacts, forces of points and wrenches of grasps: w = T f. With a the acceleration
without contacts and r what keeps them together within a step, f minimises ½ fᵀ(H + ε) f + fᵀ(Tᵀ(J a − r) + d), H = TᵀJ M⁻¹JᵀT, over
pyramids of friction and the strength of grips (Gauss' principle). Its solution alone would let a sliding corner rise by μ times
its slip s; the offset d = μ|s| of the normals, found by repetition, takes that back (de Saxcé): a corner presses while it is
closed, opens without pulling, holds as long as its friction suffices and slides against it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import linalg, sparse

from interplay.constraints.contact import Contact, ContactRows, point_cone
from interplay.qp.problem import QP
from interplay.qp.solvers import Piqp
from interplay.scene.kinematics import Kinematics

COMPLIANCE = 1e-8
"""How much a contact yields [m/s² per N]: decides the forces that rigid bodies leave undecided."""

HELD = 1e-4
"""Up to here [m, rad] a contact is where it was made, and rounding is corrected; beyond it has slid, and stays where it is."""

LOST = 0.05
"""A grasp that has slid so far [m] is lost; a planar contact when it has slid by its own length."""

_REPEATS, _SETTLED = 20, 1e-3
"""How often the offset is found anew, and what change of it [m/s²] is none."""


class Response(NamedTuple):
    """Accelerations (nv,), wrenches of the contacts one after another, how far each row is from standing still."""

    qacc: np.ndarray
    wrench: np.ndarray
    slip: np.ndarray
    status: str
    settled: bool
    """Whether forces were found that obey Coulomb's law."""
    iterations: int


def respond(terms: Kinematics, rows: ContactRows, J: np.ndarray, force: np.ndarray, dt: float) -> Response:
    """Return what follows from generalized forces (nv,); J (rows.size, nv) are the contacts' Jacobians in contact axes."""
    spread = [_corners(c) for c in rows.contacts]
    T = np.asarray(linalg.block_diag(*spread)) if spread else np.zeros((0, 0))
    r, still = _hold(terms, rows, J, dt)
    solved: np.ndarray = np.linalg.solve(terms.full_mass(), np.column_stack([force, J.T @ T]))
    free, yielding = solved[:, 0], solved[:, 1:]
    H, b = T.T @ J @ yielding, T.T @ (J @ free - r)
    cones, low, high, normals = _laws(rows, [t.shape[1] for t in spread])
    program = QP(
        sparse.csc_matrix(np.triu(H + COMPLIANCE * np.eye(len(b)))),
        b,
        sparse.csc_matrix((0, len(b))),
        np.zeros(0),
        sparse.csc_matrix(cones),
        np.zeros(len(cones)),
        np.full(len(cones), np.inf),
        low,
        high,
        None,
    )
    f, offset, status, iterations = np.zeros(len(b)), np.zeros(len(b)), "no contact", 0
    done = not len(b)
    for _ in range(_REPEATS if len(b) else 0):
        found = Piqp().solve(program._replace(c=b + offset))
        iterations, status = iterations + found.iterations, found.status
        if not found.solved:
            break
        f = found.x
        slip = H @ f + b
        new = np.zeros(len(b))
        for at, mu in normals:
            new[at] = mu * (abs(slip[at - 2]) + abs(slip[at - 1]))
        done = np.abs(new - offset).max() < _SETTLED
        offset = new
        if done:
            break
    qacc = free + yielding @ f
    return Response(qacc, T @ f, J @ qacc - still, status, bool(done), iterations)


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


def _hold(terms: Kinematics, rows: ContactRows, J: np.ndarray, dt: float) -> tuple[np.ndarray, np.ndarray]:
    """Return r of J q̈ = r, and r without leave to close: relative velocities end within the step, rounding is corrected.

    What has slid stays where it is; what has opened may close, and must before it presses.
    """
    velocity, out = J @ terms.qvel, np.zeros((2, rows.size))
    for k, contact in enumerate(rows.contacts):
        R, p, at = rows.rotation[k], rows.position[k], slice(rows.start[k], rows.start[k + 1])
        one, two = (terms.motion(s.body, p).bias for s in (contact.first, contact.second))
        e, bias = (np.concatenate([R.T @ v[:3], R.T @ v[3:]])[: contact.dim] for v in (rows.drift[k], one - two))
        opening = np.isin(np.arange(contact.dim), (2, 3, 4)) & (contact.kind != "grasp")
        for part in (opening, ~opening):
            moved = np.abs(e[part]).max(initial=0.0) > HELD
            for r, back in zip(out, (not moved or part is opening, not moved), strict=True):
                r[at][part] = (back * e[part] / dt - velocity[at][part]) / dt - bias[part]
    return out[0], out[1]


def _laws(rows: ContactRows, sizes: list[int]) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[tuple[int, float]]]:
    """Return friction pyramids, bounds of grips (nothing where a contact is lost), and each normal force with its friction."""
    total, at = sum(sizes), 0
    low, high = np.full(total, -np.inf), np.full(total, np.inf)
    blocks, normals = [], []
    for contact, size, drift in zip(rows.contacts, sizes, rows.drift, strict=True):
        part = slice(at, at + size)
        if contact.kind == "grasp":
            strength = np.repeat([contact.grip_force, contact.grip_torque], 3)
            low[part], high[part] = -strength, strength
            blocks.append(np.zeros((0, 6)))
            reach = LOST
        else:
            blocks += [point_cone(contact.friction)] * (size // 3)
            normals += [(at + k, contact.friction / np.sqrt(2.0)) for k in range(2, size, 3)]
            reach = 2.0 * max(LOST / 2.0, *contact.half)
        if np.linalg.norm(drift[:3]) > reach:
            low[part] = high[part] = 0.0
        at += size
    cones = np.asarray(linalg.block_diag(*blocks)) if blocks else np.zeros((0, total))
    return cones.reshape(-1, total), low, high, normals
