"""CarryBox: two hands of an operator show that a box is to be taken from a table, moved, turned and put down (liu2012, VI.B)."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from pydantic import Field

import interplay as ip
from interplay import scenario as base

_READY = {"shoulder_flexion": 0.25, "shoulder_abduction": 0.6, "elbow_flexion": 1.2}
"""Her arms [rad]."""
_HIGH = 0.92
"""Of the table [m], of a body of 1.74 m."""


class CarryBox(base.Scenario):
    """Carrying by force control."""

    name: ClassVar[str] = "carry_box"
    summary: ClassVar[str] = (
        "an operator's two hands show her to take a box from a table, move and turn it, and put it down"
    )
    world: ClassVar[str | None] = "simulated"
    controller: ClassVar[str] = "force"
    longest_dt: ClassVar[float] = 0.02
    camera: ClassVar[base.Camera] = base.Camera(lookat=(0.3, 0, 0.9), distance=3.0, azimuth=130)

    class Parameters(base.Parameters):
        """The box, and what the operator does."""

        mass: float = Field(10.0, ge=0.2, le=60, description="mass of the box [kg]")
        friction: float = Field(1.0, ge=0.2, le=2, description="between the box and what it touches")
        width: float = Field(0.36, ge=0.2, le=0.6, description="of the box, between the palms [m]")
        overlap: float = Field(
            0.05, ge=0, le=0.2, description="how far each of the operator's hands is inside the box [m]"
        )
        lift: float = Field(0.25, ge=0.02, le=0.5, description="how high it is lifted [m]")
        tremor: float = Field(0.0, ge=0, le=0.03, description="of the operator's hands, root mean square [m]")
        dropouts: float = Field(0.0, ge=0, le=2, description="how often a second nothing is heard of them for a while")
        turn: float = Field(20.0, ge=-60, le=60, description="how far it is turned [deg]")

    p: Parameters

    def build(self) -> ip.Scene:
        """Place her before a table with the box on it."""
        arms = {f"{side}_{joint}": angle for side in ("left", "right") for joint, angle in _READY.items()}
        scene = self.add_character(ip.Scene(), "ann", ip.Humanoid(1.74, 68, "female"), posture=arms)
        k = self.scale(1.74)
        scene.add(ip.Platform((0.5, 0.9, _HIGH * k)), "table", pos=(0.25 + 0.32 * k, 0))
        box = ip.Box((0.2, self.p.width, 0.26), self.p.mass)
        return scene.add(box, "box", pos=(0.1 + 0.36 * k, 0, _HIGH * k), friction=self.p.friction)

    def start(self, sim: ip.Simulation) -> None:
        """Let an operator's hands lead hers."""
        for side in ("left", "right"):
            sim.contacts.add(f"ann/{side}_sole", ip.GROUND, friction=1.0)
        hands = ip.operator_hands(sim, "ann", (-0.5, -1.0, 0.3), (1.5, 1.0, 2.0))
        sim.behaviour = ip.Operated("ann", ["box"], hands)
        k = self.scale(1.74)
        middle = np.array([0.07 + 0.36 * k, 0.0, _HIGH * k + 0.13])
        beside = 0.5 * self.p.width
        turn, lift, inside = np.radians(self.p.turn), self.p.lift, beside - self.p.overlap

        def at(time: float, way: tuple[float, float, float], angle: float, apart: float) -> ip.Waypoint:
            return ip.Waypoint(time, tuple(middle + np.array(way)), angle, apart)

        ways = [
            at(1.5, (0, 0, 0), 0.0, beside + 0.12),
            at(3.0, (0, 0, 0), 0.0, inside),
            at(4.0, (0, 0, 0), 0.0, inside),
            at(6.0, (0, 0, lift), 0.0, inside),
            at(8.0, (-0.02, 0.15, lift), 0.0, inside),
            at(10.0, (-0.02, 0.0, lift), turn, inside),
            at(12.0, (0, 0, lift), 0.0, inside),
            at(14.5, (0, 0, -0.03), 0.0, inside),
            at(15.5, (0, 0, -0.03), 0.0, inside),
            at(17.0, (0, 0, 0), 0.0, beside + 0.15),
        ]
        ip.lead_hands(sim, "ann", ways, fingers=(1, 0, 0), manner=ip.OperatorManner(self.p.tremor, self.p.dropouts))
