"""A recording on its saved scene, step by step: states, and what follows from them and from what was recorded."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import mujoco
import numpy as np

from interplay.constraints.contact import Contact, ContactRows
from interplay.constraints.contact_set import contact_from
from interplay.io.recording import Recording
from interplay.models.motors import torque_limits
from interplay.scene.kinematics import Kinematics, weigh_subtrees


class Step(NamedTuple):
    """One recorded step, and what follows from it: torques, generalized contact forces, wrenches at sites, contact drift [m]."""

    index: int
    terms: Kinematics
    qacc: np.ndarray
    tau: np.ndarray
    applied: np.ndarray
    """Generalized force (nv,) of pushes, and of what no plan counted on …"""
    stopped: bool
    """… if there was such: stops of joints, the ground and obstacles where no contact was declared."""
    qfrc_contact: np.ndarray
    contacts: Sequence[Contact]
    columns: list[int]
    """Places of the step's contacts among all contacts of the run."""
    wrenches: np.ndarray
    """In contact axes (n, 6)."""
    site_wrenches: np.ndarray
    """World axes, at the first sites (n, 6)."""
    drift: np.ndarray


class Replay:
    """Goes through a recording step by step, on a model of its own (masses may change on the way)."""

    def __init__(self, recording: Recording):
        """Take a recording."""
        self.recording = recording
        self.model = m = copy.copy(recording.model)
        self.terms = Kinematics(m)
        self.sites = [
            [mujoco.mj_name2id(m, mujoco.mjtObj.mjOBJ_SITE, name) for name in pair] for pair in recording.contacts
        ]
        self._unpowered = np.isnan(torque_limits(m))
        self._sets = [
            self._laid_out([contact_from(m, entry) for entry in members]) for members in recording.contact_sets
        ]

    def steps(self) -> Iterator[Step]:
        """Yield the steps, one after another."""
        index = 0
        for chunk in self.recording.chunks():
            for t in range(len(chunk["time"])):
                yield self.step(chunk, t, index)
                index += 1

    def step(self, chunk: dict[str, np.ndarray], t: int, index: int) -> Step:
        """Return the t-th step of a block, which is the one of that index in the run.

        τ = M q̈ + N − passive − applied − Jᵀw on motors, with the Jacobians of the program.
        """
        run, terms, k = self.recording, self.terms, int(chunk["contact_set"][t])
        if run.changing:
            self._set_masses(chunk["body_mass"][t], chunk["body_inertia"][t])
        terms.update(chunk["qpos"][t], chunk["qvel"][t])
        contacts, now, where, jacobian = self._sets[k]
        stopped = chunk["stopped"][t]
        applied = chunk["applied"][t] + stopped
        now.update(terms, float(chunk["time"][t]), run.header["dt"], jacobian)
        given = chunk["wrench"][t, where]
        unknowns = np.concatenate([np.zeros(0), *(w[:d] for w, d in zip(given, now.dim, strict=True))])
        wrenches, at_sites, contact = now.forces(terms, unknowns, jacobian)
        qacc = chunk["qacc"][t]
        tau = terms.mass_times(qacc) + terms.qfrc_bias - terms.qfrc_passive - applied - contact
        tau[self._unpowered] = 0.0
        moved = zip(contacts, now.drift, now.rotation, strict=True)
        drift = np.array([corner_drift(c, np.concatenate([R.T @ e[:3], R.T @ e[3:]])) for c, e, R in moved])
        return Step(
            index, terms, qacc, tau, applied, bool(stopped.any()), contact, contacts, where, wrenches, at_sites, drift
        )

    def _laid_out(self, contacts: list[Contact]) -> tuple[list[Contact], ContactRows, list[int], np.ndarray]:
        """Return contacts with their rows, their places among all contacts of the run, and room for their Jacobians."""
        rows = ContactRows(self.terms, contacts)
        columns = [self.recording.contacts.index((c.first.name, c.second.name)) for c in contacts]
        return contacts, rows, columns, np.zeros((len(contacts), 6, rows.width))

    def _set_masses(self, mass: np.ndarray, inertia: np.ndarray) -> None:
        if not np.array_equal(self.model.body_mass, mass):
            self.model.body_mass[:], self.model.body_inertia[:] = mass, inertia
            weigh_subtrees(self.model)


def corner_drift(contact: Contact, error: np.ndarray) -> float:
    """Return the largest displacement [m] of a contact's corners (of its centre, for a grasp) from where it was made.

    ``error`` (6) is what separates the two copies of its frame, in contact axes.
    """
    x, y, z = error[3:]
    worst = 0.0
    for sx in (contact.half[0], -contact.half[0]):
        for sy in (contact.half[1], -contact.half[1]):  # e + rotation × corner, corner = (sx, sy, 0)
            moved = (error[0] - z * sy, error[1] + z * sx, error[2] + x * sy - y * sx)
            worst = max(worst, moved[0] ** 2 + moved[1] ** 2 + moved[2] ** 2)
    return float(np.sqrt(worst))
