"""Jumps, and a reach on the way: feet keep to what is there."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

import interplay as ip
from interplay import composition as base
from interplay.compositions.walk_to_run import Who
from interplay.errors import InputError
from interplay.spacetime.actions import JUMP, Jump, stance
from interplay.spacetime.blocks import INF
from interplay.spacetime.body import SIDES, Body
from interplay.spacetime.composing import composed, scored
from interplay.spacetime.laws import OnTop, Within
from interplay.spacetime.part import SWING
from interplay.spacetime.performing import Performance, perform
from interplay.spacetime.problem import Law, When
from interplay.spacetime.solving import Progress
from interplay.spacetime.words import compose, reach, walk

FLIGHT = [phase.left for phase in JUMP].index(SWING)
MARGIN = 0.05
"""How far feet keep from edges [m]."""


class JumpOver(base.Composition):
    """A standing jump."""

    name: ClassVar[str] = "jump"
    summary: ClassVar[str] = "a standing jump: over a gap, or onto a box"
    played: ClassVar[bool] = True

    class Parameters(Who):
        """Where to."""

        onto: Literal["gap", "box", "ground"] = Field("gap", description="over a gap, onto a box, or just ahead")
        gap: float = Field(0.4, ge=0.05, le=2.0, description="how wide the gap is [m]")
        box: float = Field(0.25, ge=0.02, le=1.2, description="how high the box is [m]")
        ahead: float = Field(0.5, ge=0.0, le=2.0, description="how far a jump just ahead goes [m]")

    p: Parameters

    def compose(self, progress: Progress | None = None) -> Performance:
        """Return the jump."""
        p = self.p
        who = self.cast(ip.Humanoid(p.height, p.mass, springs=True, shoes=p.shoes))
        scene = ip.Scene().add(who, "ann", (0, 0, p.box if p.onto == "gap" else 0))
        body = Body(scene, "ann")
        foot = float(abs(body.point("left_sole", (1, 0, 0)).place - body.point("left_sole", (-1, 0, 0)).place).max())
        q = stance(body)
        toes = max(self._toes(body, q, side) for side in SIDES)
        edge, laws = toes + MARGIN, list[Law]()
        far = {"gap": p.gap + foot + 3 * MARGIN, "box": foot + 4 * MARGIN, "ground": p.ahead}[p.onto]
        up = p.box if p.onto == "box" else 0.0
        if p.onto == "box":
            scene.add(ip.Platform((1.2, 1.2, p.box)), "box", (edge + 0.6, 0.0))
            laws += [OnTop("ann", FLIGHT + 1, p.box)]
            laws += [
                Within("ann", f"{side}_sole", (x, 0, 0), When(FLIGHT), When(FLIGHT, 0.6), high=(edge - 0.035, INF, INF))
                for side in SIDES
                for x in (1, -1)
            ]
        if p.onto == "gap":
            scene.add(ip.Platform((2.0, 1.2, p.box)), "here", (edge - 1.0, 0.0))
            scene.add(ip.Platform((2.0, 1.2, p.box)), "there", (edge + p.gap + 1.0, 0.0))
            laws += [OnTop("ann", 0, p.box), OnTop("ann", -1, p.box)]
        body = Body(scene, "ann")
        score = scored(body, [Jump(far, up)], progress, free=() if p.free == "nothing" else p.free.split("+"))
        return perform(self.name, composed(score, laws, "joint", progress))

    def _toes(self, body: Body, q: np.ndarray, side: str) -> float:
        """Return how far ahead a foot's toes are [m]."""
        import casadi as ca

        point = body.point(f"{side}_sole", (1, 0, 0))
        R, place = body.frames(ca.DM(q))[point.link]
        return float((place + R @ ca.DM(point.place))[0])


class Reach(base.Composition):
    """A walk on which a hand reaches."""

    name: ClassVar[str] = "reach"
    summary: ClassVar[str] = "a walk on which a hand is at a place when a foot lands"
    played: ClassVar[bool] = True

    class Parameters(Who):
        """Which hand, where and when."""

        speed: float = Field(1.2, ge=0.5, le=2.0, description="[m/s]")
        steps: int = Field(3, ge=1, le=8, description="of the walk")
        hand: Literal["left", "right"] = Field("right", description="which hand")
        step: int = Field(2, ge=1, le=8, description="at the landing of which step")
        ahead: float = Field(0.9, ge=-1.0, le=8.0, description="where it is, along the way from where she begins [m]")
        aside: float = Field(-0.35, ge=-1.5, le=1.5, description="to the left of the way [m]")
        height_of_hand: float = Field(1.3, ge=0.1, le=2.4, description="how high [m]")

    p: Parameters

    def compose(self, progress: Progress | None = None) -> Performance:
        """Return the walk."""
        p = self.p
        if p.step > p.steps:
            raise InputError(f"reach: expected a step of the {p.steps} of the walk, got {p.step}")
        scene = ip.Scene().add(self.cast(ip.Humanoid(p.height, p.mass, springs=True, shoes=p.shoes)), "ann")
        there = reach(f"ann/{p.hand}_palm", (p.ahead, p.aside, p.height_of_hand), p.step)
        free = () if p.free == "nothing" else p.free.split("+")
        return compose(scene, {"ann": [walk(p.speed, p.steps)]}, [there], free=free, progress=progress, name=self.name)
