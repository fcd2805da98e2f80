"""Sobriety: arms out, one foot on a block, she touches her nose with one hand after the other on a platform that moves (abe2007)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import ClassVar

import numpy as np
from pydantic import Field

import interplay as ip
from interplay import scenario as base
from interplay.maths.rotations import quaternion_of
from interplay.scenarios.platform import Aboard

_SIDES = {"right": -1.0, "left": 1.0}
_OUT = {"shoulder_abduction": 1.3, "elbow_flexion": 0.25, "shoulder_flexion": 0.15, "forearm_rotation": 0.0}
"""Arms out [rad]."""
_NOSE, _FINGER = np.array([0.118, 0.0, 0.065]), np.array([0.073, 0.0275, 0.026])
"""Tip of the nose in the head's frame and of the left index finger, relaxed as it is drawn, in the palm's [m], of a body of 1.70 m."""
_POINTS, _FACES = np.array([-0.6, -0.75, 0.3]), np.array([-0.6, 0.2, -0.75])
"""Where the left hand's fingers point at the nose, and where its palm faces, in the head's frame."""


class Sobriety(Aboard):
    """A character who proves that she is sober."""

    name: ClassVar[str] = "sobriety"
    summary: ClassVar[str] = (
        "one foot on a block on a moving platform, she touches her nose with one hand after the other"
    )
    camera: ClassVar[base.Camera] = base.Camera(lookat=(0, 0, 0.8), distance=3.0, azimuth=155)

    class Parameters(Aboard.Parameters):
        """How the platform moves, how uneven it is, and how quick she is."""

        strength: float = Field(1.0, ge=0, le=4, description="how far it moves: 1 is 12 cm and 7 degrees at most")
        block: float = Field(0.06, ge=0.02, le=0.2, description="height of the block under her left foot [m]")
        pace: float = Field(2.0, ge=0.8, le=10, description="seconds from one touch to the next")

    p: Parameters

    def build(self) -> ip.Scene:
        """Place her with her arms out and a foot on the block."""
        deck = self.deck()
        scene = ip.Scene().add(deck, "platform", friction=self.p.friction)
        scene.add(ip.Box((0.34, 0.18, self.p.block), mass=8.0), "block", pos=(0.05, 0.13, deck.height))
        arms = {f"{side}_{joint}": angle for side in _SIDES for joint, angle in _OUT.items()}
        usual = ip.Humanoid(1.70, 62, "female")
        self.add_character(scene, "ann", usual, (0, 0, deck.height), posture=arms if self.character is None else None)
        return scene.reach("ann/left_sole", (0.05, 0.1, deck.height + self.p.block, 0, 0, 1))

    def start(self, sim: ip.Simulation) -> None:
        """Let the platform move; she stands and touches her nose."""
        self.disturb(sim)
        sim.contacts.add("block/bottom", "platform/top", friction=self.p.friction)
        base.stands(sim, "ann", ("block/top", "platform/top"), self.p.friction, steps=False, loose=True)
        sim.objectives += [ip.Orientation("ann/head", weight=5.0, name="eyes ahead")]
        sides = list(_SIDES)
        touches = math.ceil(self.p.seconds / self.p.pace)
        sim.behaviour = ip.Machine(
            [
                ip.Phase(f"{sides[k % 2]} {k // 2 + 1}", self._touch(sides[k % 2]), seconds=self.p.pace, fade=0.4)
                for k in range(touches)
            ]
        )

    def _touch(self, side: str) -> Callable[[ip.Simulation], list[ip.Objective]]:
        """Return what brings a finger to her nose."""
        mirror, size = np.array([1.0, _SIDES[side], 1.0]), self.scale(1.70)
        x, z = mirror * _POINTS, mirror * _FACES
        x /= np.linalg.norm(x)
        z -= (z @ x) * x
        z /= np.linalg.norm(z)
        turn = np.column_stack([x, np.cross(z, x), z])
        place = ip.pose_value(size * (_NOSE - turn @ (mirror * _FINGER)), quaternion_of(turn))
        return lambda sim: [
            ip.RelativePose(f"ann/{side}_palm", "ann/head", place, weight=100.0, turn_weight=0.2, max_speed=1.5),
            ip.JointAngle(f"ann/{side}_elbow_flexion", 2.2, weight=1.0),  # a straight arm would not know where to bend
        ]
