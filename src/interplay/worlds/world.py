"""The outcome of a plan, and what a world is."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import mujoco
import numpy as np

from interplay.constraints.manner import Manner
from interplay.control.plan import Conflict, Plan
from interplay.control.state import State, Touching
from interplay.scene.kinematics import Kinematics


class Touches(NamedTuple):
    """All that touched within a step, meant or not: pairs of bodies (k, 2), and the mean force (k, 3) [N] ON the first, world axes."""

    bodies: np.ndarray = np.zeros((0, 2), np.int64)
    force: np.ndarray = np.zeros((0, 3))


class Substeps(NamedTuple):
    """The steps of a simulator within one control step: the states in which they began, and all that acted from outside."""

    time: np.ndarray
    qpos: np.ndarray
    qvel: np.ndarray
    ctrl: np.ndarray
    servo: np.ndarray
    """``actuator_biastype``: which motors are servos (1), which give the torque in ``ctrl`` (0)."""
    qfrc_applied: np.ndarray


NOTHING = Touches()


class Outcome(NamedTuple):
    """What became of a plan within one control step."""

    state: State
    """The state at the end of the step."""
    qacc: np.ndarray
    """Accelerations (nv,) as they were, (v⁺ − v)/Δt."""
    tau: np.ndarray
    """Torques (nv,) that the motors gave."""
    touching: Touching
    """Contacts and wrenches as they were."""
    qfrc_contact: np.ndarray
    """Generalized force (nv,) of all contacts."""
    stopped: np.ndarray
    """Generalized force (nv,) of what no plan counts on: stops of joints, ground and obstacles where no contact was declared."""
    resting: tuple[int, ...]
    """Bodies that the ground or another obstacle carries where no contact was declared."""
    conflicts: tuple[Conflict, ...]
    """What gave way: in the plan, or in the world."""
    plan: Plan
    touches: Touches = NOTHING
    """Where a simulator finds contacts by itself: all of them."""
    substeps: Substeps | None = None
    """Its own steps, where they are asked for."""

    @property
    def fallback(self) -> bool:
        """Whether something had to give way."""
        return bool(self.conflicts)


class World(Protocol):
    """Turns a state and a plan into the next state. Where it remembers anything, that is in its checkpoint."""

    name: str
    manner: Manner
    """How firmly plans may ask of it."""
    finds_contacts: bool
    """Whether things touch by themselves, not only where a contact is declared: outcomes then tell of all that touched."""
    keeps_substeps: bool | None
    """Whether outcomes tell every step of its own; None: it has none."""

    def advance(self, state: State, plan: Plan, terms: Kinematics, time: float) -> Outcome:
        """Return what becomes of a plan until ``time`` [s], when the next one is made; ``terms`` are those of the state."""
        ...

    def checkpoint(self) -> Any:
        """Return what ``restore`` needs besides the state, as plain numbers; None: nothing."""
        ...

    def restore(self, data: Any) -> None:
        """Continue from a checkpoint."""
        ...


def integrate(
    m: mujoco.MjModel, qpos: np.ndarray, qvel: np.ndarray, qacc: np.ndarray, dt: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return (q⁺, v⁺), semi-implicit: v⁺ = v + q̈ Δt, then q⁺ = q ⊕ v⁺ Δt."""
    qvel, qpos = qvel + qacc * dt, qpos.copy()
    mujoco.mj_integratePos(m, qpos, qvel, dt)
    mujoco.mj_normalizeQuat(m, qpos)
    return qpos, qvel
