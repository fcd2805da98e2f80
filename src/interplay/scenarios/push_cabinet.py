"""PushCabinet: two hands of an operator show that a cabinet is to be pushed; she steps up, leans, presses and pushes (liu2012, VI.A)."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from pydantic import Field

import interplay as ip
from interplay import scenario as base
from interplay.handling.operated import Operated, operator_hands
from interplay.maths.rotations import quaternion_of

_READY = {"shoulder_flexion": 0.3, "elbow_flexion": 1.9, "shoulder_abduction": 0.15}
"""Her arms [rad]."""


class PushCabinet(base.Scenario):
    """Pushing by force control."""

    name: ClassVar[str] = "push_cabinet"
    summary: ClassVar[str] = "an operator's two hands show her to push a cabinet; she steps up, leans and pushes"
    world: ClassVar[str | None] = "simulated"
    camera: ClassVar[base.Camera] = base.Camera(lookat=(0.6, 0, 0.8), distance=4.0, azimuth=100)

    class Parameters(base.Parameters):
        """The cabinet, and what the operator does."""

        mass: float = Field(40.0, ge=1, le=200, description="mass of the cabinet [kg]")
        friction: float = Field(0.1, ge=0.02, le=1, description="between the cabinet and what it touches")
        depth: float = Field(0.8, ge=0.2, le=2, description="of the cabinet [m]; a shallow one tips")
        step: float = Field(0.25, ge=0, le=0.4, description="how far she steps ahead while she approaches [m]; 0: not")
        leans: bool = Field(True, description="whether her centre of mass goes where the hands' forces want it")
        push: float = Field(0.45, ge=0, le=1, description="how far the operator's hands go on where the cabinet is [m]")
        speed: float = Field(0.1, ge=0.01, le=1, description="of these hands [m/s]")
        height: float = Field(1.25, ge=0.8, le=1.6, description="of these hands [m]")

    p: Parameters

    def build(self) -> ip.Scene:
        """Place her before the cabinet."""
        arms = {f"{side}_{joint}": angle for side in ("left", "right") for joint, angle in _READY.items()}
        scene = self.add_character(ip.Scene(), "ann", ip.Humanoid(1.74, 68, "female"), posture=arms)
        k = self.scale(1.74)
        cabinet = ip.Box((self.p.depth, 0.9, 1.6), self.p.mass, color=(0.62, 0.5, 0.36))
        return scene.add(cabinet, "cabinet", pos=(0.8 * k + 0.5 * self.p.depth, 0), friction=self.p.friction)

    def start(self, sim: ip.Simulation) -> None:
        """Let an operator's hands lead hers."""
        for side in ("left", "right"):
            sim.contacts.add(f"ann/{side}_sole", ip.GROUND, friction=1.0)
        hands = operator_hands(sim, "ann", (-0.5, -1.0, 0.3), (3.0, 1.0, 2.0))
        sim.behaviour = Operated("ann", ["cabinet"], hands, leans=self.p.leans, step=self.p.step)
        k = self.scale(1.74)
        face, up = 0.8 * k, quaternion_of(np.array([[0.0, 0.0, 1.0], [0.0, -1.0, 0.0], [1.0, 0.0, 0.0]]))
        for side, y in (("left", 0.2), ("right", -0.2)):
            def at(time: float, x: float, side: str = side, y: float = y) -> None:
                place = ip.pose_value((x, k * y, k * self.p.height), up)
                sim.live.targets.append(ip.Target(round(time, 3), f"ann {side} hand", place))

            at(0.5, face - 0.12)
            begin, seconds = 4.0, self.p.push / self.p.speed
            for part in np.linspace(0.0, 1.0, round(10 * seconds) + 1)[1:]:
                at(begin + part * seconds, face - 0.12 + part * (0.12 + self.p.push))
            for part in np.linspace(0.0, 1.0, 11)[1:]:
                at(begin + seconds + 1.0 + part, face + self.p.push - part * (self.p.push + 0.3))
        sim.live.targets.sort(key=lambda target: target.time)
