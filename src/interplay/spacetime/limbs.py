"""Limbs of one character keep off each other: balls in them, at knots."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from interplay.spacetime.blocks import INF, Block, Kernel
from interplay.spacetime.body import SIDES, Point

if TYPE_CHECKING:
    from interplay.spacetime.part import Part

NEAREST = 1.0
"""The greatest nearness that is allowed: that of two balls that touch."""
ASLEEP = 0.7
"""Balls that are guessed to be less near than that by so much, twice as far apart, are not minded unless they are found to meet."""

WIDE = 0.052
"""Half of how wide a sole of legs of their size is at most [m]: who stands on wider ones, as robots do, has thicker legs."""


def nearness(squared: Any, least: Any) -> Any:
    """Return how near two points are, of the square of their distance: 1 at the least distance, more within, and hardly anything far away.

    Squares of distances would grow without end where nothing is at stake, and with them what the solver has to balance: of the same
    feasible set, walks took twice as many iterations, runs more than that.
    """
    return 1.01 / (squared / least**2 + 0.01)


def limbs_apart(part: Part) -> Block:
    """Return what keeps them apart, at knots that are free."""
    body, pairs = part.body, _meeting_points(part)

    def inner(y: Any, c: Any) -> tuple[Any, Any]:
        frames = body.frames(y)
        rows = []
        for one, other, least in pairs:
            a, b = (frames[point.link][1] + frames[point.link][0] @ ca.DM(point.place) for point in (one, other))
            rows.append(nearness(ca.sumsqr(a - b), least))
        return 0, ca.vertcat(*rows)

    kernel = body.kernel(("apart",), lambda: Kernel("apart", body.n, 0, inner))
    free = [k for k in range(part.intervals + 1) if k not in part.given]
    high = np.full((len(free), len(pairs)), NEAREST)

    def label(place: int, row: int) -> str:
        one, other = (body.links[point.link].name for point in pairs[row][:2])
        return f"{one} off {other} of {body.name} at knot {free[place]}"

    return Block(kernel, part.q[free], np.zeros((len(free), 0)), np.full_like(high, -INF), high, label, ASLEEP)


def _meeting_points(part: Part) -> list[tuple[Point, Point, float]]:
    """Return points of limbs that meet most easily, and how near their middles may come [m]; of a body 1.74 m high, others to scale."""
    body = part.body
    k = body.height / 1.74
    m = body.scene.model
    wide = max(k, float(m.site_size[body.scene.site(f"{body.name}/left_sole")][1]) / WIDE)
    ball = {"toe": 0.045, "middle": 0.05, "heel": 0.045, "ankle": 0.06, "low": 0.065, "shank": 0.075, "knee": 0.06}
    ball |= {"hand": 0.045, "thigh": 0.085, "wrist": 0.035, "belly": 0.12, "forearm": 0.045, "hip": 0.085}
    ball |= {"calf": 0.075, "elbow": 0.045, "femur": 0.078}
    ahead = {"toe": 0.8, "middle": 0.1, "heel": -0.7}

    hands = {side: body.point(f"{side}_palm").link for side in SIDES if body.has_site(f"{side}_palm")}
    elbow = {s: body.turned_by(f"{s}_elbow_flexion", body.links[hand].parent) for s, hand in hands.items()}

    def next_to(link: int, end: int) -> int:
        while body.links[end].parent != link:
            end = body.links[end].parent
        return end

    def point(name: str, side: str) -> Point:
        if name in ahead:
            sole = part.sole(side, ahead[name])
            return Point(sole.link, sole.place + [0, 0, 0.03 * k])
        if name == "hand":
            return body.point(f"{side}_palm")
        if name == "wrist":
            return Point(body.point(f"{side}_palm").link, np.zeros(3))
        if name == "forearm":
            return Point(elbow[side], 0.6 * body.links[next_to(elbow[side], body.point(f"{side}_palm").link)].place)
        if name == "elbow":
            return Point(elbow[side], np.zeros(3))
        if name == "belly":
            return Point(0, body.links[0].centre + [0, 0, 0.15 * k])
        foot = body.turned_by(f"{side}_ankle_flexion", part.sole(side).link)
        shank = body.turned_by(f"{side}_knee_flexion", body.links[foot].parent)
        thigh = body.turned_by(f"{side}_hip_flexion", body.links[shank].parent)
        down = {"low": (shank, foot, 0.8), "shank": (shank, foot, 0.5), "calf": (shank, foot, 0.25)}
        down |= {"thigh": (thigh, shank, 0.5), "femur": (thigh, shank, 0.5)}
        if name == "hip":
            return Point(thigh, np.zeros(3))
        if name in down:
            link, end, share = down[name]
            return Point(link, share * body.links[end].place)
        return Point({"ankle": foot, "knee": shank}[name], np.zeros(3))

    feet, legs = ("toe", "middle", "heel"), ("ankle", "low", "shank", "calf", "knee")
    near = [(a, b) for a in feet for b in feet] + [(one, one) for one in ("ankle", "shank", "knee", "femur")]
    near += [pair for a in feet for b in legs for pair in ((a, b), (b, a))]
    near += [("ankle", "low"), ("low", "ankle"), ("low", "shank"), ("shank", "low"), ("low", "low")]
    found = [(point(a, "left"), point(b, "right"), wide * (ball[a] + ball[b])) for a, b in near]
    if all(body.has_site(f"{side}_palm") for side in SIDES):
        meeting = (("hand", "thigh"), ("hand", "belly"), ("wrist", "belly"), ("elbow", "belly"), ("forearm", "hip"))
        found += [(point(a, side), point(b, side), k * (ball[a] + ball[b])) for a, b in meeting for side in SIDES]
    return found
