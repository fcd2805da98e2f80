"""Walk, run and a child's walk: half a cycle of least effort at a given speed, from nothing, and its mirror image."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

import interplay as ip
from interplay import composition as base
from interplay.spacetime.body import Body
from interplay.spacetime.gaits import gait
from interplay.spacetime.performing import Performance, perform_gait
from interplay.spacetime.solving import Progress


class Walk(base.Composition):
    """A walk."""

    name: ClassVar[str] = "walk"
    summary: ClassVar[str] = "a walk at a given speed"
    kind: ClassVar[str] = "walk"
    played: ClassVar[bool] = True

    class Parameters(base.Worn):
        """Speed, length, and who."""

        speed: float = Field(1.3, ge=0.3, le=2.5, description="[m/s]")
        steps: int = Field(6, ge=1, le=1000, description="how many steps are written")
        height: float = Field(1.74, ge=0.8, le=2.2, description="of who walks [m]")
        mass: float = Field(68.0, ge=10, le=200, description="of who walks [kg]")

    p: Parameters

    def who(self) -> ip.Humanoid:
        """Return who moves."""
        return ip.Humanoid(self.p.height, self.p.mass, springs=True, shoes=self.p.shoes)

    def compose(self, progress: Progress | None = None) -> Performance:
        """Return the gait."""
        body = Body(ip.Scene().add(self.cast(self.who()), "ann"), "ann")
        return perform_gait(self.name, gait(body, self.kind, self.p.speed, progress), self.p.steps)


class Run(Walk):
    """A run."""

    name: ClassVar[str] = "run"
    summary: ClassVar[str] = "a run at a given speed"
    kind: ClassVar[str] = "run"

    class Parameters(Walk.Parameters):
        """Speed, length, and who."""

        speed: float = Field(3.0, ge=1.5, le=6.0, description="[m/s]")

    p: Parameters


class ChildWalk(Walk):
    """A child's walk."""

    name: ClassVar[str] = "child_walk"
    summary: ClassVar[str] = "a child's walk at a given speed"

    class Parameters(Walk.Parameters):
        """Speed, length, and who."""

        speed: float = Field(0.9, ge=0.3, le=2.0, description="[m/s]")
        height: float = Field(1.15, ge=0.8, le=1.5, description="of the child [m]")
        mass: float = Field(21.0, ge=8, le=60, description="of the child [kg]")

    p: Parameters

    def who(self) -> ip.Humanoid:
        """Return a child."""
        return ip.Humanoid.child(self.p.height, self.p.mass, springs=True, shoes=self.p.shoes)
