"""Ring: characters hand in hand sway together on one objective, the centre of mass of the whole group."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from pydantic import Field

import interplay as ip
from interplay import scenario as base

_RADIUS = 0.55
"""Least radius of the ring [m]."""

_HAND_HEIGHT, _RAISED = 0.80, 0.14
"""Height of joined hands beside the body, and how much higher they are before it [m]."""

_HANDSHAKE = np.array([0.32, 0.0, 1.0])
"""How far before the body and how high hands are joined with another kind of body [m]."""

_TILT = 0.05
"""How far the hands tilt along the arms [rad]: two of it are within what a grasp allows."""


class Ring(base.Scenario):
    """The scaling case: n bodies, n joined hands, one shared objective."""

    name: ClassVar[str] = "ring"
    summary: ClassVar[str] = "n characters hand in hand sway on one objective, their common centre of mass"
    longest_dt: ClassVar[float] = 0.15

    class Parameters(base.Parameters):
        """Size of the ring and extent of the sway."""

        n: int = Field(3, ge=1, le=60, description="characters: 1 alone, 2 a pair, a closed ring from 3")
        spacing: float = Field(0.76, ge=0.5, le=1.5, description="distance between neighbours [m]")
        sway: float = Field(0.05, ge=0, le=0.08, description="how far the common centre of mass sways [m]")
        period: float = Field(4.0, ge=2, le=30, description="duration of one sway [s]")
        turns: int = Field(2, ge=1, le=100, description="how often they sway before the user takes over")

    p: Parameters

    def view(self) -> base.Camera:
        """Stand far enough away for the whole ring."""
        radius = self._radius if self.p.n > 2 else 0.5
        return base.Camera(lookat=(0, 0, 0.75), distance=2.4 + 2.6 * radius, azimuth=140, elevation=-18)

    @property
    def _radius(self) -> float:
        return max(_RADIUS, self.p.spacing / (2.0 * math.sin(math.pi / self.p.n))) if self.p.n > 2 else 0.0

    def build(self) -> ip.Scene:
        """Place them around the ring, looking inward; a pair stands side by side."""
        n, scene = self.p.n, ip.Scene()
        kinds = [ip.Humanoid(1.70, 64, "female"), self.character or ip.Humanoid(1.74, 72, "male")]
        kinds = kinds[::-1] if n == 1 and self.character else kinds
        for k in range(n):
            angle = 2.0 * math.pi * k / n if n > 2 else 0.0
            place = (
                (-self._radius * math.cos(angle), -self._radius * math.sin(angle))
                if n > 2
                else (0, -self.p.spacing * k)
            )
            scene.add(kinds[k % 2], f"c{k}", pos=place, yaw=angle)
        if n > 1:
            sides = ("left", "right") if n > 2 else ("right",), ("left", "right") if n > 2 else ("left",)
            alone = [self._hand_in_hand(kind, hands) for kind, hands in zip(kinds, sides, strict=True)]
            for k in range(n):
                scene.pose_like(f"c{k}", alone[k % 2], "one")
        return scene

    def _hand_in_hand(self, body: ip.Model, hands: Sequence[str]) -> ip.Scene:
        """Pose one character whose hands meet its neighbours' half-way: left palm forward, right palm back."""
        turn = math.pi / self.p.n if self.p.n > 2 else 0.0
        reach = self._radius * math.sin(turn) if self.p.n > 2 else 0.5 * self.p.spacing
        height = _HAND_HEIGHT + _RAISED * math.sin(turn)
        turned = {f"{hand}_forearm_rotation": 1.2 if hand == "left" else -1.2 for hand in hands}
        turned |= {f"{hand}_wrist_flexion": 0.9 for hand in hands}  # hands hang into each other, forearms stay apart
        if self.character is not None:
            turned = {f"{hand}_elbow_flexion": 1.3 for hand in hands}
        scene = ip.Scene().add(body, "one", posture=turned if isinstance(body, ip.Humanoid) else None)
        goals = []
        for hand in hands:
            across = np.array([math.sin(turn), math.cos(turn) * (1 if hand == "left" else -1), 0.0])
            place, axis = reach * across + [0, 0, height], math.cos(_TILT) * across + [0, 0, math.sin(_TILT)]
            if self.character is not None:  # not every wrist turns as ours does: hands before the body, thumbs up
                place, axis = reach * across + _HANDSHAKE, np.array([0.0, 0.0, 1.0])
            goals.append((f"one/{hand}_grip", [*place, *axis]))
        return scene.reach(*goals[0], *goals[1:])

    def start(self, sim: ip.Simulation) -> None:
        """Soles on the ground, hands joined, one objective for all."""
        n = self.p.n
        names = [f"c{k}" for k in range(n)]
        for name in names:
            for side in ("left", "right"):
                sim.contacts.add(f"{name}/{side}_sole", ip.GROUND)
        for k in range(n if n > 2 else n - 1):
            sim.contacts.add(f"c{k}/right_grip", f"c{(k + 1) % n}/left_grip")
        sim.objectives += [ip.Posture(*names, weight=0.3)]
        home = np.mean([sim.com(name)[0] for name in names], axis=0)
        control = sim.live.add_control(
            ip.Control(
                "com",
                "point",
                home,
                home - [0.06, 0.06, 0.05],
                home + [0.06, 0.06, 0.01],
                max_speed=0.2,
                help="common centre of mass of all",
            )
        )
        sim.behaviour = ip.Machine(
            [
                ip.Phase(
                    "sway",
                    lambda sim: [self._sway(names, home, sim.time)],
                    seconds=self.p.turns * self.p.period,
                    timeout=None,
                ),
                ip.Phase("follow", [ip.Com(*names, reference=control)], interactive=True, timeout=None),
            ]
        )

    def _sway(self, names: list[str], home: np.ndarray, begin: float) -> ip.Objective:
        """Return the shared objective: around a circle that opens during the first half sway and closes in the last."""
        half, whole = 0.5 * self.p.period, self.p.turns * self.p.period
        opening = ip.MinimumJerk(0.0, self.p.sway, begin, half)
        closing = ip.MinimumJerk(0.0, self.p.sway, begin + whole - half, half)

        def circle(time: float) -> np.ndarray:
            radius = float(opening.at(time).value[0] - closing.at(time).value[0])
            angle = 2.0 * math.pi * (time - begin) / self.p.period
            return home + [radius * math.sin(angle), radius * math.cos(angle), 0.0]

        return ip.Com(*names, reference=circle)
