"""State and solution: what goes into a controller and what comes out of it."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import mujoco
import numba
import numpy as np

from interplay.constraints.collision import ActivePairs
from interplay.errors import StateError

ACCELERATION_QUANTUM, FORCE_QUANTUM = 2.0**-37, 2.0**-30
"""A solution is rounded to multiples of 7e-12 rad/s² (m/s²) and 1e-9 N (N·m): finer digits are a solver's noise, and without
them a recording is small."""


def rounded(x: np.ndarray, quantum: float) -> np.ndarray:
    """Return the nearest multiples of a quantum."""
    return np.rint(x / quantum) * quantum


_FASTEST = 1e4
"""No body moves faster than this [m/s, rad/s]."""


Past = tuple[tuple[np.ndarray, np.ndarray], ...]
"""Configurations and velocities of the last steps, the latest last."""


class Memory(NamedTuple):
    """What is kept from step to step: ξ of each joint limit (2, joints), and of each pair of shapes inside its zone.

    ``past`` is what someone has still to see of it; ``felt`` are the wrenches of the contacts by name, where a controller goes
    by them.
    """

    limits: np.ndarray
    pairs: ActivePairs
    past: Past = ()
    felt: Mapping[str, np.ndarray] = MappingProxyType({})

    def checkpoint(self) -> dict[str, Any]:
        """Return the memory as plain numbers."""
        return {
            "limits": self.limits.tolist(),
            "pairs": self.pairs.checkpoint(),
            "past": [[qpos.tolist(), qvel.tolist()] for qpos, qvel in self.past],
            "felt": {name: wrench.tolist() for name, wrench in self.felt.items()},
        }

    @classmethod
    def restore(cls, data: dict[str, Any]) -> Memory:
        """Return the memory written by ``checkpoint``."""
        past = tuple((np.array(qpos, float), np.array(qvel, float)) for qpos, qvel in data["past"])
        felt = {name: np.array(wrench, float) for name, wrench in data["felt"].items()}
        return cls(np.array(data["limits"], float).reshape(2, -1), ActivePairs.restore(data["pairs"]), past, felt)


@dataclass(frozen=True)
class State:
    """One moment: time [s], configuration (nq,), velocity (nv,), generalized forces of user pushes (nv,), memory.

    ``yielded`` (nv,) are accelerations that objectives let happen beside what they ask for: where the user's hand is given way.
    """

    time: float
    qpos: np.ndarray
    qvel: np.ndarray
    applied: np.ndarray
    memory: Memory = field(repr=False)
    yielded: np.ndarray | None = None

    def with_(self, **changes: Any) -> State:
        """Return a copy with some fields changed."""
        return replace(self, **changes)


def check_state(m: mujoco.MjModel, state: State) -> None:
    """Raise, and write the state to a file, when it is not finite or does not fit the model."""
    sizes = (state.qpos.size, state.qvel.size, state.applied.size)
    if sizes == (m.nq, m.nv, m.nv) and _sound(state.qpos, state.qvel, state.applied):
        return
    bad = None
    for name, array, size in (("qpos", state.qpos, m.nq), ("qvel", state.qvel, m.nv), ("applied", state.applied, m.nv)):
        if array.shape != (size,):
            bad = f"{name}: expected {size} numbers, got shape {array.shape}"
        elif not np.isfinite(array).all():
            index = int(np.flatnonzero(~np.isfinite(array))[0])
            bad = f"{name}[{index}] is {array[index]}: expected finite numbers"
        elif name == "qvel" and np.abs(array).max(initial=0.0) > _FASTEST:
            bad = f"qvel[{int(np.abs(array).argmax())}] is {array[np.abs(array).argmax()]:.3g}: no body moves that fast"
        if bad:
            raise StateError(f"at t = {state.time:.4f} s, {bad}", dump_state(state))


@numba.njit(cache=True)
def _sound(qpos, qvel, applied):
    total, fastest = 0.0, 0.0
    for part in (qpos, qvel, applied):
        for value in part:
            total += 0.0 * value
    for value in qvel:
        fastest = max(fastest, abs(value))
    return total == 0.0 and fastest <= _FASTEST


def dump_state(state: State) -> str:
    """Write a state to a new file in ``$INTERPLAY_DUMPS`` (or the temporary folder) and return its path.

    ``load_state`` reads it back: give the state to ``controller.solve`` or ``explain`` of the same simulation.
    """
    folder = os.environ.get("INTERPLAY_DUMPS") or tempfile.gettempdir()
    if not os.path.isdir(folder):
        folder = tempfile.gettempdir()
    with tempfile.NamedTemporaryFile("wb", prefix="interplay_state_", suffix=".npz", dir=folder, delete=False) as file:
        np.savez(
            file,
            time=state.time,
            qpos=state.qpos,
            qvel=state.qvel,
            applied=state.applied,
            memory=json.dumps(state.memory.checkpoint()),
        )
    return file.name


def load_state(path: str | Path) -> State:
    """Return a state written by ``dump_state``."""
    with np.load(path, allow_pickle=False) as data:
        return State(
            float(data["time"]),
            data["qpos"],
            data["qvel"],
            data["applied"],
            Memory.restore(json.loads(str(data["memory"]))),
        )


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
class Solution:
    """Accelerations (nv,), torques (nv,), contact wrenches (C, 6) in contact axes, and what proves or qualifies them."""

    qacc: np.ndarray
    tau: np.ndarray
    wrenches: np.ndarray
    qfrc_contact: np.ndarray
    site_wrenches: np.ndarray
    drift: np.ndarray
    conflicts: tuple[Conflict, ...]
    fallback: bool
    memory: Memory
    proof: Proof
    timing: Timing
    closest: float
