"""Balance: she stands, and steps where that is not enough; the program leads her."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from interplay.motion.recovery import Recovery
from interplay.motion.upright import upright
from interplay.objectives.base import Objective
from interplay.skills.on_feet import OnFeet
from interplay.skills.sensing import Sensed
from interplay.skills.skill import NOT, RUNNING, Bid

if TYPE_CHECKING:
    from interplay.simulation import Simulation

STANDS, LEANS = 0.8, 0.7
"""She stands with her centre of mass so high, of its height, and her trunk so upright (cosine)."""
NEAR, SLOW = 0.12, 0.8
"""So far out of her feet her capture point may be, of her height, and so fast her centre of mass [m/s]."""
ON_THE_GROUND = 0.03
"""Her soles are on the ground if no corner is higher [m]."""
AT_REST = 0.1
"""Slower than this [m/s], both feet in place, she is at rest."""
LOST = 0.6
"""Who sinks below this, of her height, or leans more than that (cosine), does not come back."""


class Balance(OnFeet):
    """Standing."""

    name: ClassVar[str] = "balance"
    summary: ClassVar[str] = "stands, and steps where feet in place are not enough"

    def __init__(self, model: str):
        """Take the character."""
        super().__init__(model)
        self._recovery: Recovery | None = None

    def bid(self, sensed: Sensed) -> Bid:
        """Bid highest where she stands on both soles and will not leave them."""
        if sensed.height < STANDS or sensed.upright < LEANS:
            return Bid(NOT, f"she does not stand: height {sensed.height:.2f}, upright {sensed.upright:.2f}")
        if sensed.gap > ON_THE_GROUND:
            return Bid(NOT, f"her soles are {100 * sensed.gap:.0f} cm off the ground")
        if sensed.capture > NEAR or sensed.speed > SLOW:
            return Bid(NOT, f"she is falling: capture point {sensed.capture:.2f} outside, {sensed.speed:.2f} m/s")
        return Bid(15.0, "she stands")

    def begin(self, sim: Simulation, sensed: Sensed) -> None:
        """Put both soles down, and stand."""
        super().begin(sim, sensed)
        self.wanted = upright(sim, self.model, self.turn)
        self._recovery = Recovery(self.model)
        self.waiting_since = None

    def update(self, sim: Simulation, sensed: Sensed) -> str:
        """Step where needed."""
        if sensed.height < LOST or sensed.upright < LOST:
            return f"she falls: height {sensed.height:.2f}, upright {sensed.upright:.2f}"
        if self._recovery is not None:
            self._recovery.update(sim)
            if sensed.speed > AT_REST or self._recovery.label != "stand":
                self.waiting_since = None
            elif self.waiting_since is None:
                self.waiting_since = sim.time
        return RUNNING

    def end(self, sim: Simulation) -> None:
        """Let go of the ground."""
        super().end(sim)
        self._recovery = self.waiting_since = None

    @property
    def objectives(self) -> Sequence[Objective]:
        """Balance, posture, trunk and head upright."""
        return [*self.wanted, *(self._recovery.objectives if self._recovery is not None else ())]

    def checkpoint(self) -> Any:
        """Return which way she faces, since when she is at rest, and what restores the steps."""
        return [self.turn, self.waiting_since, self._recovery and self._recovery.checkpoint()]

    def restore(self, sim: Simulation, data: Any) -> None:
        """Go on."""
        self.turn, self.waiting_since, steps = data
        self.wanted = upright(sim, self.model, self.turn)
        self._recovery = Recovery(self.model)
        if steps is not None:
            self._recovery.restore(sim, steps)
