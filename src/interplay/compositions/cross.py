"""Two on a collision course, who pass each other by."""

from __future__ import annotations

from math import cos, radians, sin
from typing import ClassVar

from pydantic import Field

import interplay as ip
from interplay import composition as base
from interplay.spacetime.performing import Performance
from interplay.spacetime.solving import Progress
from interplay.spacetime.words import compose, pass_by, walk

STEP = 0.62
"""About how long a step at 1 m/s is; others go with the root of the speed [m]."""


class Cross(base.Composition):
    """Two ways that cross."""

    name: ClassVar[str] = "cross"
    summary: ClassVar[str] = "two walkers on a collision course pass each other by"

    class Parameters(base.Worn):
        """How fast, from where, how far apart."""

        speed: float = Field(1.3, ge=1.1, le=1.5, description="of both [m/s]")
        angle: float = Field(90.0, ge=60, le=120, description="between the ways of ann and of ben [deg]")
        margin: float = Field(0.1, ge=0.0, le=0.3, description="how far they keep from each other at least [m]")
        steps: int = Field(3, ge=3, le=4, description="of each")

    p: Parameters

    def compose(self, progress: Progress | None = None) -> Performance:
        """Return the motion of both."""
        p = self.p
        half, way = 0.5 * STEP * p.speed**0.5 * p.steps, radians(p.angle)
        scene = ip.Scene().add(ip.Humanoid(1.68, 60, springs=True, shoes=p.shoes), "ann", pos=(-half, 0.0))
        scene = scene.add(
            ip.Humanoid(1.80, 75, springs=True, shoes=p.shoes), "ben", (-half * cos(way), -half * sin(way)), way
        )
        does = [walk(p.speed, p.steps)]
        return compose(
            scene, {"ann": does, "ben": does}, [pass_by("ann", "ben", p.margin)], progress=progress, name=self.name
        )
