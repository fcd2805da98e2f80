"""Hand in hand: people of any size walk together, each with steps of their own, and hold hands (liu2006, section 6.2)."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

import interplay as ip
from interplay import composition as base
from interplay.spacetime.hand_in_hand import hand_in_hand
from interplay.spacetime.performing import Performance
from interplay.spacetime.rounds import Walker
from interplay.spacetime.solving import Progress

CASTS = {
    "mother_and_child": (("mother", 1.68, 60.0, 4, "left"), ("child", 1.15, 21.0, 6, "right")),
    "equal": (("ann", 1.68, 60.0, 2, "left"), ("ben", 1.80, 75.0, 2, "right")),
    "three": (("ann", 1.68, 60.0, 2, "left"), ("ben", 1.80, 75.0, 2, "right"), ("cem", 1.74, 68.0, 2, "left")),
    "family": (("mother", 1.68, 60.0, 4, "left"), ("child", 1.15, 21.0, 6, "right"), ("father", 1.80, 75.0, 4, "left")),
}
"""Who walk, from right to left: height [m], mass [kg], and how many steps each takes in the same time, and
which foot lands first."""
SMALL = 1.35
"""Who is smaller is a child [m]."""


class HandInHand(base.Composition):
    """People who walk hand in hand."""

    name: ClassVar[str] = "hand_in_hand"
    summary: ClassVar[str] = "people walk hand in hand, each with steps of their own"

    class Parameters(base.Worn):
        """Who, how fast, and who leads."""

        who: Literal["mother_and_child", "equal", "three", "family"] = Field("equal", description="who walk")
        speed: float = Field(1.0, ge=0.6, le=1.3, description="of all [m/s]")
        leader: str = Field("", description="whose own way of walking counts more, by name; others do the work")
        schedule: Literal["joint", "alternating"] = Field(
            "joint", description="all at once, or one after another, hands drawn together by rubber bands"
        )
        rounds: int = Field(2, ge=1, le=100, description="how often what was found is repeated")

    p: Parameters

    def compose(self, progress: Progress | None = None) -> Performance:
        """Return the motion."""
        walkers = [
            Walker(name, _model(height, mass, self.p.shoes), steps, leads)
            for name, height, mass, steps, leads in CASTS[self.p.who]
        ]
        alternating, leader = self.p.schedule == "alternating", self.p.leader or None
        return hand_in_hand(
            walkers,
            self.p.speed,
            leader,
            alternating=alternating,
            rounds=self.p.rounds,
            progress=progress,
            name=self.name,
        )


def _model(height: float, mass: float, shoes: bool) -> ip.Humanoid:
    kind = ip.Humanoid.child if height < SMALL else ip.Humanoid
    return kind(height, mass, springs=True, shoes=shoes)
