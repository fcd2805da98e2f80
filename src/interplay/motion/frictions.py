"""Friction of models that changes while a simulation runs: what is stated for a model holds against whatever touches it."""

from __future__ import annotations

import numpy as np

from interplay.errors import number, pick
from interplay.scene.scene import GROUND, Scene
from interplay.scene.simulator import ROUGHEST, precedence


class Frictions:
    """The friction of a simulation's scene."""

    def __init__(self, scene: Scene):
        """Take the scene."""
        m = self._model = scene.model
        self._first = m.geom_friction.copy(), m.geom_priority.copy()
        owner = np.array([m.body(int(b)).name.split("/")[0] if b else GROUND for b in m.geom_bodyid])
        self._shapes = {name: np.flatnonzero(owner == name) for name in (*scene.names, GROUND)}
        self.changed: dict[str, float] = {}
        """Coefficients that have been set, by the names of their models."""

    def shapes(self, model: str) -> np.ndarray:
        """Return the shapes of a model, or of the ground."""
        return pick("model", model, self._shapes)

    def set(self, model: str, friction: float) -> None:
        """Change the friction of a model, or of the ground."""
        friction = number(f"friction of {model!r}", friction, 0, ROUGHEST)
        shapes = self.shapes(model)
        self._model.geom_friction[shapes, 0] = friction
        self._model.geom_priority[shapes] = precedence(friction)
        self.changed[model] = friction

    def checkpoint(self) -> dict[str, float]:
        """Return what has been set."""
        return dict(self.changed)

    def restore(self, saved: dict[str, float]) -> None:
        """Continue from a checkpoint."""
        self._model.geom_friction[:], self._model.geom_priority[:] = self._first
        self.changed = {}
        for model, friction in saved.items():
            self.set(model, friction)
