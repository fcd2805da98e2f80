"""Skills in which the program leads a character on both soles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from interplay.motion.upright import soles, turn_since
from interplay.objectives.base import Objective
from interplay.scene.scene import GROUND
from interplay.skills.sensing import Sensed
from interplay.skills.skill import Skill

if TYPE_CHECKING:
    from interplay.simulation import Simulation


class OnFeet(Skill):
    """Counts on both soles as long as it is active."""

    def __init__(self, model: str):
        """Take the character."""
        super().__init__(model)
        self.soles = soles(model)
        self.wanted: list[Objective] = []
        """What it asks of the program."""
        self.turn = 0.0
        """How far she has turned since she stood first [rad]."""

    def begin(self, sim: Simulation, sensed: Sensed) -> None:
        """Put both soles down."""
        for sole in self.soles:
            sim.contacts.add(sole, GROUND, landing=True)
        self.turn = turn_since(sim, self.model)

    def end(self, sim: Simulation) -> None:
        """Count on nothing any more."""
        for contact in [c for c in sim.contacts if {c.first.name, c.second.name} & set(self.soles)]:
            sim.contacts.remove(contact.first.name, contact.second.name)
        self.wanted = []

    @property
    def objectives(self) -> Sequence[Objective]:
        """What it asks of the program."""
        return self.wanted
