"""Tackling and dodging: what must hold when a tackler and a target meet, for whoever plans against what is known (liu2006, 6.3)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import casadi as ca
import numpy as np

from interplay.spacetime.avoiding import BETWEEN, Ball, balls
from interplay.spacetime.blocks import INF, Block, Kernel
from interplay.spacetime.body import ROOT, SIDES, Body, Point
from interplay.spacetime.ends import Knots
from interplay.spacetime.laws import Between
from interplay.spacetime.limbs import NEAREST, nearness
from interplay.spacetime.meeting import Bond, Meeting, place_of, places
from interplay.spacetime.passing import passing
from interplay.spacetime.problem import END, Found, Law

TRUNK = ("pelvis", "abdomen", "chest", "neck", "head")
"""Links that the bounding sphere of a tackler holds, and that a target keeps out of it."""
UPPER, LOWER = ("abdomen", "chest", "neck", "head"), ("pelvis", "thigh", "shank", "foot")
"""Links that have a wall of their own between tackler and target: legs stride ahead of trunks."""
ARM, BELLY = ("upper_arm", "forearm", "hand"), ("abdomen", "pelvis")
"""Links of arms, which reach past the walls, and what of his own his arms could go through as he reaches around her."""
HIT = "chest"
"""What a tackler hits with, and what he hits."""
CLOSE = 0.04
"""How far from touching what he hits with may be from what he hits [m]."""
LOW = (-0.15, 0.25)
"""How far above him what he hits may be [m]."""
AROUND, BEHIND, LEVEL = (0.02, 0.3), -0.05, 0.3
"""How far his palms are beside her, beyond the ball in her chest, behind its middle at most, and above or below it at most [m]."""
LATE = 0.5
"""How long before the end arms of both begin to be where the other is, and his knees near the ground [s]."""
STRIDE = {"joints": 0.5, "height": 0.08, "lean": 0.25, "falls": 0.5}
"""How far from her stride a target may end: joints, lean [rad], height [m], and how fast she falls or rises [m/s]."""


def tackle(he: str, she: str, speed: float) -> Bond:
    """Return the bond of a tackler when he plans: at the end he meets her chest at a speed [m/s], hands around it."""

    def bond(meeting: Meeting) -> list[Block]:
        if he not in meeting.stage.parts or she in meeting.stage.parts:
            return []
        bodies = [meeting.stage.problem.roles[who].body for who in (he, she)]
        chest, struck = (_ball(body, HIT) for body in bodies)
        palms = [bodies[0].point(f"{side}_palm") for side in SIDES]

        def rows(q: Any, v: Any, there: Any, goes: Any) -> Any:
            here = place_of(bodies[0], chest.point, q)
            d = there - here
            far = ca.norm_2(d[:2])
            ahead = d[:2] / far
            closing = ca.dot(ca.jtimes(here, q, v)[:2] - goes[:2], ahead)
            out = [far - chest.radius - struck.radius, closing - speed, d[2]]
            for palm, sign in zip(palms, (1.0, -1.0), strict=True):
                off = place_of(bodies[0], palm, q) - there
                beside = sign * (ahead[0] * off[1] - ahead[1] * off[0])
                out += [ca.dot(ahead, off[:2]), beside - struck.radius, off[2]]
            return ca.vertcat(*out)

        hand = ([BEHIND, AROUND[0], -LEVEL], [INF, AROUND[1], LEVEL])
        low, high = [0.0, 0.0, LOW[0], *hand[0] * 2], [CLOSE, 0.0, LOW[1], *hand[1] * 2]
        knots = _known(meeting, she)
        at = np.concatenate(_moving(bodies[1], struck.point, knots.q[-1], knots.v[-1]))
        part, n = meeting.stage.parts[he], bodies[0].n
        kernel = Kernel("tackle", 2 * n, 6, lambda y, c: (0, rows(y[:n], y[n:], c[:3], c[3:])))
        where = np.concatenate([part.q[-1], part.v[-1]])[None]
        hits = Block(kernel, where, at[None], np.array([low]), np.array([high]), lambda p, r: f"{he} tackles {she}")
        walls = [passing(he, she, only=only) for only in (UPPER, LOWER)]
        return [hits, *_late(meeting, he, she), *(block for wall in walls for block in wall(meeting))]

    return bond


def dodge(she: str, he: str, margin: float) -> Bond:
    """Return the bond of a target when she plans: at the end she is out of his bounding sphere, by a margin [m]."""

    def bond(meeting: Meeting) -> list[Block]:
        if she not in meeting.stage.parts or he in meeting.stage.parts:
            return []
        roles = meeting.stage.problem.roles
        body = roles[she].body
        centre, radius = sphere(roles[he].body, _known(meeting, he).q[-1])
        mine = _held(body, TRUNK)

        def inner(y: Any, c: Any) -> tuple[Any, Any]:
            off = [ca.norm_2(place_of(body, ball.point, y) - c[:3]) - ball.radius for ball in mine]
            return 0, ca.vertcat(*off) - c[3]

        constants, low = np.array([[*centre, radius + margin]]), np.zeros((1, len(mine)))
        where, kernel = meeting.stage.parts[she].q[-1][None], Kernel("dodge", body.n, 4, inner)
        out = Block(kernel, where, constants, low, np.full_like(low, INF), lambda p, r: f"{she} dodges {he}")
        return [out, *passing(he, she)(meeting)]

    return bond


def strides(who: str, q: np.ndarray) -> list[Law]:
    """Return that a target ends about as in a stride (n,), which may still be a swerve, and no fall."""
    far = STRIDE["joints"]
    joints = range(ROOT, len(q))
    return [
        Between(who, END, tuple(joints), q[ROOT:] - far, q[ROOT:] + far),
        Between(who, END, (2,), q[2] - STRIDE["height"], q[2] + STRIDE["height"]),
        Between(who, END, (4, 5), q[4:ROOT] - STRIDE["lean"], q[4:ROOT] + STRIDE["lean"]),
        Between(who, END, (2,), -STRIDE["falls"], STRIDE["falls"], rates=True),
    ]


def sphere(body: Body, q: np.ndarray) -> tuple[np.ndarray, float]:
    """Return the bounding sphere of a tackler's trunk and head: about the middle of his chest."""
    mine = _held(body, TRUNK)
    at = places(body, [ball.point for ball in mine], q[None]).reshape(-1, 3)
    centre = places(body, [_ball(body, HIT).point], q[None])[0]
    return centre, max(float(np.linalg.norm(p - centre)) + ball.radius for p, ball in zip(at, mine, strict=True))


