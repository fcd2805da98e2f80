"""Alien (abe2007): a lighter, smaller body with a big head in Pelted or on a platform; same controller, only its waist is softer."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

import interplay as ip
from interplay import scenario as base
from interplay.scenarios.pelted import Pelted

_SWAYS = {"x": (0.07, 0.31), "y": (0.07, 0.23), "roll": (0.06, 0.17), "pitch": (0.06, 0.27)}
"""How far [m, rad] and how often [1/s] the platform moves along and about its axes."""


class Alien(Pelted):
    """Another body, the same control."""

    name: ClassVar[str] = "alien"
    summary: ClassVar[str] = (
        "a smaller, big-headed character in Pelted, or on a moving platform: the same control, only a softer waist"
    )
    camera: ClassVar[base.Camera] = base.Camera(lookat=(0, 0, 0.6), distance=3.2, azimuth=145, elevation=-10)

    class Parameters(Pelted.Parameters):
        """The body, and where it has to stand."""

        experiment: Literal["pelted", "platform"] = Field("pelted", description="what it goes through")
        height: float = Field(1.25, ge=0.8, le=2.0, description="stature [m]")
        head: float = Field(
            1.8, ge=1.0, le=2.5, description="how many times larger its head is than an adult's of its stature"
        )
        waist: float = Field(0.4, ge=0.05, le=1.0, description="stiffness of its waist, of what the human's has")
        mass: float = Field(
            0.7, ge=0.05, le=20, description="mass of the heaviest ball [kg]; the lightest has a third of it"
        )
        sway: float = Field(1.0, ge=0, le=2, description="how far the platform moves: 1 is 7 cm and 3.4° either way")

    p: Parameters

    def build(self) -> ip.Scene:
        """Place it, and what it has to stand or to stand on."""
        if self.p.experiment == "pelted":
            return super().build()
        platform = ip.MovingPlatform()
        return self._boxer(ip.Scene().add(platform, "platform"), self._body(), platform.height)

    def view(self) -> base.Camera:
        """Look up to the platform where there is one."""
        high = {"lookat": (0.0, 0.0, 1.1), "distance": 4.2}
        return self.camera if self.p.experiment == "pelted" else self.camera.model_copy(update=high)

    def _body(self) -> ip.Humanoid:
        return ip.Humanoid(self.p.height, None, "male", 34, head_scale=self.p.head, color=(0.45, 0.62, 0.35))

    def start(self, sim: ip.Simulation) -> None:
        """Let it stand as the human does, and throw balls, or move the platform."""
        if self.p.experiment == "pelted":
            self._stand(sim, waist=self.p.waist)
            self._throws(sim)
            return
        self._stand(sim, "platform/top", self.p.waist)
        for joint, (far, often) in _SWAYS.items():
            control = sim.live.add_control(
                ip.Control(
                    joint,
                    "scalar",
                    [0.0],
                    [-0.25],
                    [0.25],
                    max_speed=0.2,
                    unit="m" if joint in "xy" else "rad",
                    help=f"where the platform is along or about its axis: {joint}",
                )
            )
            sim.live.drive(f"platform/{joint}", control)
            for time in np.arange(0.5, self.p.seconds - 1.0, 0.5 / often) if self.p.sway else ():
                far = -far
                goal = self.p.sway * far * sim.rng.uniform(0.5, 1.0, 1)
                sim.live.targets.append(ip.Target(round(float(time), 2), joint, goal))
        sim.live.targets.sort(key=lambda target: target.time)
