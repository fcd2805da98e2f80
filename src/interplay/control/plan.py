"""The plan: what a controller decides at a state. What a world makes of it is an outcome, and another thing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from interplay.constraints.contact import Contact
from interplay.control.state import Memory

ACCELERATION_QUANTUM, FORCE_QUANTUM = 2.0**-37, 2.0**-30
"""A plan is rounded to multiples of 7e-12 rad/s² (m/s²) and 1e-9 N (N·m): finer digits are a solver's noise, and without
them a recording is small."""


def rounded(x: np.ndarray, quantum: float) -> np.ndarray:
    """Return the nearest multiples of a quantum."""
    return np.rint(x / quantum) * quantum


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


@dataclass(frozen=True)
class Plan:
    """Accelerations (nv,), torques of the motors (nv,) and contact wrenches (n, 6), and what proves or qualifies them."""

    qacc: np.ndarray
    tau: np.ndarray
    contacts: tuple[Contact, ...]
    """The contacts it counts on …"""
    wrenches: np.ndarray
    """… and their wrenches ON the first BY the second, in contact axes, …"""
    qfrc_contact: np.ndarray
    """… and the generalized force (nv,) of them all."""
    conflicts: tuple[Conflict, ...]
    memory: Memory
    """What dampers and perception keep for the next step."""
    proof: Proof
    timing: Timing
    closest: float
    """Smallest distance [m] of the pairs that avoid each other, at the state it was made in; infinite if none is near."""

    @property
    def fallback(self) -> bool:
        """Whether something had to be relaxed."""
        return bool(self.conflicts)
