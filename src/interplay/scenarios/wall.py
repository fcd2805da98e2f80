"""Wall: the platform under her tips hard; a hand on the wall before her helps (abe2007)."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from pydantic import Field

import interplay as ip
from interplay import scenario as base
from interplay.scenarios.platform import SOLES, Aboard

_ARM = {
    "right_shoulder_flexion": 0.7,
    "right_shoulder_abduction": 0.3,
    "right_shoulder_rotation": 0.3,
    "right_elbow_flexion": 1.5,
    "right_forearm_rotation": -0.8,
    "right_wrist_flexion": -1.1,
}
"""Her arm [rad] before a wall …"""
_PALM = (0.45, -0.25, 1.38)
"""… and where her palm is on it [m], seen from where she stands; of a body of 1.70 m."""
_BOARD = 0.05
"""How far the board stands out that her hand is on [m]."""
_LEANS = 0.0
"""She looks for balance within so many metres of the middle of all that she touches: who leans farther, falls if the hand slips."""


class Wall(Aboard):
    """A character with a hand on a wall."""

    name: ClassVar[str] = "wall"
    summary: ClassVar[str] = "the platform under her tips hard, and a hand on a wall helps her to stand"
    edge: ClassVar[float] = 0.5
    shift: ClassVar[float] = 0.06
    camera: ClassVar[base.Camera] = base.Camera(lookat=(0.15, 0, 0.75), distance=3.2, azimuth=110)

    class Parameters(Aboard.Parameters):
        """How hard the platform tips, and whether she uses the wall."""

        strength: float = Field(2.0, ge=0, le=4, description="how far it tips: 1 is 7 degrees at most")
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
        arm = _ARM if self.p.hand and self.character is None else None
        self.add_character(scene, "ann", ip.Humanoid(1.70, 62, "female"), (0, 0, deck.height), posture=arm)
        if not self.p.hand:
            return scene
        return scene.reach("ann/right_palm", (front, beside, deck.height + high, -1, 0, 0), balance=False)

    def start(self, sim: ip.Simulation) -> None:
        """Let the platform tip; her centre of mass goes to the middle of where it can be at rest."""
        self.disturb(sim)
        for sole in SOLES:
            sim.contacts.add(sole, "platform/top", friction=self.p.friction)
        if self.p.hand:
            sim.contacts.add("ann/right_palm", "board/front", friction=0.8)
        sim.objectives += [
            *base.upright(sim, "ann"),
            ip.ComOver("ann", over=SOLES, reference=Stable(sim), weight=60.0, near=0.02, stiffness=40.0),
            ip.ComOver("ann", over=SOLES, axes="z", weight=30.0),
        ]
        sim.behaviour = ip.Machine([ip.Phase("balance", seconds=self.p.seconds, timeout=None)])


class Stable:
    """The middle of where her centre of mass can be at rest now, seen from the middle of her feet (2,) [m]."""

    def __init__(self, sim: ip.Simulation):
        """Take the simulation whose present contacts count."""
        self._sim = sim

    def at(self, time: float) -> ip.Sample:
        """Return it; where nothing can be at rest, the middle of her feet."""
        region, feet = self._sim.stability_region("ann"), self._sim.middle(*SOLES)[:2]
        return ip.Sample(0.0 * feet if region.empty else _LEANS * (region.centre - feet))
