"""One or two who run tackle one who walks, and dodges: who adjusts last decides (liu2006, 6.3)."""

from __future__ import annotations

from collections.abc import Mapping
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

SHE, HE, OTHER = "ann", "ben", "carl"
STEPS = {0.3: 3, 0.5: 4}
"""How many steps she walks until they meet, by how far she plans to be out of his sphere at most [m]: she dodges in the last half of them."""
SHORT = 0.3
"""How far before hers their steps end [m]: chests are between."""


class Speeds(base.Worn):
    """How fast."""

    walk: float = Field(1.3, ge=1.2, le=1.4, description="speed of her walk [m/s]")
    run: float = Field(3.0, ge=2.8, le=3.2, description="speed of who tackles [m/s]")
    hit: float = Field(3.5, ge=3.2, le=3.8, description="at which speed he meets her [m/s]")
    margin: float = Field(0.2, ge=0.1, le=min(STEPS), description="how far she plans to be out of his sphere [m]")


class Tackled(base.Composition):
    """He gets her."""

    name: ClassVar[str] = "tackled"
    summary: ClassVar[str] = "a runner tackles a walker, who dodges in vain"
    last: ClassVar[str] = HE

    class Parameters(Speeds):
        """And from where."""

        side: float = Field(50.0, ge=40, le=60, description="where he comes from, to the left of her way [deg]")

    p: Parameters

    def compose(self, progress: Progress | None = None) -> Performance:
        """Return the motion of both, until they meet."""
        return contest(self.p, {HE: self.p.side}, self.last, progress, self.name)


class Dodged(Tackled):
    """She gets away."""

    name: ClassVar[str] = "dodged"
    summary: ClassVar[str] = "a walker gets out of the way of a runner who tackles"
    last: ClassVar[str] = SHE

    class Parameters(Tackled.Parameters):
        """And by how much."""

        margin: float = Field(0.2, ge=0.1, le=max(STEPS), description="how far she is out of his sphere [m]")

    p: Parameters


class TwoTacklers(base.Composition):
    """From both sides."""

    name: ClassVar[str] = "two_tacklers"
    summary: ClassVar[str] = "a walker gets out of the way of two runners who tackle her from both sides"

    class Parameters(Speeds):
        """And from where."""

        side: float = Field(60.0, ge=55, le=65, description="where either comes from, to either side of her way [deg]")

    p: Parameters

    def compose(self, progress: Progress | None = None) -> Performance:
        """Return the motion of all three, until they would meet."""
        return contest(self.p, {HE: self.p.side, OTHER: -self.p.side}, SHE, progress, self.name)


def contest(p: Speeds, sides: Mapping[str, float], last: str, progress: Progress | None, name: str) -> Performance:
    """Return the motion of her and of who tackles her, each from a side of her way [deg]; ``last`` adjusts last."""
    her, his = (ip.Humanoid(*size, springs=True, shoes=p.shoes) for size in ((1.68, 60), (1.80, 75)))
    steps = next(count for far, count in STEPS.items() if p.margin <= far)
    seconds, half = steps * _half(her, "walk", p.walk), _half(his, "run", p.run)
    count = max(2, round(seconds / half))
    far, scene = p.run * half * count + SHORT, ip.Scene().add(her, SHE)
    for he, side in sides.items():
        angle = radians(side)
        scene = scene.add(his, he, (p.walk * seconds + far * cos(angle), far * sin(angle)), angle - pi)
    does = {**{he: [run(p.run, count)] for he in sides}, SHE: [walk(p.walk, steps)]}
    hold = [word for he in sides for word in (tackle(he, SHE, p.hit), dodge(SHE, he, p.margin))]
    return compose(scene, does, hold, schedule="horizon", last=last, progress=progress, name=name)


def _half(model: ip.Humanoid, kind: str, speed: float) -> float:
    """Return about how long a step is [s]."""
    return sum(phase.seconds for phase in paced(Body(ip.Scene().add(model, "one"), "one"), kind, speed))
