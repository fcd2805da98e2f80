"""Rise: from a squat on flat soles the program lifts her centre of mass over her feet, and straightens her."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from interplay.motion.machine import Entry
from interplay.motion.upright import upright
from interplay.objectives.balance import Balance
from interplay.objectives.com_over import ComOver
from interplay.objectives.reference import MinimumJerk
from interplay.skills.on_feet import OnFeet
from interplay.skills.sensing import Sensed
from interplay.skills.skill import NOT, RUNNING, SUCCEEDED, Bid

if TYPE_CHECKING:
    from interplay.simulation import Simulation

SECONDS, PATIENCE = 1.4, 2.0
"""How long rising from the ground takes [s], and how much longer it may."""
UP = 0.93
"""She is up when her centre of mass is so high, of its height as she stood."""
FLAT, ON_THE_GROUND, NEAR, SLOW = 0.985, 0.04, 0.08, 0.6
"""What it begins from: soles tilted no more than this (cosine), no corner higher [m], the capture point no farther out, of her height, and no
faster [m/s]."""


class Rise(OnFeet):
    """From a squat to standing."""

    name: ClassVar[str] = "rise"
    summary: ClassVar[str] = "rises from a squat on flat soles"

    def __init__(self, model: str):
        """Take the character."""
        super().__init__(model)
        self._from: tuple[float, float] = 0.0, 0.0
        self._made: Entry | None = None
        """The state in which it began."""

    def bid(self, sensed: Sensed) -> Bid:
        """Bid where she squats on both soles, and keeps over them."""
        if sensed.flat < FLAT or sensed.gap > ON_THE_GROUND:
            return Bid(NOT, f"her soles are tilted ({sensed.flat:.3f}) or {100 * sensed.gap:.1f} cm off the ground")
        if sensed.capture > NEAR or sensed.speed > SLOW:
            return Bid(NOT, f"she leaves her feet: capture point {sensed.capture:.2f} outside, {sensed.speed:.2f} m/s")
        if sensed.elsewhere > 0.5:
            return Bid(NOT, "she does not stand on her feet")
        return Bid(8.0, "she squats on flat soles")

    def begin(self, sim: Simulation, sensed: Sensed) -> None:
        """Put both soles down, and rise."""
        super().begin(sim, sensed)
        above = float(sensed.place[2] - sim.middle(*self.soles)[2])
        self._made = Entry.of(sim)
        self._ask(sim, above, above / sensed.height)

    def _ask(self, sim: Simulation, above: float, height: float) -> None:
        """Make the objectives in the present state: a centre of mass that rises from above the soles to its height [m]."""
        self._from = above, height
        path = MinimumJerk([above], [height], self.began, max(SECONDS * (1.0 - above / height) / 0.5, 0.4))
        self.wanted = [
            *upright(sim, self.model, self.turn),
            Balance(self.model, on=self.soles, terms=sim.terms, weight=1e4),
            ComOver(self.model, over=self.soles, reference=(0.0, 0.0), weight=100.0),
            ComOver(self.model, over=self.soles, axes="z", reference=path, weight=60.0, max_speed=None),
        ]

    def update(self, sim: Simulation, sensed: Sensed) -> str:
        """Say whether she is up."""
        if sensed.height > UP and sensed.speed < 0.3:
            return SUCCEEDED
        if sim.time - self.began > SECONDS + PATIENCE:
            return f"after {SECONDS + PATIENCE:g} s her height is {sensed.height:.2f}"
        if sensed.capture > 0.3:
            return f"she falls: capture point {sensed.capture:.2f} outside"
        return RUNNING

    def checkpoint(self) -> Any:
        """Return which way she faces, from where to where she rises, and the state in which that began."""
        return [self.turn, self._from, self._made and self._made.checkpoint()]

    def restore(self, sim: Simulation, data: Any) -> None:
        """Go on."""
        self.turn, way, made = data
        self._made = Entry.restore(made)
        with sim.at(self._made):
            self._ask(sim, *way)
