"""Bodies of different characters keep off each other over the whole time: balls in trunks, heads and limbs."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import NamedTuple

import casadi as ca
import mujoco
import numpy as np

from interplay.models.base import solid_shapes
from interplay.spacetime.blocks import INF, Block, Kernel
from interplay.spacetime.body import Body, Point
from interplay.spacetime.meeting import Bond, Meeting

NEAR = 0.25
"""Balls that are guessed to come nearer than so much to each other are kept apart [m]; others are farther than they can come."""
SPACING = 0.15
"""Between the knots of their ways [s]."""
LOOSE = 0.01
"""How far balls may be from the ways that others read, along each axis [m]: so much farther they keep off each other."""


SKIPPED = ("neck", "upper_arm", "thigh")
"""Links that are covered by the balls of others."""


class Ball(NamedTuple):
    """Round what: where its middle is in its link, and its radius [m]."""

    point: Point
    radius: float


def balls(body: Body) -> list[Ball]:
    """Return balls in what is solid of a character: in elbows, wrists, knees, and one in each of all other links."""
    m, out = body.scene.model, []
    solid = solid_shapes(m)
    for link, b in enumerate(body.bodies):
        name = body.links[link].name
        shapes = [g for g in range(m.ngeom) if solid[g] and m.geom_bodyid[g] == b]
        if not shapes or any(part in name for part in SKIPPED):
            continue
        g = shapes[0]
        radius, place = float(np.median(m.geom_size[g])), m.geom_pos[g].copy()
        if m.geom_type[g] == mujoco.mjtGeom.mjGEOM_CAPSULE:
            radius = float(m.geom_size[g, 0])
            if "forearm" in name:
                out.append(Ball(Point(link, 2.0 * place), radius))
            place = np.zeros(3)
        out.append(Ball(Point(link, place), radius))
    return out


def keep_apart(
    one: str,
    other: str,
    but: Mapping[tuple[str, str], float] | None = None,
    near: float = NEAR,
    margin: float = 0.0,
) -> Bond:
    """Return the bond of two characters who go through nothing of each other; ``margin``: how far apart they stay [m].

    ``but``: pairs of links that touch on purpose, and how near their middles may come nevertheless [m]; 0: as they like.
    Where either is free she keeps off the ways of the other's balls, at her own knots.
    """
    meant = dict(but or {})

    def bond(meeting: Meeting) -> list[Block]:
        stage, roles = meeting.stage, meeting.stage.problem.roles
        if other not in stage.parts:
            turned = {(b, a): least for (a, b), least in meant.items()}
            return keep_apart(other, one, turned, near, margin)(meeting) if one in stage.parts else []
        mine, hers = balls(roles[one].body), balls(roles[other].body)
        names = [[roles[who].body.links[b.point.link].name for b in some] for who, some in ((one, mine), (other, hers))]
        least = {
            (i, j): mine[i].radius + hers[j].radius + LOOSE + margin for i, j in product(*map(range, map(len, names)))
        }
        least.update(
            {(i, j): meant[a, b] for i, a in enumerate(names[0]) for j, b in enumerate(names[1]) if (a, b) in meant}
        )
        pairs = [pair for pair in _near(meeting, (one, other), [mine, hers], near) if least[pair] > 0]
        if not pairs:
            return []
        seen, own = sorted({i for i, _ in pairs}), sorted({j for _, j in pairs})
        blocks: list[Block] = []
        times, ways = meeting.guessed(one, [mine[i].point for i in seen])
        curves = [meeting.curve(times, ways[:, 3 * k : 3 * k + 3], (0,), SPACING) for k in range(len(seen))]
        if one in stage.parts:
            there, block = meeting.places(one, [mine[i].point for i in seen])
            blocks += [block, meeting.tied(one, there, curves, LOOSE)]
        else:
            for curve in curves:
                given = stage.unknowns.guess[curve.coefficients]
                stage.unknowns.low[curve.coefficients] = stage.unknowns.high[curve.coefficients] = given
        here, block = meeting.places(other, [hers[j].point for j in own])
        clock = stage.unknowns.guess[meeting.clocks[other].times]
        read = np.stack([curve.at(stage.unknowns.guess, clock) for curve in curves], axis=1)
        away = stage.unknowns.add("seen", read)
        blocks += [block, meeting.tied(other, away, curves, 0.0)]
        free = [k for k in range(len(here)) if k not in stage.parts[other].given]
        where = np.concatenate(
            [np.concatenate([away[free, seen.index(i)], here[free, own.index(j)]], axis=1) for i, j in pairs]
        )
        constants = np.repeat([least[pair] for pair in pairs], len(free))[:, None]
        ones = np.ones((len(where), 1))

        def label(place: int, row: int) -> str:
            i, j = pairs[place // len(free)]
            return f"{names[1][j]} of {other} off {names[0][i]} of {one} at knot {free[place % len(free)]}"

        kernel = Kernel("apart", 6, 1, lambda y, c: (0, ca.sumsqr(y[:3] - y[3:]) / c[0] ** 2))
        return [*blocks, Block(kernel, where, constants, ones, np.full_like(ones, INF), label)]

    return bond


def _near(meeting: Meeting, who: tuple[str, str], mine: list[list[Ball]], near: float) -> list[tuple[int, int]]:
    """Return pairs of balls that are guessed to come near each other."""
    times, ways = None, []
    for name, some in zip(who, mine, strict=True):
        at, found = meeting.guessed(name, [ball.point for ball in some])
        times = at if times is None else times
        ways.append(np.stack([np.interp(times, at, column) for column in found.T], axis=1).reshape(len(times), -1, 3))
    gap = np.linalg.norm(ways[0][:, :, None] - ways[1][:, None], axis=-1).min(axis=0)
    sizes = [np.array([ball.radius for ball in some]) for some in mine]
    gap -= sizes[0][:, None] + sizes[1]
    return [(i, j) for i, j in product(*(range(len(some)) for some in mine)) if gap[i, j] < near]
