"""The laws of each world, by which recordings are judged. A new law is one entry, so is a new world."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from interplay.errors import pick
from interplay.io.ledger import Ledger


class Law(NamedTuple):
    """What must hold at every step: its name, the unit of what violates it, the arrays it is about, and the worst of some steps."""

    name: str
    unit: str
    needs: frozenset[str]
    worst: Callable[[Ledger], float]


def _largest(*terms: np.ndarray) -> np.ndarray:
    """Return the largest size of all terms, step by step (T,)."""
    return np.max([np.abs(term).reshape(len(term), -1).max(axis=1, initial=0.0) for term in terms], axis=0)


def _ratio(residual: np.ndarray, size: np.ndarray) -> float:
    return float((_largest(residual) / size).max(initial=0.0))


def _drift(book: Ledger) -> float:
    """Contacts stay where they were made."""
    return 1e3 * float(book.drift.max(initial=0.0))


def _penetration(book: Ledger) -> float:
    """No two shapes overlap, the ground included, but where a contact is declared or a hand is taking or letting go."""
    return 1e3 * float(book.depth.max(initial=0.0))


def _momentum(book: Ledger) -> float:
    """What changes a floating tree's momentum is gravity, contacts and pushes: A q̈ + Ȧ q̇ of each, about its centre of mass."""
    if not book.momentum_rate.size:
        return 0.0
    residual = book.momentum_rate - book.contact_wrench - book.push_wrench
    residual[:, :, :3] -= book.weight
    size = np.maximum(
        np.maximum(np.abs(book.momentum_rate).max(axis=2), np.abs(book.contact_wrench).max(axis=2)),
        np.abs(book.weight).max(axis=2),
    )
    return float((np.abs(residual).max(axis=2) / size).max())


def _motion(book: Ledger) -> float:
    """The equation of motion, with the torques that were recorded."""
    forces = book.tau + book.passive + book.applied + book.reaction
    size = _largest(book.inertial, book.bias, book.tau, book.reaction)
    return _ratio(book.inertial + book.bias - forces, size)


def _third_law(book: Ledger) -> float:
    """The program put on the two sides of its contacts what +w on the first and −w on the second, at one point, do."""
    return _ratio(book.qfrc_contact - book.reaction, np.maximum(_largest(book.reaction), 1e-9))


def _friction(book: Ledger) -> float:
    """Wrenches are inside their friction cones."""
    return float(book.outside.max(initial=0.0))


def _torque(book: Ledger) -> float:
    """Motors give no more than they can."""
    limited = np.isfinite(book.limits.torque)
    return float((np.abs(book.tau[:, limited]) / book.limits.torque[limited]).max(initial=0.0))


def _limit(book: Ledger) -> float:
    """Joints stay in their ranges."""
    q = book.qpos[:, book.limits.adr]
    return float(np.maximum(book.limits.low - q, q - book.limits.high).max(initial=0.0))


def _impulse(book: Ledger) -> float:
    """What changes a floating tree's momentum within a step is the impulse of gravity, all that touched, grips and pushes."""
    given = book.contact_wrench[:, :, :3] + book.push_wrench[:, :, :3] + book.weight
    residual = np.linalg.norm(book.momentum_change - given, axis=2)
    size = np.maximum(np.linalg.norm(book.weight, axis=2), np.linalg.norm(book.momentum_change, axis=2))
    return float(np.nanmax(residual / np.where(size > 0, size, 1.0), initial=0.0))


def _stopped(book: Ledger) -> float:
    """Nothing acts but what plans count on: no ground under who has fallen, no stop of a joint."""
    return float(np.abs(book.stopped).max(initial=0.0))


def _law(name: str, unit: str, needs: str, worst: Callable[[Ledger], float]) -> Law:
    return Law(name, unit, frozenset(needs.split()), worst)


MECHANICS = (
    _law("contact_drift_mm", "mm", "wrench", _drift),
    _law("penetration_mm", "mm", "", _penetration),
    _law("momentum_residual", "", "qvel qacc wrench", _momentum),
    _law("eom_residual", "", "qvel qacc tau wrench", _motion),
    _law("third_law_residual", "", "wrench", _third_law),
    _law("friction_violation", "N", "wrench", _friction),
    _law("torque_ratio", "", "tau", _torque),
    _law("limit_violation", "rad or m", "", _limit),
    _law("stopped_force", "N or N·m", "tau", _stopped),
)
"""Of rigid bodies with motors that touch: whatever the world, the bodies are the same."""

SIMULATED = (
    _law("impulse_residual", "", "qvel wrench", _impulse),
    _law("skate_mm", "mm", "wrench", _drift),
    _law("penetration_mm", "mm", "", _penetration),
    _law("torque_ratio", "", "tau", _torque),
    _law("limit_violation", "rad or m", "", _limit),
)
"""Of what a simulator does, whose contacts give a little."""

LAWS: dict[str, tuple[Law, ...]] = {"direct": MECHANICS, "rigid": MECHANICS, "simulated": SIMULATED}
"""By the names of the worlds."""


def laws_of(world: str) -> tuple[Law, ...]:
    """Return the laws of a world."""
    return pick("world with laws", world, LAWS)
