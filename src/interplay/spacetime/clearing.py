"""Limbs of who does not just walk keep off the same body: arms that make room, legs of who dives (`limbs.py` tells what gaits need)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import ceil
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from interplay.spacetime.avoiding import BETWEEN, LONG, Ball, balls
from interplay.spacetime.blocks import INF, Block, Kernel
from interplay.spacetime.body import Body, Point
from interplay.spacetime.limbs import ASLEEP, NEAREST, nearness
from interplay.spacetime.meeting import place_of, places
from interplay.spacetime.part import Part
from interplay.spacetime.problem import Stage

ARM, LEG, BELLY = ("upper_arm", "forearm", "hand"), ("thigh", "shank"), ("abdomen", "pelvis")
"""Links of arms and legs, and those between them."""
CROSSED = (("left_shank", "right_shank"), ("left_shank", "right_thigh"), ("left_thigh", "right_shank"))
"""Links of legs that meet where they do not stride: thighs' roots are always near."""
SPARE = 0.012
"""How much farther off balls of limbs keep than they are thick [m]: between two in one limb it is nearer."""
OBLONG = 1.2
"""How many times as long as thick something is that has beads at both ends: of a chest with one in the middle, its sides are free."""
LATE = 0.5
"""How long before the end who dives is near the ground, and arms of two who meet are where the other is [s]."""


class ArmsClear(NamedTuple):
    """Arms keep off the belly and the thigh beside them: walls push them there."""

    who: str
    as_begun: bool = False
    """Whether they may be as near as they begin, as in a clip, where that is nearer than balls are thick."""

    def __call__(self, stage: Stage) -> list[Block]:
        """Keep balls apart at knots that are free."""
        part = stage.parts.get(self.who)
        if part is None:
            return []
        mine = [*beads(part.body, ARM), *held(part.body, (*BELLY, "thigh"))]
        named = names(part.body, mine)
        pairs = [
            (a, b)
            for a, one in enumerate(named)
            for b, other in enumerate(named)
            if one.endswith(ARM) and (other in BELLY or other == f"{one.split('_')[0]}_thigh")
        ]
        knots = [k for k in range(part.intervals + 1) if k not in part.given]
        return [_apart(part, mine, pairs, knots, self.as_begun)] if pairs else []


class LegsClear(NamedTuple):
    """Near the end, legs of who dives keep off each other and off the ground."""

    who: str

    def __call__(self, stage: Stage) -> list[Block]:
        """Keep balls apart at knots, and above the ground."""
        part = stage.parts.get(self.who)
        if part is None:
            return []
        mine, knots = beads(part.body, LEG), late(part, part.times(stage.unknowns.guess))
        named = names(part.body, mine)
        pairs = [(a, b) for a, one in enumerate(named) for b, other in enumerate(named) if (one, other) in CROSSED]

        def heights(y: Any, c: Any) -> tuple[Any, Any]:
            return 0, ca.vertcat(*(place_of(part.body, ball.point, y)[2] for ball in mine))

        low, none = np.tile([ball.radius + BETWEEN for ball in mine], (len(knots), 1)), np.zeros((len(knots), 0))
        above = Block(
            Kernel("above", part.body.n, 0, heights),
            part.q[knots],
            none,
            low,
            np.full_like(low, INF),
            lambda p, r: f"{named[r]} of {self.who} off the ground",
        )
        return [_apart(part, mine, pairs, knots), above]


def _apart(
    part: Part, mine: Sequence[Ball], pairs: Sequence[tuple[int, int]], knots: Sequence[int], as_begun: bool = False
) -> Block:
    """Return what keeps pairs of balls in one body apart, or no nearer than they begin."""
    body, q = part.body, part.q[knots]
    guessed = places(body, [ball.point for ball in mine], part.unknowns.guess[q]).reshape(len(knots), -1, 3)
    far = np.stack([np.linalg.norm(guessed[:, a] - guessed[:, b], axis=1) for a, b in pairs], axis=1)
    least = np.minimum([mine[a].radius + mine[b].radius + SPARE for a, b in pairs], far if as_begun else INF)

    def inner(y: Any, c: Any) -> tuple[Any, Any]:
        place = [place_of(body, ball.point, y) for ball in mine]
        return 0, ca.vertcat(*(nearness(ca.sumsqr(place[a] - place[b]), c[k]) for k, (a, b) in enumerate(pairs)))

    named = names(body, mine)
    said = [f"{named[a]} off {named[b]} of {body.name}" for a, b in pairs]
    high = np.full((len(knots), len(pairs)), NEAREST)
    kernel = Kernel("clear", body.n, len(pairs), inner)
    least = np.broadcast_to(least, far.shape)
    return Block(kernel, q, least, np.full_like(high, -INF), high, lambda p, r: said[r], ASLEEP)


def late(part: Part, times: np.ndarray) -> list[int]:
    """Return knots near the end, of their times."""
    return [k for k in range(part.intervals + 1) if times[k] > times[-1] - LATE and k not in part.given]


def near(d: Any, one: Ball, other: Ball) -> Any:
    """Return how near two balls are that are so far apart (3,)."""
    return nearness(ca.sumsqr(d), one.radius + other.radius + SPARE)


def names(body: Body, mine: Sequence[Ball]) -> list[str]:
    """Return in which link each ball is."""
    return [body.links[ball.point.link].name for ball in mine]


def held(body: Body, links: Sequence[str], long: float = LONG) -> list[Ball]:
    """Return balls in links whose names end so."""
    return [ball for ball in balls(body, long) if body.links[ball.point.link].name.endswith(tuple(links))]


def beads(body: Body, links: Sequence[str]) -> list[Ball]:
    """Return balls in links, and those between two in one, no farther apart than they are thick: nothing fits through."""
    mine, between = held(body, links, OBLONG), list[Ball]()
    for a, b in pairwise(mine):
        if a.point.link == b.point.link:
            along = b.point.place - a.point.place
            count = ceil(float(np.linalg.norm(along)) / (2 * a.radius))
            between += [Ball(Point(a.point.link, a.point.place + k / count * along), a.radius) for k in range(1, count)]
    return [*mine, *between]
