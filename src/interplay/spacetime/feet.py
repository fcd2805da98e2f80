"""Feet of one character: where they stand, they stay, and land at rest; where they swing, they keep off the ground."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from interplay.spacetime.blocks import INF, Block, Kernel
from interplay.spacetime.body import SIDES

if TYPE_CHECKING:
    from interplay.spacetime.part import Part

SWING, HEEL, FLAT, TOE = "swing", "heel", "flat", "toe"
CLEARANCE = 0.03
"""How high heels and toes are over the ground at least in the middle of a swing [m]."""


def feet_stand(part: Part) -> list[Block]:
    """Where feet stand, they stay; where they swing, they keep off the ground."""
    n, out, free = part.body.n, [], part.unknowns.low < part.unknowns.high
    for side in SIDES:
        toe, heel, middle = part.sole(side, 1.0), part.sole(side, -1.0), part.sole(side)
        half = float(np.linalg.norm(toe.place - heel.place)) / 2

        def inner(y: Any, c: Any, toe=toe, heel=heel, link=middle.link, half=half) -> tuple[Any, Any]:
            q, s, mark = y[:n], y[n : 2 * n], y[2 * n :]
            R, p = part.body.frames(q)[link]
            cy, sy = ca.cos(mark[2]), ca.sin(mark[2])
            along, flat = ca.vertcat(cy, sy, 0), ca.vertcat(mark[0], mark[1], c[0])
            places = ca.vertcat(
                p + R @ ca.DM(heel.place) - flat + half * along,
                p + R @ ca.DM(toe.place) - flat - half * along,
                ca.dot(R[:, 1], along),
                R[2, 1],
            )
            return 0, ca.vertcat(places, ca.jtimes(places, q, s))

        kernel = part.body.kernel(("feet", side), lambda inner=inner: Kernel("feet", 2 * n + 3, 1, inner))
        where, ground, low, high = [], [], [], []
        for k in range(part.intervals + 1):
            modes = {part.phases[part.phase_of[i]].mode(side) for i in (k - 1, k) if 0 <= i < part.intervals}
            fixed = _fixed(modes)
            stance = _stance_at(part, side, k)
            mark = part.prints[stance] if len(part.prints) else part.q[k, :3]
            lo, hi = np.full(16, -INF), np.full(16, INF)
            springs = _given_by_springs(part, side, k) if part.body.shoes else set()
            for row in fixed:
                for one in (row, row + 8):
                    if one not in springs:
                        lo[one] = hi[one] = 0.0
            if k in part.given:
                lo, hi = np.full(16, -INF), np.full(16, INF)
                for row in {0, 1, 3, 4, 6} & set(fixed) - ({3, 4} if 0 in fixed else set()):
                    said = [part.q[k, 3], mark[2]] if row == 6 else [*part.q[k, :2], *mark[:2]]
                    if free[said].any():  # where a foot is and its footprint may both be known: to 1e-6 m
                        lo[row] = hi[row] = 0.0
            else:
                bump = _bump(part, side, k, modes)
                lift = min(part.manners[part.phase_of[i]].lift for i in (k - 1, k) if 0 <= i < part.intervals)
                for row, height in ((2, max(CLEARANCE * bump, lift * bump**4)), (5, CLEARANCE * bump)):
                    if row not in fixed:  # of heel and toes
                        lo[row] = height
            ground.append(part.ground[stance] if len(part.prints) else 0.0)
            where.append(np.concatenate([part.q[k], part.v[k], mark]))
            low.append(lo)
            high.append(hi)
        out.append(
            Block(
                kernel,
                np.array(where),
                np.array(ground)[:, None],
                np.array(low),
                np.array(high),
                lambda place, row, side=side: f"{side} foot of {part.body.name} at knot {place}",
            )
        )
    return out


def _given_by_springs(part: Part, side: str, knot: int) -> set[int]:
    """Return the rows of a foot in shoes that nothing fixes at a knot.

    Edges sink and rise as their springs have it, and touch the ground where they begin and cease to carry, at whatever speed.
    """
    now = part.phases[part.phase_of[min(knot, part.intervals - 1)]].mode(side)
    before = part.phases[part.phase_of[knot - 1]].mode(side) if knot else part.mode_before(side)
    out = set[int]()
    for row, modes in ((2, {HEEL, FLAT}), (5, {TOE, FLAT})):
        out |= {row, row + 8} if before in modes and now in modes else {row + 8}
    return out


def _stance_at(part: Part, side: str, knot: int) -> int:
    """Return the stance of a knot; in a swing, the nearest, over whose ground the foot is."""
    phases = [int(part.phase_of[i]) for i in (knot - 1, knot) if 0 <= i < part.intervals]
    mine = [k for k, (of, _, _) in enumerate(part.stances) if of == side]

    def distance(stance: int) -> int:
        _, first, end = part.stances[stance]
        if any(first <= phase < end for phase in phases):
            return -1
        return min(abs(part.knots_of(first)[0] - knot), abs(knot - part.knots_of(end - 1)[-1]))

    return min(mine, key=distance, default=0)


def _bump(part: Part, side: str, knot: int, modes: set[str]) -> float:
    """Return a bump from 0 to 1 over the whole of a swing, which may begin before or end after the part."""
    if modes != {SWING}:
        return 0.0
    swings = np.array([phase.mode(side) == SWING for phase in part.phases])[part.phase_of]
    first, last = knot, knot
    while first > 0 and swings[first - 1]:
        first -= 1
    while last < part.intervals and swings[last]:
        last += 1
    if first == 0:
        first -= part.before[side]
    if last == part.intervals:
        last += part.after[side]
    u = (knot - first) / (last - first)
    return 4 * u * (1 - u)


def _fixed(modes: set[str]) -> list[int]:
    """Return the rows of a foot that are held at a knot where some modes meet: heel 0-2, toes 3-5, side 6, 7."""
    heel, toe = bool(modes & {HEEL, FLAT}), bool(modes & {TOE, FLAT})
    if heel and (FLAT in modes or toe):
        return [0, 1, 2, 5, 6, 7]
    if heel:
        return [0, 1, 2, 6, 7]
    return [3, 4, 5, 6, 7] if toe else []
