"""The state: one moment of a scene, with all that is kept from step to step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import mujoco
import numba
import numpy as np

from interplay.constraints.collision import ActivePairs
from interplay.constraints.contact import Contact
from interplay.constraints.contact_set import contact_from
from interplay.errors import StateError

_FASTEST = 1e4
"""No body moves faster than this [m/s, rad/s]."""

Past = tuple[tuple[np.ndarray, np.ndarray], ...]
"""Configurations and velocities of the last steps, the latest last."""


class Touching(NamedTuple):
    """Contacts that were in force during a step, and their wrenches (n, 6) ON the first BY the second, in contact axes."""

    contacts: tuple[Contact, ...] = ()
    wrenches: np.ndarray = np.zeros((0, 6))

    def force(self, surface: str) -> np.ndarray:
        """Return the force [N] ON a surface, in its contact axes (z: into it); of several contacts that of the last."""
        found = np.zeros(3)
        for contact, wrench in zip(self.contacts, self.wrenches, strict=True):
            if contact.first.name == surface:
                found = wrench[:3]
            elif contact.second.name == surface and not contact.second.fixed:
                found = contact.second_side * wrench[:3]
        return found

    def by_label(self) -> Mapping[tuple[str, str], np.ndarray]:
        """Return the wrenches by the names of the contacts' two sides."""
        return {c.label: w for c, w in zip(self.contacts, self.wrenches, strict=True)}

    def checkpoint(self) -> list[dict[str, Any]]:
        """Return it as plain numbers."""
        pairs = zip(self.contacts, self.wrenches, strict=True)
        return [{"contact": c.checkpoint(), "wrench": w.tolist()} for c, w in pairs]

    @classmethod
    def restore(cls, m: mujoco.MjModel, data: list[dict[str, Any]]) -> Touching:
        """Return what ``checkpoint`` wrote."""
        wrenches = np.array([entry["wrench"] for entry in data], float).reshape(-1, 6)
        return cls(tuple(contact_from(m, entry["contact"]) for entry in data), wrenches)


class Memory(NamedTuple):
    """What is kept from step to step: ξ of each joint limit (2, joints), and of each pair of shapes inside its zone.

    ``past`` is what someone has still to see of it; ``felt`` what touched in the last step, and how hard.
    """

    limits: np.ndarray
    pairs: ActivePairs
    past: Past = ()
    felt: Touching = Touching()

    def checkpoint(self) -> dict[str, Any]:
        """Return the memory as plain numbers."""
        return {
            "limits": self.limits.tolist(),
            "pairs": self.pairs.checkpoint(),
            "past": [[qpos.tolist(), qvel.tolist()] for qpos, qvel in self.past],
            "felt": self.felt.checkpoint(),
        }

    @classmethod
    def restore(cls, m: mujoco.MjModel, data: dict[str, Any]) -> Memory:
        """Return the memory written by ``checkpoint``."""
        past = tuple((np.array(qpos, float), np.array(qvel, float)) for qpos, qvel in data["past"])
        limits = np.array(data["limits"], float).reshape(2, -1)
        return cls(limits, ActivePairs.restore(data["pairs"]), past, Touching.restore(m, data["felt"]))


@dataclass(frozen=True)
class State:
    """One moment: time [s], configuration (nq,), velocity (nv,), generalized forces from outside (nv,), memory.

    A state is never changed: what was computed for one is known by its identity.
    """

    time: float
    qpos: np.ndarray
    qvel: np.ndarray
    applied: np.ndarray
    """Of pushes and pulls, constant until the next step."""
    memory: Memory = field(repr=False)

    def with_(self, **changes: Any) -> State:
        """Return a copy with some fields changed."""
        return replace(self, **changes)

    def checkpoint(self) -> dict[str, Any]:
        """Return the state as plain numbers."""
        arrays = {name: getattr(self, name).tolist() for name in ("qpos", "qvel", "applied")}
        return {"time": self.time, **arrays, "memory": self.memory.checkpoint()}

    @classmethod
    def restore(cls, m: mujoco.MjModel, data: dict[str, Any]) -> State:
        """Return the state written by ``checkpoint``."""
        qpos, qvel, applied = (np.array(data[name], float) for name in ("qpos", "qvel", "applied"))
        state = cls(float(data["time"]), qpos, qvel, applied, Memory.restore(m, data["memory"]))
        check_state(m, state)
        return state


def check_state(m: mujoco.MjModel, state: State) -> None:
    """Raise when a state is not finite or does not fit the model."""
    sizes = (state.qpos.size, state.qvel.size, state.applied.size)
    if sizes == (m.nq, m.nv, m.nv) and _sound(state.qpos, state.qvel, state.applied):
        return
    for fault in _faults(m, state):
        raise StateError(f"at t = {state.time:.4f} s, {fault}")


def _faults(m: mujoco.MjModel, state: State) -> Iterator[str]:
    for name, array, size in (("qpos", state.qpos, m.nq), ("qvel", state.qvel, m.nv), ("applied", state.applied, m.nv)):
        if array.shape != (size,):
            yield f"{name}: expected {size} numbers, got shape {array.shape}"
        elif not np.isfinite(array).all():
            index = int(np.flatnonzero(~np.isfinite(array))[0])
            yield f"{name}[{index}] is {array[index]}: expected finite numbers"
        elif name == "qvel" and np.abs(array).max(initial=0.0) > _FASTEST:
            yield f"qvel[{int(np.abs(array).argmax())}] is {array[np.abs(array).argmax()]:.3g}: no body moves that fast"


@numba.njit(cache=True)
def _sound(qpos, qvel, applied):
    total, fastest = 0.0, 0.0
    for part in (qpos, qvel, applied):
        for value in part:
            total += 0.0 * value
    for value in qvel:
        fastest = max(fastest, abs(value))
    return total == 0.0 and fastest <= _FASTEST
