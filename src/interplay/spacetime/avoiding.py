"""Bodies of different characters keep off each other over the whole time: balls in trunks, heads and limbs."""

from __future__ import annotations

from itertools import product
from typing import Any, NamedTuple

import casadi as ca
import mujoco
import numpy as np

from interplay.models.base import solid_shapes
from interplay.spacetime.blocks import INF, Block, Kernel
from interplay.spacetime.body import Body, Point
from interplay.spacetime.meeting import Bond, Meeting

NEAR = 0.4
"""Balls that are guessed to come nearer than so much to each other are kept apart [m]; others are farther than they can come."""
LOOSE = 0.01
"""How far balls may be from the ways that others read, along each axis [m]: so much farther they keep off each other."""


class Ball(NamedTuple):
    """Round what: where its middle is in its link, and its radius [m]."""

    point: Point
    radius: float


def balls(body: Body) -> list[Ball]:
    """Return balls in what is solid of a character: ends of capsules, middles of all else."""
    m, out = body.scene.model, []
    solid = solid_shapes(m)
    for g in range(m.ngeom):
        b = int(m.geom_bodyid[g])
        if not solid[g] or b not in body.bodies:
            continue
        link, size = body.bodies.index(b), m.geom_size[g]
        axis = np.zeros(9)
        mujoco.mju_quat2Mat(axis, m.geom_quat[g])
        if m.geom_type[g] == mujoco.mjtGeom.mjGEOM_CAPSULE:
            far = size[1] * axis.reshape(3, 3)[:, 2]
            out += [Ball(Point(link, m.geom_pos[g] + s * far), float(size[0])) for s in (-1.0, 1.0)]
        else:
            out.append(Ball(Point(link, m.geom_pos[g].copy()), float(np.median(size))))
    return out


def keep_apart(
    one: str, other: str, but: tuple[tuple[str, str], ...] = (), near: float = NEAR, margin: float = 0.0
) -> Bond:
    """Return the bond of two characters who go through nothing of each other, but pairs of links; ``margin``: how far apart [m]."""

    def bond(meeting: Meeting) -> list[Block]:
        roles = meeting.stage.problem.roles
        if other not in meeting.stage.parts:
            return (
                []
                if one not in meeting.stage.parts
                else keep_apart(other, one, tuple(p[::-1] for p in but), near, margin)(meeting)
            )
        bodies, all_balls = [roles[who].body for who in (one, other)], [balls(roles[who].body) for who in (one, other)]
        pairs = _near(meeting, (one, other), all_balls, near)
        names = [
            [body.links[ball.point.link].name for ball in mine] for body, mine in zip(bodies, all_balls, strict=True)
        ]
        pairs = [(i, j) for i, j in pairs if (names[0][i], names[1][j]) not in but]
        if not pairs:
            return []
        seen = sorted({i for i, _ in pairs})
        mine = sorted({j for _, j in pairs})
        way, blocks = meeting.way(one, [all_balls[0][i].point for i in seen], LOOSE, 0.1)
        part = meeting.stage.parts[other]
        read, constants = way.window(meeting.clocks[other].knots())
        n, body = part.body.n, part.body
        points = [all_balls[1][j].point for j in mine]
        least = {(i, j): all_balls[0][i].radius + all_balls[1][j].radius + LOOSE + margin for i, j in pairs}

        def outer(z: Any, c: Any) -> Any:
            frames = body.frames(z[:n])
            value, place = way.value(z[n:], c)
            own = [frames[point.link][1] + frames[point.link][0] @ ca.DM(point.place) for point in points]
            return ca.vertcat(*own, value, place)

        def inner(y: Any, c: Any) -> tuple[Any, Any]:
            rows = []
            for i, j in pairs:
                a, b = 3 * (len(mine) + seen.index(i)), 3 * mine.index(j)
                rows.append(ca.sumsqr(y[a : a + 3] - y[b : b + 3]) / least[i, j] ** 2)
            return 0, ca.vertcat(*rows, y[-1])

        low, high = way.within(constants)
        low = np.concatenate([np.ones((len(read), len(pairs))), low], axis=1)
        high = np.concatenate([np.full((len(read), len(pairs)), INF), high], axis=1)
        kernel = Kernel("apart", n + way.width, 2, inner, outer)
        where = np.concatenate([part.q, read], axis=1)
        free = [k for k in range(len(where)) if k not in part.given]

        def label(place: int, row: int) -> str:
            i, j = pairs[min(row, len(pairs) - 1)]
            return f"{names[1][j]} of {other} off {names[0][i]} of {one} at knot {free[place]}"

        return [*blocks, Block(kernel, where[free], constants[free], low[free], high[free], label)]

    return bond


def _near(meeting: Meeting, who: tuple[str, str], mine: list[list[Ball]], near: float) -> list[tuple[int, int]]:
    """Return pairs of balls that are guessed to come near each other."""
    roles = meeting.stage.problem.roles
    times, ways = None, []
    for name, some in zip(who, mine, strict=True):
        at, found = meeting.guessed(name, [ball.point for ball in some])
        times = at if times is None else times
        ways.append(np.stack([np.interp(times, at, column) for column in found.T], axis=1).reshape(len(times), -1, 3))
    gap = np.linalg.norm(ways[0][:, :, None] - ways[1][:, None], axis=-1).min(axis=0)
    sizes = [np.array([ball.radius for ball in some]) for some in mine]
    gap -= sizes[0][:, None] + sizes[1]
    return [(i, j) for i, j in product(*(range(len(some)) for some in mine)) if gap[i, j] < near]
