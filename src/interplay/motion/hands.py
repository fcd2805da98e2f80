"""The user's hand in the scene: a spring that holds a body and pulls it, and pushes that last a moment. Both are plain forces."""

from __future__ import annotations

from typing import Any, NamedTuple

import mujoco
import numpy as np

from interplay.errors import InputError, vector
from interplay.scene.kinematics import Kinematics

STIFFNESS, MOST_FORCE = 1000.0, 400.0
"""Stiffness [N/m] of the spring by which a body is pulled, and the most it pulls with [N]: a firm hand."""

PUSH_SECONDS = 0.1
"""How long an impulse takes [s], to the nearest step."""

MOST_IMPULSE, MOST_CHANGE = 50.0, 1.5
"""The largest impulse [N·s], and the largest change of the whole tree's velocity [m/s] that one may make."""


class Push(NamedTuple):
    """A force [N] and torque [N·m], world axes, on a body at a point fixed in it, until a time [s]."""

    body: int
    force: np.ndarray
    torque: np.ndarray
    local: np.ndarray
    until: float

    def generalized(self, terms: Kinematics, out: np.ndarray) -> None:
        """Add its generalized force (nv,)."""
        jacobian = terms.point(self.body, world_point(terms, self.body, self.local))[2]
        out[terms.chain(self.body)] += np.concatenate([self.force, self.torque]) @ jacobian


class Pull(NamedTuple):
    """A spring from a point fixed in a body to a point of the world [m]."""

    body: int
    local: np.ndarray
    goal: np.ndarray

    def force(self, terms: Kinematics, dt: float) -> tuple[np.ndarray, np.ndarray]:
        """Return where it holds (3,) [m], and its force (3,) [N]: k (goal − p) − 2√(km) ṗ, at most ``MOST_FORCE``.

        m is the body's inertia at that point where it is lightest, 1/max eig(J M⁻¹ Jᵀ): of the free tree, critically damped.
        The force is that of the beginning of a step, so what is too light for the step gets a softer spring, √(k/m) Δt ≤ ½.
        """
        point = world_point(terms, self.body, self.local)
        velocity, _, jacobian = terms.point(self.body, point)
        rows = np.zeros((3, terms.model.nv))
        rows[:, terms.chain(self.body)] = jacobian[:3]
        mass = 1.0 / float(np.linalg.eigvalsh(rows @ terms.mass_solved(rows).T)[-1])
        stiffness = min(STIFFNESS, mass * (0.5 / dt) ** 2)
        force = stiffness * (self.goal - point) - 2.0 * np.sqrt(stiffness * mass) * velocity[:3]
        size = float(np.linalg.norm(force))
        return point, force * (MOST_FORCE / size) if size > MOST_FORCE else force

    def push(self, terms: Kinematics, dt: float) -> Push:
        """Return its force as a push."""
        return Push(self.body, self.force(terms, dt)[1], np.zeros(3), self.local, np.inf)


def world_point(terms: Kinematics, body: int, local: np.ndarray) -> np.ndarray:
    """Return where a point fixed in a body is (3,) [m]."""
    return terms.xpos[body] + terms.xmat[body].reshape(3, 3) @ local


def within_reach(what: str, point: Any) -> np.ndarray:
    """Return a point (3,) [m], or raise an error: nothing is a kilometre away."""
    given = vector(what, point, 3)
    if np.abs(given).max() > 1e3:
        raise InputError(f"{what}: expected a point within 1000 m, got {point!r}")
    return given


def bounded_impulse(m: mujoco.MjModel, body: int, impulse: np.ndarray) -> np.ndarray:
    """Return an impulse [N·s], made smaller if it is larger than a hand's, or throws the body's tree."""
    impulse = np.clip(impulse, -1e6, 1e6)
    mass = float(m.body_subtreemass[m.body_rootid[body]])
    size, most = float(np.linalg.norm(impulse)), min(MOST_IMPULSE, MOST_CHANGE * mass)
    return impulse * (most / size) if size > most else impulse
