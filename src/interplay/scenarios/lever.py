"""Lever: a character moves a spring-loaded lever with both hands and keeps clear of its bulky end; then the user sets its angle."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from pydantic import Field

import interplay as ip
from interplay import scenario as base

_HANDS = (("alice/left_grip", "lever/left_grip"), ("alice/right_grip", "lever/right_grip"))


class Lever(base.Scenario):
    """A passive joint with spring and damper, and an end that must not be hit."""

    name: ClassVar[str] = "lever"
    summary: ClassVar[str] = (
        "a character pulls and pushes a spring-loaded lever with a bulky end; then its angle follows the user"
    )
    longest_dt: ClassVar[float] = 0.1
    camera: ClassVar[base.Camera] = base.Camera(lookat=(-0.2, 0, 0.95), distance=2.9, azimuth=65, elevation=-10)

    class Parameters(base.Parameters):
        """Lever and movement."""

        stiffness: float = Field(40.0, ge=22, le=80, description="spring of the lever [N·m/rad]")
        damping: float = Field(3.0, ge=0, le=30, description="damper of the lever [N·m·s/rad]")
        pull: float = Field(0.45, ge=0.1, le=0.5, description="how far it is pulled [rad]")
        push: float = Field(0.4, ge=0.1, le=0.5, description="how far it is pushed [rad]")

    p: Parameters

    def build(self) -> ip.Scene:
        """Place her before the lever."""
        usual = ip.Humanoid(1.70, 64, "female")
        k = self.scale(usual.height)
        lever = ip.Lever(0.7 * k, stiffness=self.p.stiffness, damping=self.p.damping, height=0.55 * k)
        bent = {f"{side}_elbow_flexion": 1.0 for side in ("left", "right")}
        return self.add_character(ip.Scene().add(lever, "lever"), "alice", usual, (-0.52, 0), posture=bent)

    def start(self, sim: ip.Simulation) -> None:
        """Feet on the ground; reach, grasp, pull, push, let go, and again for the user."""
        balance = base.at_work(sim, "alice", "lever/right_grip")
        limbs = ("head", "chest", "pelvis", *(f"{s}_{p}" for s in ("left", "right") for p in ("forearm", "upper_arm")))
        for limb in base.parts(sim, "alice", *limbs):
            sim.collisions.add("lever/bulk", limb, influence=0.10, security=0.03)
        for limb in base.parts(sim, "alice", "pelvis", "left_thigh", "right_thigh", "left_shank", "right_shank"):
            sim.collisions.add("lever/post", limb, influence=0.06, security=0.015)
        angle = sim.live.add_control(
            ip.Control("lever", "scalar", [0.0], [-0.5], [0.5], max_speed=0.6, unit="rad", help="angle of the lever")
        )

        def lever(goal: float | ip.Control, seconds: float = 1.0) -> base.Objectives:
            return base.drive({"lever/hinge": goal}, seconds, balance)

        def hands(stand_back: bool) -> base.Objectives:
            """Bring both hands to the cross bar, or back before the chest."""

            def objectives(sim: ip.Simulation) -> Sequence[ip.Objective]:
                goals = [
                    (hand, sim.terms.site_xpos[sim.scene.site(grip)] + [-0.2, 0.05 * s, -0.05] if stand_back else grip)
                    for s, (hand, grip) in zip((1, -1), _HANDS, strict=True)
                ]
                return [
                    *(
                        ip.Meet(hand, goal, sim.terms, sim.time, 1.3, via=_above(sim, grip), weight=100.0)
                        for (hand, goal), (_, grip) in zip(goals, _HANDS, strict=True)
                    ),
                    *balance(sim),
                ]

            return objectives

        grasp = [(hand, grip, {"grip_force": 300.0}) for hand, grip in _HANDS]
        near = ip.conditions.all_of(*(ip.conditions.met(hand, grip, gap=0.008) for hand, grip in _HANDS))
        pull, push = -self.p.pull, self.p.push

        def moved(goal: float) -> Any:
            return ip.conditions.joint_at("lever/hinge", goal, 0.03)

        sim.behaviour = ip.Machine(
            [
                ip.Phase("reach", hands(False), seconds=1.3, until=near),
                ip.Phase("grasp", balance, make=grasp, seconds=0.5),
                ip.Phase("pull", lever(pull, 2.0), seconds=2.2, until=moved(pull)),
                ip.Phase("push", lever(push, 2.6), seconds=2.8, until=moved(push)),
                ip.Phase("back to the middle", lever(0.0, 1.6), seconds=1.8, until=moved(0.0)),
                ip.blocks.remove_contact("let go", *(hand for hand, _ in _HANDS), force=2.0, extra=lever(0.0)),
                ip.Phase("draw the hands back", hands(True), seconds=1.4),
                ip.Phase("reach again", hands(False), seconds=1.3, until=near),
                ip.Phase("grasp again", balance, make=grasp, seconds=0.5),
                ip.Phase("follow", lever(angle), interactive=True, timeout=None),
            ]
        )


def _above(sim: ip.Simulation, grip: str) -> list[float]:
    """Return a way-point before and above a grip [m]: palms come down on the bar, and leave it upward."""
    return (sim.terms.site_xpos[sim.scene.site(grip)] + [-0.1, 0.0, 0.1]).tolist()
