"""Valve: a character turns a hand wheel by the spinning handle on its rim; then the user sets the wheel's angle."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from pydantic import Field

import interplay as ip
from interplay import scenario as base

_HAND, _HANDLE = "alice/right_grip", "valve/handle_grip"


class Valve(base.Scenario):
    """Two passive joints with parallel axes, driven by one hand."""

    name: ClassVar[str] = "valve"
    summary: ClassVar[str] = "a character turns a hand wheel by its handle; then the wheel's angle follows the user"
    longest_dt: ClassVar[float] = 0.1
    camera: ClassVar[base.Camera] = base.Camera(lookat=(-0.2, -0.25, 0.9), distance=2.7, azimuth=-35, elevation=-12)

    class Parameters(base.Parameters):
        """Wheel and movement."""

        radius: float = Field(0.16, ge=0.08, le=0.22, description="radius of the handle's circle [m]")
        mass: float = Field(6.0, ge=1, le=40, description="mass of the wheel [kg]")
        turn: float = Field(6.28, ge=0.3, le=6.3, description="how far the wheel is turned [rad]")

    p: Parameters

    def build(self) -> ip.Scene:
        """Place her beside the wheel, its handle toward her right hand, so that she cranks it before her."""
        usual = ip.Humanoid(1.70, 64, "female")
        scene = ip.Scene().add(ip.Valve(self.p.radius, self.p.mass, 1.02 * self.scale(usual.height)), "valve")
        ready = {"right_elbow_flexion": 1.2, "right_forearm_rotation": -1.0}
        return self.add_character(scene, "alice", usual, (-0.32, -0.44), yaw=0.5 * np.pi, posture=ready)

    def start(self, sim: ip.Simulation) -> None:
        """Feet on the ground; reach, grasp, turn there and back, let go, and again for the user."""
        balance = base.at_work(sim, "alice", "valve/wheel")
        for part in ("disc", "post"):
            limbs = ("chest", "pelvis", "head", "left_hand", "left_thigh", "right_thigh", "right_forearm")
            for limb in base.parts(sim, "alice", *limbs):
                sim.collisions.add(f"valve/{part}", limb, influence=0.06, security=0.015)
        angle = sim.live.add_control(
            ip.Control("valve", "scalar", [0.0], [-6.3], [6.3], max_speed=1.5, unit="rad", help="angle of the wheel")
        )

        def wheel(goal: float | ip.Control, seconds: float = 1.0) -> base.Objectives:
            return base.drive({"valve/wheel": goal}, seconds, balance, max_speed=3.0)

        turn, seconds = self.p.turn, 0.9 + 0.55 * self.p.turn
        grasp = [(_HAND, _HANDLE, {"grip_force": 300.0})]
        above = (sim.terms.site_xpos[sim.scene.site(_HANDLE)] + [0.0, -0.1, 0.1]).tolist()  # the palm comes down on it
        back = (sim.terms.site_xpos[sim.scene.site(_HANDLE)] + [-0.06, -0.22, -0.2]).tolist()
        sim.behaviour = ip.Machine(
            [
                ip.blocks.reach("reach", _HAND, _HANDLE, seconds=1.5, via=above, extra=balance, gap=0.008, weight=60.0),
                ip.Phase("grasp", balance, make=grasp, seconds=0.5),
                ip.Phase(
                    "turn",
                    wheel(turn, seconds),
                    seconds=seconds,
                    until=ip.conditions.joint_at("valve/wheel", turn, 0.03),
                ),
                ip.Phase(
                    "turn back",
                    wheel(0.0, seconds),
                    seconds=seconds,
                    until=ip.conditions.joint_at("valve/wheel", 0.0, 0.03),
                ),
                ip.blocks.remove_contact("let go", _HAND, force=2.0, extra=wheel(0.0)),
                ip.blocks.reach("draw the hand back", _HAND, back, seconds=1.1, via=above, extra=balance),
                ip.blocks.reach(
                    "reach again", _HAND, _HANDLE, seconds=1.3, via=above, extra=balance, gap=0.008, weight=60.0
                ),
                ip.Phase("grasp again", balance, make=grasp, seconds=0.5),
                ip.Phase("follow", wheel(angle), interactive=True, timeout=None),
            ]
        )
