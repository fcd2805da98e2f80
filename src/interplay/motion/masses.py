"""Masses that change while a simulation runs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from interplay.errors import InputError, number
from interplay.motion.controls import Control
from interplay.scene.kinematics import weigh_subtrees
from interplay.scene.scene import Scene

LEAST_MASS = 1e-4
"""The least a body may be made to weigh [kg]."""


class Masses:
    """The masses of a simulation's scene: set at once, or following live controls."""

    def __init__(self, scene: Scene, changed: Callable[[], None]):
        """Take the scene, and what is to be called after a change."""
        self._scene, self._changed = scene, changed
        self.first = scene.model.body_mass.copy(), scene.model.body_inertia.copy()
        """Masses [kg] and inertias [kg·m²] at the beginning."""
        self._followers: list[tuple[int, Control]] = []
        self.changes = 0
        """How often masses have changed so far."""

    @property
    def present(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Masses [kg] and inertias [kg·m²] of all bodies, if any has changed since the beginning."""
        m = self._scene.model
        return (m.body_mass.copy(), m.body_inertia.copy()) if self.changes else None

    def set(self, body: str, mass: float) -> None:
        """Change a body's mass [kg]; its inertia scales along."""
        m, index = self._scene.model, self._scene.body(body)
        mass = number(f"mass of {body!r}", mass, LEAST_MASS, 1e5, "kg")
        if m.body_treeid[index] < 0 or m.body_mass[index] <= 0:
            raise InputError(f"set_mass: {body!r} is fixed or has no mass of its own")
        self._scale(index, mass)
        self._tell()

    def set_all(self, mass: np.ndarray, inertia: np.ndarray) -> None:
        """Put back what ``present`` returned."""
        self._scene.model.body_mass[:], self._scene.model.body_inertia[:] = mass, inertia
        self._tell()

    def checkpoint(self) -> list[list] | None:
        """Return ``present`` as plain numbers."""
        present = self.present
        return present and [part.tolist() for part in present]

    def restore(self, saved: list[list] | None) -> None:
        """Continue from a checkpoint, or from the first masses where it has none."""
        if saved or self.changes:
            self.set_all(*(map(np.array, saved) if saved else self.first))

    def follow(self, body: str, control: Control, time: float) -> None:
        """Let a body's mass [kg] follow a live control from now on."""
        if control.kind != "scalar" or control.low[0] < LEAST_MASS:
            raise InputError(
                f"weigh {body!r}: expected a scalar control with a lower bound ≥ {LEAST_MASS:g} kg, got {control.name!r}"
            )
        self.set(body, float(control.at(time).value[0]))
        self._followers.append((self._scene.body(body), control))

    def update(self, time: float) -> None:
        """Let the masses follow their controls."""
        wanted = [(body, float(control.at(time).value[0])) for body, control in self._followers]
        changed = [(body, mass) for body, mass in wanted if mass != self._scene.model.body_mass[body]]
        for body, mass in changed:
            self._scale(body, mass)
        if changed:
            self._tell()

    def _scale(self, body: int, mass: float) -> None:
        m = self._scene.model
        m.body_inertia[body] *= mass / m.body_mass[body]
        m.body_mass[body] = mass

    def _tell(self) -> None:
        weigh_subtrees(self._scene.model)
        self.changes += 1
        self._changed()
