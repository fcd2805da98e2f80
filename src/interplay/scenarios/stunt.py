"""Stunt: she stands, is pushed off her feet, falls, rolls over, gets up and stands again, by skills that bid (faloutsos2001, Fig. 1)."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from pydantic import Field

import interplay as ip
from interplay import scenario as base


class Stunt(base.Scenario):
    """One who is pushed, and gets up."""

    name: ClassVar[str] = "stunt"
    summary: ClassVar[str] = (
        "a character is pushed off her feet, protects herself, rolls over, gets up and stands again"
    )
    world: ClassVar[str | None] = "simulated"
    dt: ClassVar[float] = 0.01
    longest_dt: ClassVar[float] = 0.02
    timeout: ClassVar[float] = 60.0
    camera: ClassVar[base.Camera] = base.Camera(lookat=(0, 0, 0.7), distance=4.5, azimuth=130)

    class Parameters(base.Parameters):
        """How hard she is pushed, and how often."""

        least: float = Field(95.0, ge=0, le=300, description="least impulse of a push [N·s]")
        most: float = Field(130.0, ge=0, le=300, description="largest impulse of a push [N·s]")
        every: float = Field(20.0, ge=2, le=600, description="seconds from one push to the next")
        pushes: int = Field(1, ge=0, le=1000, description="how many pushes there are")
        direction: float | None = Field(
            None, ge=-360, le=360, description="of all pushes [deg], 0: forward; none: by the seed"
        )

    p: Parameters

    def build(self) -> ip.Scene:
        """Place her."""
        return self.add_character(ip.Scene(), "ann", ip.Humanoid(1.74, 68, "female"))

    def start(self, sim: ip.Simulation) -> None:
        """Let her be moved by skills, and push her by the seed."""
        sim.behaviour = ip.Supervisor("ann", ip.repertoire("ann"))
        size = float(sim.scene.model.body_mass.sum()) / 68.0
        for k in range(self.p.pushes):
            angle = np.radians(self.p.direction) if self.p.direction is not None else sim.rng.uniform(0.0, 2 * np.pi)
            impulse = size * sim.rng.uniform(self.p.least, max(self.p.least, self.p.most))
            force = impulse / 0.1 * np.array([np.cos(angle), np.sin(angle), 0.0])
            place = sim.scene.model.body_ipos[sim.scene.body("ann/chest")]
            pushed = np.concatenate([place, force, [0.1], np.zeros(3), [0.0]])
            sim.live.targets.append(ip.Target(1.0 + k * self.p.every, "push ann/chest", pushed))
