"""Settle: what is done where nothing else suits: lie loosely until all has come to rest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from interplay.control.plan import Servo
from interplay.skills.sensing import Sensed
from interplay.skills.skill import RUNNING, SENSIBLE, SUCCEEDED, Bid, Skill

if TYPE_CHECKING:
    from interplay.simulation import Simulation

STILL, STIRRING, FOR = 0.15, 1.0, 0.2
"""At rest are a centre of mass no faster than this [m/s], and joints [rad/s], for so long [s]."""


class Settle(Skill):
    """Lying until at rest."""

    name: ClassVar[str] = "settle"
    summary: ClassVar[str] = "lies loosely until all has come to rest"

    def __init__(self, model: str):
        """Take the character."""
        super().__init__(model)
        self._still_since: float | None = None

    def bid(self, sensed: Sensed) -> Bid:
        """Bid little, always."""
        return Bid(SENSIBLE, "it suits any state")

    def begin(self, sim: Simulation, sensed: Sensed) -> None:
        """Wait."""
        self._still_since = None

    def update(self, sim: Simulation, sensed: Sensed) -> str:
        """Say when she is at rest."""
        if sensed.speed > STILL or sensed.stirring > STIRRING:
            self._still_since = None
        elif self._still_since is None:
            self._still_since = sim.time
        elif sim.time - self._still_since > FOR:
            return SUCCEEDED
        return RUNNING

    def servo(self, sim: Simulation) -> Servo:
        """Return no servo of any motor: they only damp."""
        return Servo(np.zeros(0, np.int64), np.zeros(0), np.zeros(0))

    def checkpoint(self) -> Any:
        """Return since when she has been at rest."""
        return self._still_since

    def restore(self, sim: Simulation, data: Any) -> None:
        """Go on."""
        self._still_since = data
