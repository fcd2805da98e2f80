"""A recording on its saved scene, step by step: states, and what follows from them and from what was recorded."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import NamedTuple

import mujoco
import numba
import numpy as np

from interplay.constraints.contact import Contact, ContactRows
from interplay.constraints.contact_set import contact_from
from interplay.io.recording import Recording
from interplay.scene.kinematics import Kinematics, weigh_subtrees


class Touch(NamedTuple):
    """A set of contacts that was in force during some steps, laid out."""

    contacts: list[Contact]
    rows: ContactRows
    columns: np.ndarray
    """Places of the contacts among all contacts of the run."""
    unknowns: np.ndarray
    """Which of the wrenches' numbers (n·6) are unknowns of the program: a point contact has no torque."""
    jacobian: np.ndarray
    half: np.ndarray


class Step(NamedTuple):
    """One recorded step, and what follows from it."""

    index: int
    terms: Kinematics
    qacc: np.ndarray
    tau: np.ndarray
    applied: np.ndarray
    touch: Touch
    wrenches: np.ndarray
    """In contact axes (n, 6)."""
    site_wrenches: np.ndarray
    """World axes, at the first sites (n, 6)."""
    qfrc_contact: np.ndarray
    """Generalized force (nv,) of all contacts, with the Jacobians of the program."""

    def drift(self) -> np.ndarray:
        """Return the largest displacement [m] of each contact's corners (a grasp's centre) from where it was made (n,)."""
        rows = self.touch.rows
        return _corner_drift(rows.drift, rows.rotation, self.touch.half)


class Replay:
    """Goes through a recording step by step, on a model of its own (masses may change on the way)."""

    def __init__(self, recording: Recording):
        """Take a recording."""
        self.recording = recording
        self.model = m = copy.copy(recording.model)
        self.terms = Kinematics(m)
        self.sites = np.array(
            [[mujoco.mj_name2id(m, mujoco.mjtObj.mjOBJ_SITE, name) for name in pair] for pair in recording.contacts],
            np.int64,
        ).reshape(-1, 2)
        """The two sites of each contact of the run."""
        self._sets = [
            self._laid_out([contact_from(m, entry) for entry in members]) for members in recording.contact_sets
        ]

    def columns(self, contact_set: int) -> np.ndarray:
        """Return the places of a set's contacts among all contacts of the run."""
        return self._sets[contact_set].columns

    def steps(self) -> Iterator[Step]:
        """Yield the steps, one after another; the terms of each are gone with the next."""
        index = 0
        for chunk in self.recording.chunks():
            for t in range(len(chunk["time"])):
                yield self.step(chunk, t, index)
                index += 1

    def step(self, chunk: dict[str, np.ndarray], t: int, index: int) -> Step:
        """Return the t-th step of a block, which is the one of that index in the run."""
        run, terms, touch = self.recording, self.terms, self._sets[int(chunk["contact_set"][t])]
        if run.changing:
            self._set_masses(chunk["body_mass"][t], chunk["body_inertia"][t])
        terms.update(chunk["qpos"][t], chunk["qvel"][t])
        touch.rows.update(terms, float(chunk["time"][t]), run.header["dt"], touch.jacobian)
        unknowns = chunk["wrench"][t, touch.columns].reshape(-1)[touch.unknowns]
        forces = touch.rows.forces(terms, unknowns, touch.jacobian)
        return Step(index, terms, chunk["qacc"][t], chunk["tau"][t], chunk["applied"][t], touch, *forces)

    def _laid_out(self, contacts: list[Contact]) -> Touch:
        """Return contacts with their rows, their places among all contacts of the run, and room for their Jacobians."""
        rows = ContactRows(self.terms, contacts)
        columns = [self.recording.contacts.index((c.first.name, c.second.name)) for c in contacts]
        unknowns = [6 * k + r for k, c in enumerate(contacts) for r in range(c.dim)]
        return Touch(
            contacts,
            rows,
            np.array(columns, np.int64),
            np.array(unknowns, np.int64),
            np.zeros((len(contacts), 6, rows.width)),
            np.array([c.half for c in contacts], float).reshape(-1, 2),
        )

    def _set_masses(self, mass: np.ndarray, inertia: np.ndarray) -> None:
        if not np.array_equal(self.model.body_mass, mass):
            self.model.body_mass[:], self.model.body_inertia[:] = mass, inertia
            weigh_subtrees(self.model)


@numba.njit(cache=True)
def _corner_drift(apart, rotation, half):
    """Return how far corners (±x, ±y, 0) in contact axes have moved; ``apart`` (n, 6) is what separates the two copies of C."""
    n = apart.shape[0]
    out, e = np.zeros(n), np.empty(6)
    for k in range(n):
        R = rotation[k]
        for i in range(3):
            e[i] = R[0, i] * apart[k, 0] + R[1, i] * apart[k, 1] + R[2, i] * apart[k, 2]
            e[3 + i] = R[0, i] * apart[k, 3] + R[1, i] * apart[k, 4] + R[2, i] * apart[k, 5]
        for sx in (half[k, 0], -half[k, 0]):
            for sy in (half[k, 1], -half[k, 1]):  # e + rotation × corner
                x, y, z = e[0] - e[5] * sy, e[1] + e[5] * sx, e[2] + e[3] * sy - e[4] * sx
                out[k] = max(out[k], x * x + y * y + z * z)
    return np.sqrt(out)
