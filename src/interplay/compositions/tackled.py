"""He tackles her, or she dodges: each plans anew what is left, later and later; who adjusts last decides (liu2006, section 6.3)."""

from __future__ import annotations

from math import radians
from typing import ClassVar

from pydantic import Field

import interplay as ip
from interplay import composition as base
from interplay.spacetime.contests import Tackler, contest, outcome
from interplay.spacetime.performing import Performance, perform
from interplay.spacetime.solving import Progress

HER = "ann"


class Tackled(base.Composition):
    """He gets her."""

    name: ClassVar[str] = "tackled"
    summary: ClassVar[str] = "he runs at her and tackles her, though she tries to dodge"
    wins: ClassVar[str] = "ben"
    tacklers: ClassVar[tuple[str, ...]] = ("ben",)

    class Parameters(base.Parameters):
        """Speeds, from where, and how far."""

        walk: float = Field(1.2, ge=0.5, le=2.0, description="her speed [m/s]")
        run: float = Field(3.0, ge=2.0, le=5.0, description="his [m/s]")
        side: float = Field(40.0, ge=-180, le=180, description="where he comes from, left of her way [deg]")
        hit: float = Field(2.5, ge=0.5, le=6.0, description="how fast he meets her torso [m/s]")
        margin: float = Field(0.2, ge=0.0, le=1.0, description="how far out of his bounding sphere she gets [m]")
        steps: int = Field(3, ge=2, le=6, description="how many steps she takes")
        cycles: int = Field(2, ge=1, le=4, description="how often each plans")

    p: Parameters

    def compose(self, progress: Progress | None = None) -> Performance:
        """Return the motion."""
        p = self.p
        models = (ip.Humanoid(1.80, 80.0), ip.Humanoid(1.76, 74.0))
        sides = (p.side, -p.side)
        who = [Tackler(n, models[k], p.run, radians(sides[k])) for k, n in enumerate(self.tacklers)]
        her = (HER, ip.Humanoid(1.68, 60.0), p.walk)
        settings = {"steps": p.steps, "hit": p.hit, "margin": p.margin, "cycles": p.cycles}
        found = contest(her, who, self.wins, **settings, progress=progress)
        said = outcome(found, HER, self.tacklers)
        return perform(self.name, found.found, touching=found.touching, between=lambda _: said)


class Dodged(Tackled):
    """She gets away."""

    name: ClassVar[str] = "dodged"
    summary: ClassVar[str] = "he runs at her to tackle her, and she dodges"
    wins: ClassVar[str] = HER

    class Parameters(Tackled.Parameters):
        """Speeds, from where, and how far."""

        cycles: int = Field(1, ge=1, le=4, description="how often each plans")

    p: Parameters


class TwoTacklers(Dodged):
    """She gets away from two."""

    name: ClassVar[str] = "two_tacklers"
    summary: ClassVar[str] = "two run at her from different sides, and she dodges both"
    tacklers: ClassVar[tuple[str, ...]] = ("ben", "carl")