def outcome(he: str, she: str) -> Callable[[Found], Mapping[str, float]]:
    """Return what is to be said of a tackle: gap of chests and speed at which it closes, and how far she is out of his sphere."""

    def said(found: Found) -> Mapping[str, float]:
        parts, x = [found.parts[who] for who in (he, she)], found.x
        bodies = [part.body for part in parts]
        chests = [_ball(body, HIT) for body in bodies]
        (here, mine), (there, hers) = (
            _moving(body, chest.point, x[part.q[-1]], x[part.v[-1]])
            for body, chest, part in zip(bodies, chests, parts, strict=True)
        )
        d = (there - here)[:2]
        far = float(np.linalg.norm(d))
        centre, radius = sphere(bodies[0], x[parts[0].q[-1]])
        held = _held(bodies[1], TRUNK)
        at = places(bodies[1], [ball.point for ball in held], x[parts[1].q[-1]][None]).reshape(-1, 3)
        out = min(float(np.linalg.norm(p - centre)) - ball.radius for p, ball in zip(at, held, strict=True)) - radius
        return {
            f"{he}: chest from {she}'s at the end [m]": far - sum(chest.radius for chest in chests),
            f"{he}: closes with [m/s]": float((mine - hers)[:2] @ d) / far,
            f"{she}: out of {he}'s bounding sphere by [m]": out,
        }

    return said


