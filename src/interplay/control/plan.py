"""The plan: what a controller decides at a state. What a world makes of it is an outcome, and another thing."""

from __future__ import annotations

from typing import NamedTuple

import mujoco
import numba
import numpy as np

from interplay.constraints.contact import Contact
from interplay.control.state import Memory
from interplay.models.motors import Gains

ACCELERATION_QUANTUM, FORCE_QUANTUM = 2.0**-37, 2.0**-30
"""A plan is rounded to multiples of 7e-12 rad/s² (m/s²) and 1e-9 N (N·m): finer digits are a solver's noise, and without
them a recording is small."""

OPENED, SUNK = 0.01, 0.02
"""How far a contact is open [m] when its two sides no longer touch, and how deep [m] the ground is not where it
seems: rounding, and the soles of shoes, are less."""

LAWS = frozenset({"collision", "limit", "torque", "slip", "solver", "fall"})
"""Kinds of conflicts after which a plan cannot be carried out as it is; a wished force is a comfort, no law."""


@numba.njit(cache=True)
def rounded(x, quantum):
    """Return the nearest multiples of a quantum (n,)."""
    out = np.empty(x.shape[0])
    for i in range(x.shape[0]):
        out[i] = np.rint(x[i] / quantum) * quantum
    return out


class Conflict(NamedTuple):
    """A row that had to be relaxed: its kind, its name, and by how much, in its unit."""

    kind: str
    name: str
    amount: float
    unit: str


class Proof(NamedTuple):
    """What the solver says of its solution: status, iterations, residuals and duality gap."""

    status: str
    iterations: int
    primal_residual: float
    dual_residual: float
    gap: float


class Timing(NamedTuple):
    """Seconds spent on the model's terms, on assembly, on solving."""

    model: float
    assemble: float
    solve: float


class Servo(NamedTuple):
    """Servos of some motors: kp (q_ref − q) + kd (v_ref − v) beside a plan's torques, all within the motors' limits."""

    dofs: np.ndarray
    """DOFs (k,) whose servos are on …"""
    position: np.ndarray
    """… q_ref (k,) [rad, m] …"""
    velocity: np.ndarray
    """… and v_ref (k,) [rad/s, m/s]."""

    def torque(self, m: mujoco.MjModel, gains: Gains, qpos: np.ndarray, qvel: np.ndarray) -> np.ndarray:
        """Return what they ask of the motors (nv,) at a state, before these are at their limits."""
        k, out = self.dofs, np.zeros(m.nv)
        off, faster = self.position - qpos[m.jnt_qposadr[m.dof_jntid[k]]], self.velocity - qvel[k]
        out[k] = gains.stiffness[k] * off + gains.damping[k] * faster
        return out

    def without(self, dofs: np.ndarray) -> Servo:
        """Return those of other DOFs."""
        kept = ~np.isin(self.dofs, dofs)
        return Servo(self.dofs[kept], self.position[kept], self.velocity[kept])

    @staticmethod
    def joined(*servos: Servo) -> Servo | None:
        """Return servos of several characters as one; None of none."""
        return Servo(*map(np.concatenate, zip(*servos, strict=True))) if servos else None


class Plan(NamedTuple):
    """Accelerations (nv,), torques of the motors (nv,) and contact wrenches (n, 6), and what proves or qualifies them."""

    qacc: np.ndarray
    tau: np.ndarray
    contacts: tuple[Contact, ...]
    """The contacts it counts on …"""
    wrenches: np.ndarray
    """… and their wrenches ON the first BY the second, in contact axes, …"""
    qfrc_contact: np.ndarray
    """… and the generalized force (nv,) of them all."""
    drift: np.ndarray
    """How far the two sides of each contact are from where it was made (n, 6) [m, rad], world axes …"""
    opening: np.ndarray
    """… how far they have opened (n,) [m] …"""
    widest: float
    """… and how far the one has that is open widest."""
    conflicts: tuple[Conflict, ...]
    memory: Memory
    """What dampers and perception keep for the next step."""
    proof: Proof
    timing: Timing
    sunk: float
    """How deep [m] a body that no contact puts on the ground is below it, if it goes on as it moves; 0: none is."""
    servo: Servo | None = None
    """Servos that act beside the torques; what they do within the step is found out by the world."""

    @property
    def opened(self) -> bool:
        """Whether it counts on a contact that has opened: no force acts across a gap."""
        return self.widest > OPENED

    @property
    def possible(self) -> bool:
        """Whether it may happen as it is: nothing gave way but wishes, what it counts on is there, nobody is in the ground, no servo acts."""
        if self.widest > OPENED or self.sunk > SUNK or self.servo is not None:
            return False
        return not self.conflicts or all(c.kind not in LAWS for c in self.conflicts)

    @property
    def fallback(self) -> bool:
        """Whether something had to be relaxed."""
        return bool(self.conflicts)
