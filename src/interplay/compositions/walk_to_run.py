"""From a walk to a run, and walks that turn: actions in a row, spliced from optimal gaits, then one motion of least effort."""

from __future__ import annotations

from math import radians
from typing import ClassVar, Literal

from pydantic import Field

import interplay as ip
from interplay import composition as base
from interplay.spacetime.actions import Action, Pivot, Run, Stand, Walk
from interplay.spacetime.body import Body
from interplay.spacetime.composing import composed, scored
from interplay.spacetime.performing import Performance, perform
from interplay.spacetime.solving import Progress

Free = Literal["timing+footprints", "timing", "footprints", "nothing"]


class Who(base.Worn):
    """Who moves, and what is free."""

    height: float = Field(1.74, ge=0.8, le=2.2, description="of who moves [m]")
    mass: float = Field(68.0, ge=10, le=200, description="of who moves [kg]")
    free: Free = Field("timing+footprints", description="what else than the motion is found: timing, footprints")


class _Acted(base.Composition):
    """Actions in a row."""

    played: ClassVar[bool] = True

    class Parameters(Who):
        """Who moves, and what is free."""

    p: Parameters

    def actions(self) -> list[Action]:
        """Return what is done, in order."""
        raise TypeError(f"{type(self).__name__} does not define actions()")

    def compose(self, progress: Progress | None = None) -> Performance:
        """Return the motion."""
        who = self.cast(ip.Humanoid(self.p.height, self.p.mass, springs=True, shoes=self.p.shoes))
        body = Body(ip.Scene().add(who, "ann"), "ann")
        free = () if self.p.free == "nothing" else tuple(self.p.free.split("+"))
        score = scored(body, self.actions(), progress, free=free)
        return perform(self.name, composed(score, (), getattr(self.p, "schedule", "joint"), progress))


class WalkToRun(_Acted):
    """A transition."""

    name: ClassVar[str] = "walk_to_run"
    summary: ClassVar[str] = "from a walk to a run"

    class Parameters(Who):
        """Speeds, steps and schedule."""

        walk: float = Field(1.3, ge=0.5, le=2.2, description="speed at first [m/s]")
        run: float = Field(3.0, ge=1.5, le=5.0, description="speed in the end [m/s]")
        walk_steps: int = Field(2, ge=1, le=10, description="steps walked")
        run_steps: int = Field(2, ge=1, le=10, description="steps run")
        schedule: Literal["joint", "layered"] = Field("joint", description="all at once, or before, after, across")

    p: Parameters

    def actions(self) -> list[Action]:
        """Return both."""
        return [Walk(self.p.walk, self.p.walk_steps), Run(self.p.run, self.p.run_steps)]


class TurnAndPivot(_Acted):
    """A walk that turns, and pivots."""

    name: ClassVar[str] = "turn_and_pivot"
    summary: ClassVar[str] = "a walk that turns on its way, then sharply"

    class Parameters(Who):
        """Angles and speed."""

        speed: float = Field(1.2, ge=0.5, le=2.0, description="[m/s]")
        turn: float = Field(
            45.0, ge=-120, le=120, description="by how much she turns in two steps, left is positive [deg]"
        )
        pivot: float = Field(-90.0, ge=-180, le=180, description="by how much she then turns nearly on the spot [deg]")

    p: Parameters

    def actions(self) -> list[Action]:
        """Return a step, the turn, the pivot, and a step."""
        p = self.p
        out: list[Action] = [Walk(p.speed, 1)]
        out += [Walk(p.speed, 2, radians(p.turn))] if p.turn else []
        out += [Pivot(radians(p.pivot))] if p.pivot else []
        return [*out, Walk(p.speed, 1)]


class Stop(_Acted):
    """A walk that ends."""

    name: ClassVar[str] = "walk_to_stand"
    summary: ClassVar[str] = "a walk that comes to a stand"

    class Parameters(Who):
        """Speed and steps."""

        speed: float = Field(1.2, ge=0.5, le=2.0, description="[m/s]")
        steps: int = Field(1, ge=1, le=10, description="steps before the last")

    p: Parameters

    def actions(self) -> list[Action]:
        """Return steps and the stand."""
        return [Walk(self.p.speed, self.p.steps), Stand()]
