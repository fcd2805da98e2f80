"""Two on a collision course: they pass each other by, each as much as is best for both."""

from __future__ import annotations

from math import pi, radians
from typing import ClassVar

from pydantic import Field

import interplay as ip
from interplay import composition as base
from interplay.spacetime.passing import Passer, pass_by
from interplay.spacetime.performing import Performance, perform
from interplay.spacetime.solving import Progress


class Cross(base.Composition):
    """Ways that cross."""

    name: ClassVar[str] = "cross"
    summary: ClassVar[str] = "two on a collision course give way to each other"
    angle: ClassVar[float] = 90.0

    class Parameters(base.Parameters):
        """Speeds, angle and margin."""

        speed: float = Field(1.3, ge=0.6, le=2.0, description="of the first [m/s]")
        other: float = Field(1.3, ge=0.6, le=2.0, description="of the second [m/s]")
        angle: float = Field(90.0, ge=30.0, le=180.0, description="between their ways [deg]; 180: towards each other")
        steps: int = Field(4, ge=3, le=8, description="how many steps each takes")
        margin: float = Field(0.1, ge=0.0, le=0.5, description="how far apart they stay at least [m]")

    p: Parameters

    def compose(self, progress: Progress | None = None) -> Performance:
        """Return the motion."""
        p = self.p
        ann = Passer("ann", ip.Humanoid(1.68, 60.0), p.speed, 0.0)
        ben = Passer("ben", ip.Humanoid(1.80, 75.0), p.other, min(radians(p.angle), pi))
        return perform(self.name, pass_by((ann, ben), p.steps, p.margin, progress))
