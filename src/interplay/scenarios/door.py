"""Door: a character turns a passive knob, opens and closes a passive door; then the user sets its angle."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from pydantic import Field

import interplay as ip
from interplay import scenario as base

_HAND, _KNOB = "alice/right_grip", "door/knob_grip"


class Door(base.Scenario):
    """Two passive joints moved by one hand."""

    name: ClassVar[str] = "door"
    summary: ClassVar[str] = (
        "a character turns the handle of a door, opens and closes it; then the door's angle follows the user"
    )
    longest_dt: ClassVar[float] = 0.07
    table_phase: ClassVar[str | None] = "open"
    table_pairs: ClassVar[int | None] = 1
    camera: ClassVar[base.Camera] = base.Camera(lookat=(-0.25, -0.1, 0.95), distance=3.1, azimuth=50, elevation=-14)

    class Parameters(base.Parameters):
        """Door and movement."""

        width: float = Field(0.9, ge=0.6, le=1.2, description="width of the door [m]")
        mass: float = Field(22.0, ge=2, le=80, description="mass of the door [kg]")
        distance: float = Field(
            0.46, ge=0.3, le=0.9, description="how far she stands before it [m], of a stature of 1.70 m"
        )
        aside: float = Field(0.24, ge=-0.1, le=0.6, description="how far beside its middle [m], of a stature of 1.70 m")
        open: float = Field(0.6, ge=0.1, le=0.8, description="opening angle [rad]")
        knob: float = Field(0.4, ge=0.1, le=0.8, description="how far the handle is turned [rad]")

    p: Parameters

    def build(self) -> ip.Scene:
        """Place her before the door, which opens away from her."""
        usual = ip.Humanoid(1.70, 64, "female")
        handle = float(np.clip(self.scale(usual.height), 0.5, 1.6))
        scene = ip.Scene().add(ip.Door(self.p.width, 2.05 * max(handle, 1.0), self.p.mass, handle), "door")
        ready = {"right_elbow_flexion": 0.9, "right_shoulder_flexion": 0.2}
        return self.add_character(scene, "alice", usual, (-self.p.distance, -self.p.aside), posture=ready)

    def start(self, sim: ip.Simulation) -> None:
        """Feet on the ground; reach, grasp, turn, open, close, turn back, let go, and again for the user."""
        balance = base.at_work(sim, "alice", _KNOB)
        sim.objectives += [ip.Posture("door", weight=1e-3, stiffness=4.0)]
        legs = [f"{side}_{part}" for part in ("thigh", "shank", "foot") for side in ("left", "right")]
        for part in base.parts(sim, "alice", "chest", "pelvis", "head", "left_hand", "left_forearm", *legs):
            sim.collisions.add("door/panel", part, influence=0.08, security=0.02)
        for part in base.parts(sim, "alice", "right_forearm"):
            sim.collisions.add("door/panel", part, influence=0.05, security=0.01)
            sim.collisions.add("door/right_post", part, influence=0.05, security=0.01)
        angle = sim.live.add_control(
            ip.Control(
                "door", "scalar", [0.0], [0.0], [0.8], max_speed=0.5, unit="rad", help="opening angle of the door"
            )
        )

        def door(hinge: float | ip.Control, knob: float, seconds: float) -> base.Objectives:
            return base.drive({"door/hinge": hinge, "door/knob": knob}, seconds, balance)

        turned = -self.p.knob
        away = [self.scale(1.70) * v for v in (-0.42, -0.5, 0.95)]
        knob = sim.terms.site_xpos[sim.scene.site(_KNOB)]
        above, off = (
            (knob + by).tolist() for by in ([-0.02, -0.06, 0.12], [-0.12, -0.06, 0.12])
        )  # the palm comes down on it
        grasp = {"grip_force": 300.0}
        sim.behaviour = ip.Machine(
            [
                ip.blocks.reach("reach", _HAND, _KNOB, seconds=1.6, via=above, extra=balance, gap=0.008, weight=60.0),
                ip.Phase("grasp", balance, make=[(_HAND, _KNOB, grasp)], seconds=0.5),
                ip.Phase(
                    "turn the handle",
                    door(0.0, turned, 0.9),
                    seconds=1.0,
                    until=ip.conditions.joint_at("door/knob", turned, 0.05),
                ),
                ip.Phase(
                    "open",
                    door(self.p.open, turned, 2.4),
                    seconds=2.4,
                    until=ip.conditions.joint_at("door/hinge", self.p.open, 0.04),
                ),
                ip.Phase("handle back", door(self.p.open, 0.0, 0.8), seconds=1.0),
                ip.Phase(
                    "close", door(0.0, turned, 2.4), seconds=2.4, until=ip.conditions.joint_at("door/hinge", 0.0, 0.02)
                ),
                ip.Phase("handle up", door(0.0, 0.0, 0.8), seconds=1.0),
                ip.blocks.remove_contact("let go", _HAND, force=2.0, extra=door(0.0, 0.0, 0.5)),
                ip.blocks.reach("draw the hand back", _HAND, away, seconds=1.2, via=off, extra=balance),
                ip.blocks.reach(
                    "reach again", _HAND, _KNOB, seconds=1.4, via=off, extra=balance, gap=0.008, weight=60.0
                ),
                ip.Phase("grasp again", balance, make=[(_HAND, _KNOB, grasp)], seconds=0.5),
                ip.Phase("turn again", door(0.0, turned, 0.9), seconds=1.0),
                ip.Phase("follow", door(angle, turned, 1.0), interactive=True, timeout=None),
            ]
        )
