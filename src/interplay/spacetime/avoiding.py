"""Bodies of different characters keep off each other: each stays on one side of a wall that nobody sees.

A plane between two convex things is what keeps them apart; of it both read one number, where the ways of all their parts would be
functions of time that one is tied to and the other reads. Of people side by side it stands still; between those whose ways cross it turns
and goes along: its angle and place are functions of real time.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

import casadi as ca
import mujoco
import numpy as np

from interplay.maths.rotations import rotation
from interplay.models.base import solid_shapes
from interplay.spacetime.blocks import INF, Block, Kernel
from interplay.spacetime.body import Body, Point
from interplay.spacetime.meeting import Bond, Meeting, place_of

NEAR = 0.12
"""Balls that are guessed to come nearer than so much to the wall stay on their side of it [m]; others are farther than they can come."""
LONG = 2.0
"""How many times as long as thick something is that has balls at both ends."""
BETWEEN = 0.004
"""How far from the wall they stay at knots [m]: between them they may come nearer."""


class Ball(NamedTuple):
    """Round what: where its middle is in its link, and its radius [m]."""

    point: Point
    radius: float


def balls(body: Body, long: float = LONG) -> list[Ball]:
    """Return balls in what is solid of a character: at both ends of capsules and of what is long, in the middle of all else."""
    m, out = body.scene.model, []
    solid = solid_shapes(m)
    for link, b in enumerate(body.bodies):
        for g in range(m.ngeom):
            if not solid[g] or m.geom_bodyid[g] != b:
                continue
            middle, size = m.geom_pos[g].copy(), m.geom_size[g]
            if m.geom_type[g] == mujoco.mjtGeom.mjGEOM_CAPSULE:
                along = size[1] * rotation(m.geom_quat[g])[:, 2]
                out += [Ball(Point(link, middle + end * along), float(size[0])) for end in (-1.0, 1.0)]
                continue
            longest, radius = int(np.argmax(size)), float(np.median(size))
            along = (size[longest] - radius) * rotation(m.geom_quat[g])[:, longest]
            ends = (-1.0, 1.0) if size[longest] > long * radius else (0.0,)
            out += [Ball(Point(link, middle + end * along), radius) for end in ends]
    return out


def side_by_side(right: str, left: str, but: Collection[str] = ()) -> Bond:
    """Return the bond of two who head along x, and have a wall along x between them: where along y is free.

    ``but``: links that may be on either side, as hands that hold each other.
    """

    def bond(meeting: Meeting) -> list[Block]:
        stage, roles = meeting.stage, meeting.stage.problem.roles
        both = {}
        for who, side in ((right, 1.0), (left, -1.0)):
            body = roles[who].body
            mine = [ball for ball in balls(body) if body.links[ball.point.link].name not in but]
            ways = meeting.guessed(who, [ball.point for ball in mine])[1][:, 1::3]
            both[who] = side, mine, (side * ways).max(axis=0) + [ball.radius for ball in mine]
        between = (both[right][2].max() - both[left][2].max()) / 2
        wall = stage.unknowns.add("wall", np.array([between]))
        if not {right, left} <= set(stage.parts):
            stage.unknowns.low[wall] = stage.unknowns.high[wall] = between
        blocks = []
        for who, (side, mine, reach) in both.items():
            near = [ball for ball, far in zip(mine, reach, strict=True) if far - side * between > -NEAR]
            if who in stage.parts:
                blocks.append(_stays(meeting, who, wall, side, near))
        return blocks

    return bond


def _stays(meeting: Meeting, who: str, wall: np.ndarray, side: float, mine: list[Ball]) -> Block:
    """Return what keeps balls of a character on its side of a wall, at knots: ``side`` is that to which the wall is along y."""
    part = meeting.stage.parts[who]
    body, n = part.body, part.body.n
    free = [k for k in range(part.intervals + 1) if k not in part.given]
    where = np.concatenate([part.q[free], np.broadcast_to(wall, (len(free), 1))], axis=1)

    def inner(y: Any, c: Any) -> tuple[Any, Any]:
        return 0, ca.vertcat(*(side * (y[n] - place_of(body, ball.point, y[:n])[1]) for ball in mine))

    low = np.tile([ball.radius + BETWEEN for ball in mine], (len(free), 1))
    return Block(
        Kernel("wall", n + 1, 0, inner),
        where,
        np.zeros((len(free), 0)),
        low,
        np.full_like(low, INF),
        lambda p, r: f"{body.links[mine[r].point.link].name} of {who} on its side at knot {free[p]}",
    )
