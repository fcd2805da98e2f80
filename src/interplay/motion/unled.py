"""Who is not led by the program: who has fallen, whose motors only damp, and who moves by servos, as skills ask for it.

The program counts on no contact of theirs, keeps nothing apart from them where things touch by themselves, and asks nothing of their
motors; what nobody whom it leads is in touch with any more is left to itself.
"""

from __future__ import annotations

import numpy as np

from interplay.constraints.collision_set import Pair
from interplay.constraints.contact import Contact
from interplay.control.plan import Conflict, Plan, Servo
from interplay.models.motors import torque_limits
from interplay.scene.kinematics import Kinematics
from interplay.scene.scene import Scene

LIMP = 0.15
"""Seconds within which limp joints lose their speed."""


class Unled:
    """Characters of one simulation that are not led by its program."""

    def __init__(self, scene: Scene, dt: float, bumping: bool = False):
        """Take the scene, the step [s], and whether things touch by themselves in its world: nobody need keep them apart."""
        m = scene.model
        self._scene, self._dt, self._limit = scene, dt, torque_limits(m)
        self.bumping = bumping
        """Whether things touch by themselves."""
        reach = np.where(m.jnt_limited, m.jnt_range[:, 1] - m.jnt_range[:, 0], np.inf)
        self._range = reach[m.dof_jntid]
        """How far each DOF can go [rad, m]."""
        self._tree = m.body_treeid.astype(np.int64)
        self._powered = set(m.dof_treeid[m.jnt_dofadr[m.actuator_trnid[:, 0]]].tolist())
        self._limp: tuple[str, ...] = ()
        self._served: dict[str, Servo] = {}
        self._trees: set[int] = set()
        self._dofs = self._driven = np.zeros(0, np.int64)
        """All DOFs of theirs, and those that have motors."""
        self._left: tuple[tuple[Contact, ...], tuple[Contact, ...]] = (), ()
        self._apart: tuple[tuple[Pair, ...], tuple[Pair, ...]] = (), ()
        self._led: set[int] = set()
        """Trees of whom the program leads, and of what they touch."""

    def __bool__(self) -> bool:
        """Return whether there is anyone."""
        return bool(self._trees)

    # -- who they are --------------------------------------------------------------------------------------------------

    def set_limp(self, names: tuple[str, ...]) -> None:
        """Say whose motors only damp."""
        self._limp = names
        self._changed()

    def serve(self, name: str, servo: Servo) -> None:
        """Move a character by servos in the step to come; those of its motors that have none only damp."""
        new = name not in self._served
        self._served[name] = servo
        if new:
            self._changed()

    def lead(self, name: str) -> None:
        """Let the program lead a character again."""
        if name in self._served:
            del self._served[name]
            self._changed()

    def lead_all(self) -> None:
        """Let the program lead all again who moved by servos."""
        for name in list(self._served):
            self.lead(name)

    def serves(self, name: str) -> bool:
        """Return whether a character moves by servos."""
        return name in self._served

    def _changed(self) -> None:
        m = self._scene.model
        self._left = self._apart = (), ()
        self._trees = {self._scene.trees(name)[0] for name in (*self._limp, *self._served)}
        self._dofs = np.flatnonzero(np.isin(m.dof_treeid, list(self._trees)))
        self._driven = self._dofs[~np.isnan(self._limit[self._dofs])]

    @property
    def dofs(self) -> np.ndarray:
        """All DOFs of theirs."""
        return self._dofs

    # -- what the program is asked -------------------------------------------------------------------------------------

    def left(self, contacts: tuple[Contact, ...]) -> tuple[Contact, ...]:
        """Return the contacts that the program may count on; the same tuple for the same contacts."""
        if self._left[0] is not contacts:
            kept = [(c, self._trees_of(c)) for c in contacts]
            kept = [(c, trees) for c, trees in kept if not self._trees & trees]
            if self.bumping:
                self._led = self._powered - self._trees
                while more := [trees for _, trees in kept if self._led & trees and not trees <= self._led]:
                    self._led = self._led.union(*more)
                kept = [(c, trees) for c, trees in kept if self._led & trees]
            self._left, self._apart = (contacts, tuple(c for c, _ in kept)), ((), ())
        return self._left[1]

    def _trees_of(self, contact: Contact) -> set[int]:
        """Return the trees that touch there; what is fixed has none."""
        return {int(self._tree[side.body]) for side in (contact.first, contact.second)} - {-1}

    def kept_apart(self, pairs: tuple[Pair, ...]) -> tuple[Pair, ...]:
        """Return the pairs without those of theirs with the ground; the same tuple for the same pairs.

        Where things touch by themselves, without any of theirs, nor of what is left to itself.
        """
        if self._apart[0] is not pairs:
            if self.bumping:
                kept = (p for p in pairs if not self._trees & {p.tree1, p.tree2} and self._led & {p.tree1, p.tree2})
            else:
                kept = (p for p in pairs if p.body1 or p.tree2 not in self._trees)  # the ground's shape comes first
            self._apart = pairs, tuple(kept)
        return self._apart[1]

    # -- what their motors do ------------------------------------------------------------------------------------------

    def moved(self, plan: Plan, terms: Kinematics) -> Plan:
        """Return a plan in which their motors are servos where skills say so, and else only damp."""
        servos = list(self._served.values())
        tau, idle = plan.tau.copy(), np.ones(len(plan.tau), bool)
        for servo in servos:
            idle[servo.dofs] = False
        dofs = self._driven[idle[self._driven]]
        tau[self._dofs] = 0.0
        if len(dofs):
            tau[dofs] = self._damping(dofs, terms)
        if plan.servo is not None:
            servos.append(plan.servo.without(self._dofs))
        conflicts = (*plan.conflicts, *(Conflict("fall", name, 0.0, "") for name in self._limp))
        return plan._replace(tau=tau, conflicts=conflicts, servo=Servo.joined(*servos))

    def _damping(self, dofs: np.ndarray, terms: Kinematics) -> np.ndarray:
        """Return torques (n,) that only damp: τ = −q̇/(T (M⁻¹)ᵢᵢ), slowly enough for the step.

        Where a joint runs into its stop and back while a torque is held, that would drive it: the farther it comes within the step, of
        what its range has, the less is left of the torque.
        """
        unit = np.zeros((len(dofs), terms.model.nv))
        unit[np.arange(len(dofs)), dofs] = 1.0
        yielding = terms.mass_solved(unit)[np.arange(len(dofs)), dofs]
        limit = self._limit[dofs]
        if self.bumping:
            left = np.clip(1.0 - np.abs(terms.qvel[dofs]) * self._dt / (0.5 * self._range[dofs]), 0.0, 1.0)
            limit = np.where(left > 0.0, limit, 0.0) * left  # what nothing limits would be infinite times nothing
        return np.clip(-terms.qvel[dofs] / (max(LIMP, 5.0 * self._dt) * yielding), -limit, limit)