def _late(meeting: Meeting, he: str, she: str) -> list[Block]:
    """Return what keeps arms of each off the other's trunk and arms, his own off his belly and his knees off the ground, near the end.

    He is free, she is known: where she is at his knots is a line in time about when they are guessed to be.
    """
    roles, part, clock = meeting.stage.problem.roles, meeting.stage.parts[he], meeting.clocks[he]
    arms, trunks = ([_beads(roles[who].body, links) for who in (he, she)] for links in (ARM, TRUNK))
    mine, known = (arm + trunk for arm, trunk in zip(arms, trunks, strict=True))
    of_arms = [range(len(arm)) for arm in arms]
    pairs = [(a, b) for a in range(len(mine)) for b in range(len(known)) if a in of_arms[0] or b in of_arms[1]]
    belly = [a for a, ball in enumerate(mine) if part.body.links[ball.point.link].name in BELLY]
    own = [(a, b) for a in of_arms[0] for b in belly]
    knees = _beads(part.body, ("thigh", "shank"))
    guess, n = meeting.stage.unknowns.guess, part.body.n
    times = guess[clock.times]
    knots = [k for k in range(part.intervals + 1) if times[k] > times[-1] - LATE and k not in part.given]
    seen, ways = meeting.guessed(she, [ball.point for ball in known])
    speeds = np.gradient(ways, seen, axis=0)
    at, goes = (np.stack([np.interp(times[knots], seen, c) for c in of.T], axis=1) for of in (ways, speeds))
    size = 3 * len(known)

    def inner(y: Any, c: Any) -> tuple[Any, Any]:
        place = [place_of(part.body, ball.point, y[:n]) for ball in mine]
        other = c[:size] + (y[n] - c[-1]) * c[size : 2 * size]
        rows = [
            nearness(ca.sumsqr(place[a] - other[3 * b : 3 * b + 3]), mine[a].radius + known[b].radius) for a, b in pairs
        ]
        rows += [nearness(ca.sumsqr(place[a] - place[b]), mine[a].radius + mine[b].radius) for a, b in own]
        return 0, ca.vertcat(*rows)

    where = np.concatenate([part.q[knots], clock.times[knots][:, None]], axis=1)
    constants = np.concatenate([at, goes, times[knots][:, None]], axis=1)
    high = np.full((len(knots), len(pairs) + len(own)), NEAREST)
    links = [[roles[who].body.links[b.point.link].name for b in of] for who, of in ((he, mine), (she, known))]
    names = [f"{links[0][a]} of {he} off {links[1][b]} of {she}" for a, b in pairs]
    names += [f"{links[0][a]} off {links[0][b]} of {he}" for a, b in own]
    arms = Block(Kernel("arms off", n + 1, 2 * size + 1, inner), where, constants, high - INF, high, lambda p, r: names[r])

    def heights(y: Any, c: Any) -> tuple[Any, Any]:
        return 0, ca.vertcat(*(place_of(part.body, ball.point, y)[2] for ball in knees))

    low, none = np.tile([ball.radius + BETWEEN for ball in knees], (len(knots), 1)), np.zeros((len(knots), 0))
    kernel = Kernel("off the ground", n, 0, heights)
    return [arms, Block(kernel, part.q[knots], none, low, low + INF, lambda p, r: f"legs of {he} off the ground")]


def _held(body: Body, links: Sequence[str]) -> list[Ball]:
    return [ball for ball in balls(body) if body.links[ball.point.link].name.endswith(tuple(links))]


def _beads(body: Body, links: Sequence[str]) -> list[Ball]:
    """Return balls in links, and those between two in one: nothing fits through."""
    mine = _held(body, links)
    mid = [
        Ball(Point(a.point.link, (a.point.place + b.point.place) / 2), a.radius)
        for a, b in zip(mine, mine[1:], strict=False)
        if a.point.link == b.point.link
    ]
    return [*mine, *mid]


def _ball(body: Body, link: str) -> Ball:
    return _held(body, [link])[0]


def _moving(body: Body, point: Point, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return where a point is and how fast it moves (3,)."""
    symbols = ca.SX.sym("q", body.n), ca.SX.sym("v", body.n)
    place = place_of(body, point, symbols[0])
    found = ca.Function("moves", list(symbols), [place, ca.jtimes(place, *symbols)])(q, v)
    here, goes = (np.asarray(one).ravel() for one in found)
    return here, goes


def _known(meeting: Meeting, who: str) -> Knots:
    """Return what is known of who is not free."""
    knots = meeting.stage.problem.roles[who].knots
    if knots is None:
        raise RuntimeError(f"{who} neither moves nor has moved")
    return knots
