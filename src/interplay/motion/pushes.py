"""The user's hand in the scene: a spring that holds a body and pulls it, and pushes that last a moment. Both are plain forces."""

from __future__ import annotations

from typing import Any, NamedTuple

import mujoco
import numpy as np

from interplay.errors import InputError, vector
from interplay.scene.kinematics import Kinematics
from interplay.scene.scene import Scene

STIFFNESS, MOST_FORCE, MOST_IMPULSE = 1000.0, 400.0, 120.0
"""Stiffness [N/m] of the spring by which a body is pulled, the most it pulls with [N], the largest impulse [N·s]: a firm hand."""

PUSH_SECONDS = 0.1
"""How long an impulse takes [s], to the nearest step."""


FASTEST_THROW = 100.0
"""How fast a thing is thrown at most [m/s], along each axis: within one of the simulator's steps, a faster ball would be through a body."""


class Measure(NamedTuple):
    """How hard a hand is at most: its pull as a part of the weight, its push as a change of velocity [m/s] of the whole."""

    pull: float
    push: float


CHARACTER, THING = Measure(0.07, 0.2), Measure(1.5, 1.0)
"""A character stands on her feet, 0.1 m before and behind her, and does not step: pulled at the chest by a tenth of her weight, or
thrown faster than her capture point has room, she must fall. A thing can be lifted."""


class Push(NamedTuple):
    """A force [N] and torque [N·m], world axes, on a body at a point fixed in it, until a time [s]."""

    body: int
    force: np.ndarray
    torque: np.ndarray
    local: np.ndarray
    until: float
    given_way: bool = False
    """Whether objectives give way to it, or hold against it."""

    def checkpoint(self) -> list[Any]:
        """Return it as plain numbers."""
        return [part.tolist() if isinstance(part, np.ndarray) else part for part in self]

    @classmethod
    def restore(cls, data: list[Any]) -> Push:
        """Return what ``checkpoint`` returned."""
        body, force, torque, local, until, given_way = data
        return cls(body, np.array(force), np.array(torque), np.array(local), until, given_way)

    def generalized(self, terms: Kinematics, out: np.ndarray) -> None:
        """Add its generalized force (nv,)."""
        jacobian = terms.point(self.body, world_point(terms, self.body, self.local))[2]
        out[terms.chain(self.body)] += np.concatenate([self.force, self.torque]) @ jacobian


class Pull(NamedTuple):
    """A spring from a point fixed in a body to a point of the world [m]."""

    body: int
    local: np.ndarray
    goal: np.ndarray
    most: float
    """The largest force [N]."""

    def force(self, terms: Kinematics, dt: float) -> tuple[np.ndarray, np.ndarray]:
        """Return where it holds (3,) [m], and its force (3,) [N]: k (goal − p) − 2√(km) ṗ, either part at most ``most``.

        m is the body's inertia at that point where it is lightest, 1/max eig(J M⁻¹ Jᵀ): of the free tree, critically damped.
        The force is that of the beginning of a step, so what is too light for the step gets a softer spring, √(k/m) Δt ≤ ½.
        """
        point = world_point(terms, self.body, self.local)
        velocity, _, jacobian = terms.point(self.body, point)
        rows = np.zeros((3, terms.model.nv))
        rows[:, terms.chain(self.body)] = jacobian[:3]
        lightest = float(np.linalg.eigvalsh(rows @ terms.mass_solved(rows).T)[-1])
        mass = 1.0 / max(lightest, 1e-6)  # a point on a hinge's axis does not move at all
        stiffness = min(STIFFNESS, mass * (0.5 / dt) ** 2)
        spring, damper = stiffness * (self.goal - point), 2.0 * np.sqrt(stiffness * mass) * velocity[:3]
        return point, bounded(spring, self.most) - bounded(damper, self.most)

    def checkpoint(self) -> list[Any]:
        """Return it as plain numbers."""
        return [self.body, self.local.tolist(), self.goal.tolist(), self.most]

    @classmethod
    def restore(cls, data: list[Any]) -> Pull:
        """Return what ``checkpoint`` returned."""
        body, local, goal, most = data
        return cls(body, np.array(local), np.array(goal), most)

    def push(self, terms: Kinematics, dt: float) -> Push:
        """Return its force as a push."""
        return Push(self.body, self.force(terms, dt)[1], np.zeros(3), self.local, np.inf, True)


def world_point(terms: Kinematics, body: int, local: np.ndarray) -> np.ndarray:
    """Return where a point fixed in a body is (3,) [m]."""
    return terms.xpos[body] + terms.xmat[body].reshape(3, 3) @ local


def strength(m: mujoco.MjModel, body: int) -> tuple[float, float]:
    """Return the most a hand pulls a body with [N], and the largest impulse it gives it [N·s]."""
    tree = int(m.body_treeid[body])
    joints = m.actuator_trnid[m.actuator_trntype == mujoco.mjtTrn.mjTRN_JOINT, 0]
    measure = CHARACTER if (m.dof_treeid[m.jnt_dofadr[joints]] == tree).any() else THING
    mass = float(m.body_mass[m.body_treeid == tree].sum())
    return min(MOST_FORCE, measure.pull * 9.81 * mass), min(MOST_IMPULSE, measure.push * mass)


def movable(scene: Scene, body: str) -> int:
    """Return the id of a body that can move, or raise an error."""
    if not isinstance(body, str):
        raise InputError(f"expected the name of a body, got {body!r}")
    index = scene.body(body)
    if scene.model.body_treeid[index] < 0:
        raise InputError(f"{body!r} cannot move: it belongs to the fixed environment")
    return index


def thrown(scene: Scene, thing: str, position: Any, velocity: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return where (3,) [m] and how fast (3,) [m/s] a thing is thrown, or raise an error: only what is free can be."""
    if scene.kind(thing) != "object":
        raise InputError(f"throw {thing!r}: expected a free thing such as a ball, got a {scene.kind(thing)}")
    speed = vector("throw velocity", velocity, 3)
    if np.abs(speed).max() > FASTEST_THROW:
        raise InputError(f"throw velocity: expected at most {FASTEST_THROW:g} m/s along each axis, got {velocity!r}")
    return within_reach("throw position", position), speed


def hand_push(m: mujoco.MjModel, body: int, impulse: Any, dt: float, catches: bool = False) -> tuple[np.ndarray, float]:
    """Return force [N] and seconds of a hand's push: an impulse [N·s] of at most what the body can stand, within 0.1 s.

    Who ``catches`` herself, by a step or by getting up again, is pushed as hard as one can.
    """
    given = bounded(vector("push impulse", impulse, 3), MOST_IMPULSE if catches else strength(m, body)[1])
    seconds = max(1, round(PUSH_SECONDS / dt)) * dt
    return given / seconds, seconds


def within_reach(what: str, point: Any) -> np.ndarray:
    """Return a point (3,) [m], or raise an error: nothing is a kilometre away."""
    given = vector(what, point, 3)
    if np.abs(given).max() > 1e3:
        raise InputError(f"{what}: expected a point within 1000 m, got {point!r}")
    return given


def bounded(vector: np.ndarray, most: float) -> np.ndarray:
    """Return a vector, made shorter if it is longer than ``most``."""
    size = float(np.abs(vector).max()) or 1.0  # the square of a huge number is infinite
    length = size * float(np.linalg.norm(vector / size))
    return vector * (most / length) if length > most else vector
