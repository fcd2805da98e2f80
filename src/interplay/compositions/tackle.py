"""A runner tackles one who walks, and dodges: who adjusts last decides (liu2006, 6.3)."""

from __future__ import annotations

from math import cos, pi, radians, sin
from typing import ClassVar

from pydantic import Field

import interplay as ip
from interplay import composition as base
from interplay.spacetime.body import Body
from interplay.spacetime.gaits import paced
from interplay.spacetime.performing import Performance
from interplay.spacetime.solving import Progress
from interplay.spacetime.words import compose, dodge, run, tackle, walk

SHE, HE = "ann", "ben"
STEPS = 3
"""How many steps she walks until they meet."""
SHORT = 0.3
"""How far before hers his steps end [m]: chests are between."""


class Tackled(base.Composition):
    """He gets her."""

    name: ClassVar[str] = "tackled"
    summary: ClassVar[str] = "a runner tackles a walker, who dodges in vain"
    last: ClassVar[str] = HE

    class Parameters(base.Worn):
        """How fast, and from where."""

        walk: float = Field(1.3, ge=1.2, le=1.4, description="speed of her walk [m/s]")
        run: float = Field(3.0, ge=2.8, le=3.2, description="speed of his run [m/s]")
        side: float = Field(50.0, ge=40, le=60, description="where he comes from, to the left of her way [deg]")
        hit: float = Field(3.5, ge=3.2, le=3.8, description="at which speed he meets her [m/s]")
        margin: float = Field(0.2, ge=0.1, le=0.3, description="how far she plans to be out of his sphere [m]")

    p: Parameters

    def compose(self, progress: Progress | None = None) -> Performance:
        """Return the motion of both, until they meet."""
        p, side = self.p, radians(self.p.side)
        her, his = (ip.Humanoid(*size, springs=True, shoes=p.shoes) for size in ((1.68, 60), (1.80, 75)))
        seconds, half = STEPS * _half(her, "walk", p.walk), _half(his, "run", p.run)
        count = max(2, round(seconds / half))
        far = p.run * half * count + SHORT
        scene = ip.Scene().add(her, SHE)
        scene = scene.add(his, HE, (p.walk * seconds + far * cos(side), far * sin(side)), side - pi)
        does = {HE: [run(p.run, count)], SHE: [walk(p.walk, STEPS)]}
        hold = [tackle(HE, SHE, p.hit), dodge(SHE, HE, p.margin)]
        return compose(scene, does, hold, schedule="horizon", last=self.last, progress=progress, name=self.name)


class Dodged(Tackled):
    """She gets away."""

    name: ClassVar[str] = "dodged"
    summary: ClassVar[str] = "a walker gets out of the way of a runner who tackles"
    last: ClassVar[str] = SHE


def _half(model: ip.Humanoid, kind: str, speed: float) -> float:
    """Return about how long a step is [s]."""
    return sum(phase.seconds for phase in paced(Body(ip.Scene().add(model, "one"), "one"), kind, speed))
