"""Gains that objectives were given instead of their own, by label and phase, now and whenever a phase makes them again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from interplay.errors import pick, unknown_name
from interplay.motion.targets import adjusted
from interplay.objectives.base import AS_DECLARED, Gains, Objective
from interplay.scene.scene import Scene

if TYPE_CHECKING:
    from interplay.motion.behaviour import Behaviour

Key = tuple[str, str | None]
"""Label of an objective, and the phase it is in (None: in all)."""


class Adjustments:
    """What was adjusted, and the labels that objectives have had so far."""

    def __init__(self, scene: Scene):
        """Start with every objective as it was declared."""
        self._scene = scene
        self.gains: dict[Key, Gains] = {}
        self._labels: set[Key] = set()

    def take_up(self, objectives: Sequence[Objective], phase: str | None = None) -> None:
        """Bind objectives that come into force (in a phase), and give them the gains that their labels were adjusted to."""
        for objective in objectives:
            objective.attach(self._scene)
            label, gains = objective.label, AS_DECLARED
            self._labels.add((label, phase))
            if self.gains:
                gains = self.gains.get((label, None), AS_DECLARED)
                gains = self.gains.get((label, phase), gains).over(gains)
            objective.adjust(gains)

    def take_up_all(self, background: Sequence[Objective], behaviour: Behaviour | None) -> None:
        """Take up all objectives in force."""
        self.take_up(background)
        for phase, objectives in behaviour.in_force if behaviour else ():
            self.take_up(objectives, phase)

    def set(self, key: Key, gains: Gains, background: Sequence[Objective], behaviour: Behaviour | None) -> None:
        """Give the objectives of a label (in a phase) other gains; a label nobody has had is kept for phases to come."""
        label, phase = key
        if phase is not None:
            pick("phase", phase, dict.fromkeys(behaviour.labels) if behaviour else {})
        self.take_up_all(background, behaviour)
        known = {known for known, _ in self._labels}
        if label not in known and not (behaviour and behaviour.coming):
            raise unknown_name("objective", label, known)
        self.gains[key] = gains.over(self.gains.get(key, Gains()))
        self.take_up_all(background, behaviour)

    def unused(self) -> list[str]:
        """Return what was adjusted and has not been in force so far: labels, each with its phase if it has one."""
        seen = self._labels | {(label, None) for label, _ in self._labels}
        return sorted(adjusted(*key) for key in self.gains.keys() - seen)

    def checkpoint(self) -> list[list[Any]]:
        """Return the adjustments as plain values."""
        return [[*key, list(gains)] for key, gains in self.gains.items()]

    def restore(self, data: Sequence[Sequence[Any]]) -> None:
        """Put back what ``checkpoint`` returned."""
        self.gains = {(label, phase): Gains(*gains) for label, phase, gains in data}
