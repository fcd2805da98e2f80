"""Stand: one character stands, sways, crouches and rises; then the user moves her centre of mass."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pydantic
from pydantic import Field

import interplay as ip
from interplay import scenario as base


class Stand(base.Scenario):
    """A character on both feet."""

    name: ClassVar[str] = "stand"
    summary: ClassVar[str] = "one character stands, sways and crouches; then her centre of mass follows the user"
    longest_dt: ClassVar[float] = 0.15
    camera: ClassVar[base.Camera] = base.Camera(lookat=(0, 0, 0.85), distance=2.6, azimuth=145)

    class Parameters(base.Parameters):
        """Body and extent of the movements."""

        height: float = Field(1.74, ge=0.8, le=2.3, description="stature [m]")
        mass: float = Field(68.0, ge=10, le=200, description="body mass [kg]")
        sex: str = Field("female", description="segment table: male or female")
        sway: float = Field(0.05, ge=0, le=0.12, description="sideways sway of the centre of mass [m]")
        crouch: float = Field(0.16, ge=0, le=0.3, description="depth of the crouch [m], at most 0.18 of the stature")

        @pydantic.model_validator(mode="after")
        def _within_the_legs(self) -> Any:
            if self.crouch > 0.18 * self.height:
                raise ValueError(f"crouch: expected at most 0.18 of the height ({0.18 * self.height:.2f} m)")
            return self

    p: Parameters

    def build(self) -> ip.Scene:
        """Place her."""
        return self.add_character(ip.Scene(), "alice", ip.Humanoid(self.p.height, self.p.mass, self.p.sex))

    def start(self, sim: ip.Simulation) -> None:
        """Put both soles on the ground and list the phases."""
        soles = ("alice/left_sole", "alice/right_sole")
        points = [sim.contacts.add(sole, ip.GROUND).kind == "point" for sole in soles]
        sim.objectives += [ip.Posture("alice", weight=0.3)]
        home, _ = sim.com("alice")
        home[:2] = sim.middle(*soles)[:2]
        axes, size = "xyz", self.scale(self.p.height)
        # On points there is nothing to press with: momentum keeps her up; forward she cannot be moved, and other ways less.
        if all(points):
            sim.objectives += [ip.LineBalance("alice", *soles)]
            if base.parts(sim, "alice", "left_shank", "right_shank"):  # she has ankles: feet stay flat
                feet = base.parts(sim, "alice", "left_foot", "right_foot")
                sim.objectives += [ip.Orientation(foot, weight=2.0) for foot in feet]
            axes, size = "yz", 0.5 * size
        else:
            sim.objectives += [ip.AngularMomentum("alice")]
            sim.objectives += [ip.Orientation(body, weight=5.0) for body in base.parts(sim, "alice", "chest")]
            sim.objectives += [ip.Orientation(body, weight=1.0) for body in base.parts(sim, "alice", "head")]
        chosen = ["xyz".index(a) for a in axes]
        control = sim.live.add_control(
            ip.Control(
                "com",
                "point",
                home,
                home - size * np.array([0.06, 0.08, 0.25]),
                home + size * np.array([0.08, 0.08, 0.02]),
                max_speed=0.25,
                help="centre of mass of the character",
            )
        )

        def move(name: str, to: Any, seconds: float) -> ip.Phase:
            goal = home + size * np.asarray(to)

            def objectives(sim: ip.Simulation) -> list[ip.Objective]:
                path = ip.MinimumJerk(sim.com("alice")[0][chosen], goal[chosen], sim.time, seconds)
                return [ip.Com("alice", reference=path, axes=axes)]

            return ip.Phase(name, objectives, seconds=seconds + 0.2)

        sway, crouch = self.p.sway, self.p.crouch
        part = slice(3 - len(axes), 3)
        follow = ip.Part(control, part, part)
        phases = ip.Machine(
            [
                move("settle", (0, 0, 0), 0.8),
                move("sway left", (0, sway, 0), 1.0),
                move("sway right", (0, -sway, 0), 1.4),
                move("back to the middle", (0, 0, 0), 1.0),
                move("crouch", (0, 0, -crouch), 1.5),
                move("rise", (0, 0, 0), 1.5),
                ip.Phase("follow", [ip.Com("alice", reference=follow, axes=axes)], interactive=True, timeout=None),
            ]
        )
        # Pushed farther than her feet can hold, she steps, and comes back; on points there is no such step.
        sim.behaviour = phases if any(points) else ip.Recovery("alice", phases)
