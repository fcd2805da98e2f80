"""The rigid world: what the plan's torques lead to when bodies are rigid and contacts obey Coulomb's law.

Nothing of a plan is taken for granted but its torques, within the limits of their motors, and where contacts were meant to be:
accelerations and all wrenches follow from the coupled equation of motion (12) and Coulomb's law (:mod:`.response`). Bodies that
were not kept apart pass through each other (the certificate says how far); a joint driven beyond its stop ends the run.
"""

from __future__ import annotations

import numpy as np

from interplay.constraints.contact import Contact, ContactRows
from interplay.constraints.limits import JointLimits
from interplay.control.plan import ACCELERATION_QUANTUM, FORCE_QUANTUM, Conflict, Plan, rounded
from interplay.control.state import State, Touching
from interplay.errors import StateError
from interplay.scene.kinematics import Kinematics
from interplay.scene.scene import Scene
from interplay.worlds.direct import integrate
from interplay.worlds.response import respond
from interplay.worlds.world import Outcome

SLIPPING = 1e-2
"""Acceleration [m/s², rad/s²] from which a contact counts as one that gave way."""

STOP = 0.1
"""How far beyond its range [rad or m] a joint may be: its stop would have acted before, and is not modelled."""


class RigidWorld:
    """Exact contact of rigid bodies under given torques."""

    name = "rigid"

    def __init__(self, scene: Scene, dt: float):
        """Take the scene and the step [s]."""
        self._model, self._dt = scene.model, dt
        self._terms, self._limits = Kinematics(scene.model), JointLimits.of(scene.model)
        self._rows = ContactRows(self._terms, ())

    def advance(self, state: State, plan: Plan, time: float) -> Outcome:
        """Return what the plan's torques lead to."""
        terms = self._terms
        terms.update(state.qpos, state.qvel)
        self._refuse_broken(state)
        limit = self._limits.torque
        tau = rounded(np.where(np.isnan(limit), 0.0, np.clip(plan.tau, -limit, limit)), FORCE_QUANTUM)
        rows, jacobian, J = self._contacts(plan.contacts, state)
        found = respond(terms, rows, J, tau + terms.qfrc_passive + state.applied - terms.qfrc_bias, self._dt)
        qacc, unknowns = rounded(found.qacc, ACCELERATION_QUANTUM), rounded(found.wrench, FORCE_QUANTUM)
        wrenches, _, contact = rows.forces(terms, unknowns, jacobian)
        qpos, qvel = integrate(self._model, state.qpos, state.qvel, qacc, self._dt)
        touching = Touching(plan.contacts, wrenches)
        after = State(time, qpos, qvel, np.zeros_like(qvel), plan.memory._replace(felt=touching))
        conflicts = (*plan.conflicts, *_slipped(rows, found.slip))
        if not found.settled:
            conflicts = (*conflicts, Conflict("solver", "contact forces", 0.0, ""))
        return Outcome(after, qacc, tau, touching, contact, conflicts, plan)

    def checkpoint(self) -> None:
        """Return nothing: all is in the state."""

    def restore(self, data: None) -> None:
        """Continue."""

    def _contacts(self, contacts: tuple[Contact, ...], state: State) -> tuple[ContactRows, np.ndarray, np.ndarray]:
        """Return the contacts' rows, their Jacobians over their own DOFs (n, 6, width) and over all (rows, nv)."""
        if self._rows.contacts is not contacts:
            self._rows = ContactRows(self._terms, contacts)
        rows = self._rows
        jacobian, J = np.zeros((len(contacts), 6, rows.width)), np.zeros((rows.size, self._model.nv))
        rows.update(self._terms, state.time, self._dt, jacobian)
        row, dof, place = rows.entries()
        J[row, dof] = jacobian.reshape(-1)[place]
        return rows, jacobian, J

    def _refuse_broken(self, state: State) -> None:
        """Raise when a joint is beyond its stop: someone has fallen."""
        q, limits, m = state.qpos[self._limits.adr], self._limits, self._model
        beyond = np.maximum(limits.low - q, q - limits.high)
        if beyond.max(initial=0.0) > STOP:
            worst = int(beyond.argmax())
            joint = m.joint(int(m.dof_jntid[limits.dof[worst]])).name
            raise StateError(
                f"at t = {state.time:.4f} s, {joint!r} is {beyond[worst]:.2f} beyond its stop: the motion is lost"
            )


def _slipped(rows: ContactRows, slip: np.ndarray) -> list[Conflict]:
    """Return the contacts that gave way, and by how much."""
    out = []
    for k, contact in enumerate(rows.contacts):
        mine = np.abs(slip[rows.start[k] : rows.start[k + 1]])
        for part, unit in ((mine[:3], "m/s²"), (mine[3:], "rad/s²")):
            if part.max(initial=0.0) > SLIPPING:
                out.append(Conflict("slip", " – ".join(contact.label), float(part.max()), unit))
    return out
