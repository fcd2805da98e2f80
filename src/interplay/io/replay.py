"""A recording on its saved scene, step by step: states, and what follows from them and from what was recorded."""

from __future__ import annotations

import copy
from functools import cached_property
from typing import NamedTuple

import mujoco
import numpy as np

from interplay.constraints.contact import Contact, ContactRows
from interplay.constraints.contact_set import contact_from
from interplay.constraints.limits import torque_limits
from interplay.io.recording import Recording
from interplay.scene.kinematics import Kinematics


class Derived(NamedTuple):
    """What a run's accelerations and wrenches imply, over all steps."""

    tau: np.ndarray
    qfrc_contact: np.ndarray
    wrench: np.ndarray
    drift: np.ndarray


class Replay:
    """Moves through a recording; ``derived`` is torques, generalized contact forces, wrenches at sites, and contact drift."""

    def __init__(self, recording: Recording):
        """Take a recording; its model is copied, because masses may change on the way."""
        self.recording = recording
        self.model = m = copy.copy(recording.model)
        self.terms = Kinematics(m)
        self.sites = [
            [mujoco.mj_name2id(m, mujoco.mjtObj.mjOBJ_SITE, name) for name in pair] for pair in recording.contacts
        ]
        self.contact_sets: list[list[Contact]] = [
            [contact_from(m, entry) for entry in members] for members in recording.contact_sets
        ]
        self._masses = recording.masses()

    def at(self, t: int) -> Kinematics:
        """Move to a step and return the terms."""
        if self._masses is not None and not np.array_equal(self.model.body_mass, self._masses[0][t]):
            self.model.body_mass[:], self.model.body_inertia[:] = self._masses[0][t], self._masses[1][t]
            mujoco.mj_setConst(self.model, mujoco.MjData(self.model))
        self.terms.update(self.recording["qpos"][t], self.recording["qvel"][t])
        return self.terms

    def applied(self, t: int) -> np.ndarray:
        """Return the generalized force of user pushes at a step."""
        return self.recording["applied"][t] if "applied" in self.recording.arrays else np.zeros(self.model.nv)

    def columns(self, t: int) -> list[int]:
        """Return the places of a step's contacts among all contacts of the run."""
        contacts = self.contact_sets[self.recording["contact_set"][t]]
        return [self.recording.contacts.index((c.first.name, c.second.name)) for c in contacts]

    @cached_property
    def active(self) -> np.ndarray:
        """Which contacts were in force (T, C)."""
        out = np.zeros((self.recording.steps, len(self.recording.contacts)), bool)
        for t in range(self.recording.steps):
            out[t, self.columns(t)] = True
        return out

    @cached_property
    def derived(self) -> Derived:
        """All that follows: τ = M q̈ + N − passive − applied − Jᵀw on motors, with the Jacobians of the program."""
        run, m = self.recording, self.model
        unpowered = np.isnan(torque_limits(m))
        out = Derived(
            np.zeros((run.steps, m.nv)),
            np.zeros((run.steps, m.nv)),
            np.zeros_like(run["wrench"]),
            np.zeros(run["wrench"].shape[:2]),
        )
        rows = [ContactRows(self.terms, contacts) for contacts in self.contact_sets]
        for t in range(run.steps):
            terms, now = self.at(t), rows[run["contact_set"][t]]
            jacobian, where = np.zeros((len(now.contacts), 6, now.width)), self.columns(t)
            now.update(terms, run["time"][t], run.header["dt"], jacobian)
            unknowns = np.concatenate([np.zeros(0), *(w[:d] for w, d in zip(run["wrench"][t, where], now.dim, strict=True))])
            _, out.wrench[t, where], out.qfrc_contact[t] = now.forces(terms, unknowns, jacobian)
            out.tau[t] = terms.mass_times(run["qacc"][t]) + terms.qfrc_bias - terms.qfrc_passive
            out.tau[t] -= self.applied(t) + out.qfrc_contact[t]
            out.tau[t, unpowered] = 0.0
            out.drift[t, where] = [corner_drift(c, e) for c, e in zip(now.contacts, now.drift, strict=True)]
        return out


def corner_drift(contact: Contact, error: np.ndarray) -> float:
    """Return the largest displacement [m] of a contact's corners (of its centre, for a grasp) from where it was made."""
    x, y, z = error[3:]
    worst = 0.0
    for sx in (contact.half[0], -contact.half[0]):
        for sy in (contact.half[1], -contact.half[1]):  # e + rotation × corner, corner = (sx, sy, 0)
            moved = (error[0] - z * sy, error[1] + z * sx, error[2] + x * sy - y * sx)
            worst = max(worst, moved[0] ** 2 + moved[1] ** 2 + moved[2] ** 2)
    return float(np.sqrt(worst))
