"""Wall: the platform under her tips hard; a hand on the wall before her helps (abe2007)."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from pydantic import Field

import interplay as ip
from interplay import scenario as base
from interplay.scenarios.platform import SOLES, Aboard

_ARMS = {
    "right_shoulder_flexion": 0.7,
    "right_shoulder_abduction": 0.3,
    "right_shoulder_rotation": 0.3,
    "right_elbow_flexion": 1.5,
    "right_forearm_rotation": -0.8,
    "right_wrist_flexion": -1.1,
    "left_shoulder_abduction": 0.5,
    "left_shoulder_flexion": 0.2,
    "left_elbow_flexion": 0.7,
}
"""Her arms [rad] before a wall …"""
_PALM = (0.48, -0.25, 1.38)
"""… and where her palm is on it [m], seen from where she stands; of a body of 1.70 m."""
_BOARD = 0.05
"""How far the board stands out that her hand is on [m]."""


class Wall(Aboard):
    """A character with a hand on a wall."""

    name: ClassVar[str] = "wall"
    summary: ClassVar[str] = "the platform under her tips hard, and a hand on a wall helps her to stand"
    edge: ClassVar[float] = 0.44
    shift: ClassVar[float] = 0.1
    camera: ClassVar[base.Camera] = base.Camera(lookat=(0.15, 0, 0.75), distance=3.2, azimuth=40)

    class Parameters(Aboard.Parameters):
        """How hard the platform tips, and whether she uses the wall."""

        strength: float = Field(1.5, ge=0, le=2.5, description="how far it moves: 1 is 10 cm and 7 degrees at most")
        hand: bool = Field(True, description="whether her hand is on the wall: true or false")

    p: Parameters

    def build(self) -> ip.Scene:
        """Place her before the wall, her hand on it."""
        deck, size = self.deck(), self.scale(1.70)
        front, beside, high = size * np.array(_PALM)
        scene = ip.Scene().add(deck, "platform", friction=self.p.friction)
        scene.add(ip.Wall(1.6, deck.height + 1.9 * size), "wall", pos=(front + _BOARD + 0.075, 0))
        # A palm is flat on what is no higher than itself: there would be no room for a wrist that is bent.
        board = ip.Wall(0.5, 0.1 * size, _BOARD)
        scene.add(board, "board", pos=(front + 0.5 * _BOARD, beside, deck.height + high - 0.05 * size))
        arms = _ARMS if self.p.hand and self.character is None else None
        self.add_character(scene, "ann", ip.Humanoid(1.70, 62, "female"), (0, 0, deck.height), posture=arms)
        if not self.p.hand:
            return scene
        return scene.reach("ann/right_palm", (front, beside, deck.height + high, -1, 0, 0), balance=False)

    def start(self, sim: ip.Simulation) -> None:
        """Let the platform tip; her hand carries what her feet cannot."""
        self.disturb(sim)
        sim.behaviour = ip.Machine([ip.Phase("balance", seconds=self.p.seconds, timeout=None)])
        if not self.p.hand:
            base.stands(sim, "ann", "platform/top", self.p.friction, steps=False, loose=True)
            return
        for sole in SOLES:
            sim.contacts.add(sole, "platform/top", friction=self.p.friction)
        # Pressed all the time and near its middle: a palm that comes off and on again, or rocks, turns her off her feet.
        sim.contacts.add("ann/right_palm", "board/front", friction=0.5, shrink=0.9, min_force=15.0)
        # Nothing that counts on her feet alone: her hand may hold her when her capture point is beyond them.
        sim.objectives += [
            *base.upright(sim, "ann", loose=True),
            ip.ComOver("ann", over=SOLES, reference=(0.0, 0.0), weight=60.0, near=0.02, stiffness=40.0),
            ip.ComOver("ann", over=SOLES, axes="z", weight=30.0),
        ]
