"""Tackling and dodging: what must hold when a tackler and a target meet, for whoever plans against what is known (liu2006, 6.3)."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from interplay.errors import InputError
from interplay.spacetime.avoiding import Ball
from interplay.spacetime.blocks import INF, Block, Kernel
from interplay.spacetime.body import ROOT, SIDES, Body, Point
from interplay.spacetime.clearing import ARM, beads, held, late, names, near
from interplay.spacetime.laws import Between
from interplay.spacetime.limbs import ASLEEP, NEAREST
from interplay.spacetime.meeting import Meeting, bonds_of, place_of, places
from interplay.spacetime.part import hermite
from interplay.spacetime.passing import passing
from interplay.spacetime.problem import END, Found, Law
from interplay.spacetime.schedules import Horizon

TRUNK = ("pelvis", "abdomen", "chest", "neck", "head")
"""Links that the bounding sphere of a tackler holds, and that a target keeps out of it."""
UPPER, LOWER = ("abdomen", "chest", "neck", "head"), ("pelvis", "thigh", "shank", "foot")
"""Links that have a wall of their own between tackler and target: legs stride ahead of trunks."""
HIT = "chest"
"""What a tackler hits with, and what he hits."""
CLOSE = 0.04
"""How far from touching what he hits with may be from what he hits [m]."""
LOW = (-0.15, 0.25)
"""How far above him what he hits may be [m]."""
AROUND, BEHIND, LEVEL = (0.02, 0.3), -0.1, 0.3
"""How far his palms are beside her, beyond the ball in her chest, behind its middle at most, and above or below it at most [m]."""
OUT_OF_REACH = 0.95
"""At knots, arms of two who meet sleep only where they are guessed to be more than four times as far apart as they are thick: they come fast."""
EVERY = 0.012
"""How often arms are looked at where two tackle a third, at least [s]: hands come at 6 m/s, and nothing fits through in so little."""
STRIDE = {"joints": 0.5, "height": 0.08, "lean": 0.25, "falls": 0.5}
"""How far from her stride a target may end: joints, lean [rad], height [m], and how fast she falls or rises [m/s]."""


class Tackle(NamedTuple):
    """The bond of a tackler, when he plans: at the end his chest meets hers at a speed [m/s], hands around it."""

    he: str
    she: str
    speed: float

    def __call__(self, meeting: Meeting) -> list[Block]:
        """Hold what he meets her with, and keep all else off her: against where she is known to be."""
        he, she, speed = self
        if he not in meeting.stage.parts or she in meeting.stage.parts:
            return []
        roles, part = meeting.stage.problem.roles, meeting.stage.parts[he]
        body, n = part.body, part.body.n
        chest, struck = (_ball(roles[who].body, HIT) for who in (he, she))
        palms = [body.point(f"{side}_palm") for side in SIDES]
        knots = meeting.known(she)
        at = np.concatenate(_moving(roles[she].body, [struck.point], knots.q[-1:], knots.v[-1:]), axis=1)

        def inner(y: Any, c: Any) -> tuple[Any, Any]:
            here = place_of(body, chest.point, y[:n])
            d = c[:3] - here
            far = ca.norm_2(d[:2])
            ahead = d[:2] / far
            closing = ca.dot(ca.jtimes(here, y[:n], y[n:])[:2] - c[3:5], ahead)
            rows = [far - chest.radius - struck.radius, closing - speed, d[2]]
            for palm, sign in zip(palms, (1.0, -1.0), strict=True):
                off = place_of(body, palm, y[:n]) - c[:3]
                beside = sign * (ahead[0] * off[1] - ahead[1] * off[0])
                rows += [ca.dot(ahead, off[:2]), beside - struck.radius, off[2]]
            return 0, ca.vertcat(*rows)

        low = [0.0, 0.0, LOW[0], *[BEHIND, AROUND[0], -LEVEL] * 2]
        high = [CLOSE, 0.0, LOW[1], *[INF, AROUND[1], LEVEL] * 2]
        where, kernel = np.concatenate([part.q[-1], part.v[-1]])[None], Kernel("tackle", 2 * n, 6, inner)
        hits = Block(kernel, where, at, np.array([low]), np.array([high]), lambda p, r: f"{he} tackles {she}")
        walls = [passing(he, she, only=only) for only in (UPPER, LOWER)]
        rivals = [
            bond.he
            for bond in bonds_of(meeting.stage.problem.laws)
            if isinstance(bond, Tackle) and bond.she == she and bond.he != he and bond.he not in meeting.stage.parts
        ]
        off = [_arms_off(meeting, he, who, trunks=who != she, between=bool(rivals)) for who in (she, *rivals)]
        return [hits, *(block for of in off for block in of), *(block for wall in walls for block in wall(meeting))]


class Dodge(NamedTuple):
    """The bond of a target, when she plans: at the end she is out of his bounding sphere, by a margin [m]."""

    she: str
    he: str
    margin: float

    def __call__(self, meeting: Meeting) -> list[Block]:
        """Keep her out of where his sphere is known to be, and off him until then."""
        she, he, margin = self
        if she not in meeting.stage.parts or he in meeting.stage.parts:
            return []
        roles = meeting.stage.problem.roles
        body, (centre, radius) = roles[she].body, sphere(roles[he].body, meeting.known(he).q[-1])
        mine = held(body, TRUNK)

        def inner(y: Any, c: Any) -> tuple[Any, Any]:
            off = [ca.norm_2(place_of(body, ball.point, y) - c[:3]) - ball.radius for ball in mine]
            return 0, ca.vertcat(*off) - c[3]

        constants, low = np.array([[*centre, radius + margin]]), np.zeros((1, len(mine)))
        where, kernel = meeting.stage.parts[she].q[-1][None], Kernel("dodge", body.n, 4, inner)
        out = Block(kernel, where, constants, low, np.full_like(low, INF), lambda p, r: f"{she} dodges {he}")
        return [out, *passing(he, she)(meeting)]


def strides(who: str, q: np.ndarray) -> list[Law]:
    """Return that a target ends about as in a stride (n,), which may still be a swerve, and no fall."""
    near: list[Law] = [
        Between(who, END, tuple(range(first, end)), (q[first:end] - far).tolist(), (q[first:end] + far).tolist())
        for first, end, far in ((ROOT, len(q), STRIDE["joints"]), (2, 3, STRIDE["height"]), (4, ROOT, STRIDE["lean"]))
    ]
    return [*near, Between(who, END, (2,), -STRIDE["falls"], STRIDE["falls"], rates=True)]


def sphere(body: Body, q: np.ndarray) -> tuple[np.ndarray, float]:
    """Return the bounding sphere of a tackler's trunk and head: about the middle of his chest."""
    mine = held(body, TRUNK)
    at = places(body, [ball.point for ball in mine], q[None]).reshape(-1, 3)
    centre = places(body, [_ball(body, HIT).point], q[None])[0]
    return centre, max(float(np.linalg.norm(p - centre)) + ball.radius for p, ball in zip(at, mine, strict=True))


def outcomes(found: Found) -> dict[str, float]:
    """Return what is to be said of tackles: gap of chests and speed at which it closes, and how far she is out of his sphere."""
    said = {}
    for he, she in {bond[:2]: 0 for bond in bonds_of(found.problem.laws) if isinstance(bond, Tackle)}:
        (his, hers), x = (found.parts[who] for who in (he, she)), found.x
        chests = [_ball(part.body, HIT) for part in (his, hers)]
        (here, goes), (there, comes) = (
            (one[0] for one in _moving(part.body, [chest.point], x[part.q[-1:]], x[part.v[-1:]]))
            for part, chest in zip((his, hers), chests, strict=True)
        )
        d = (there - here)[:2]
        far = float(np.linalg.norm(d))
        centre, radius = sphere(his.body, x[his.q[-1]])
        trunk = held(hers.body, TRUNK)
        at = places(hers.body, [ball.point for ball in trunk], x[hers.q[-1]][None]).reshape(-1, 3)
        out = min(float(np.linalg.norm(p - centre)) - ball.radius for p, ball in zip(at, trunk, strict=True)) - radius
        said[f"{he}: chest from {she}'s at the end [m]"] = far - sum(chest.radius for chest in chests)
        said[f"{he}: closes with {she} at the end at [m/s]"] = float((goes - comes)[:2] @ d) / far
        said[f"{she}: out of {he}'s bounding sphere at the end by [m]"] = out
    return said


def horizon(laws: Sequence[Law], last: str | None) -> Horizon:
    """Return the schedule of those who tackle and of whom they tackle; ``last``: who adjusts last, by default she."""
    bonds = bonds_of(laws)
    tacklers = list(dict.fromkeys(bond.he for bond in bonds if isinstance(bond, Tackle)))
    targets = {bond.she for bond in bonds if isinstance(bond, Tackle)}
    if len(targets) != 1:
        raise InputError(f"schedule horizon: expected tackles of one target, got {len(targets)} targets")
    (she,) = targets
    if {(b.she, b.he) for b in bonds if isinstance(b, Dodge)} != {(she, he) for he in tacklers}:
        raise InputError(f"schedule horizon: expected that {she} dodges each of {', '.join(tacklers)}, and nobody else")
    if last not in (None, she, *tacklers):
        raise InputError(f"last {last!r}: expected one of {', '.join((*tacklers, she))}")
    return Horizon((*tacklers, she), last or she)


def _arms_off(meeting: Meeting, he: str, she: str, trunks: bool, between: bool) -> list[Block]:
    """Return what keeps arms of each off the other's trunk, and arms off arms, near the end: he is free, she is known.

    ``trunks``: trunks keep off each other, too: of two who tackle a third, whom a wall keeps off hers alone. ``between``: all of it holds
    between knots, too: two who tackle come at each other fast, and at her between both; rows of knots have woken before those are at
    stake. Where she is is a line in time about when a moment is guessed to be.
    """
    part, clock, roles = meeting.stage.parts[he], meeting.clocks[he], meeting.stage.problem.roles
    n, her, knots, times = part.body.n, roles[she].body, meeting.known(she), meeting.stage.unknowns.guess[clock.times]
    mine, known = beads(part.body, (*ARM, *TRUNK)), beads(her, (*ARM, *TRUNK))
    my, hers = names(part.body, mine), names(her, known)
    pairs = [
        (a, b)
        for a, one in enumerate(my)
        for b, other in enumerate(hers)
        if trunks or one.endswith(ARM) or other.endswith(ARM)
    ]
    said, size = [f"{my[a]} of {he} off {hers[b]} of {she}" for a, b in pairs], 3 * len(known)

    def inner(y: Any, c: Any) -> tuple[Any, Any]:
        place = [place_of(part.body, ball.point, y[:n]) for ball in mine]
        there = ca.reshape(c[:size] + (y[n] - c[2 * size]) * c[size : 2 * size], 3, len(known))
        return 0, ca.vertcat(*(near(place[a] - there[:, b], mine[a], known[b]) for a, b in pairs))

    def inside(z: Any, c: Any) -> Any:
        (q0, v0, q1, v1), rate = [z[k * n : (k + 1) * n] for k in range(4)], z[4 * n]
        return ca.vertcat(hermite(q0, rate * v0, q1, rate * v1, c[-1])[0], z[4 * n + 1] + c[-1] * rate)

    def off(outer: Any, unknown: list[np.ndarray], moments: np.ndarray, share: np.ndarray, margin: float) -> Block:
        states = knots.at(knots.course(roles[she].phases).time, moments)
        constants = np.column_stack([*_moving(her, [ball.point for ball in known], *states), moments, share])
        where, high = np.column_stack(unknown), np.full((len(moments), len(pairs)), NEAREST)
        kernel = Kernel("arms off", where.shape[1], constants.shape[1], inner, outer)
        return Block(kernel, where, constants, np.full_like(high, -INF), high, lambda p, r: said[r], margin)

    ends = late(part, times)
    at = off(None, [part.q[ends], clock.times[ends]], times[ends], np.zeros(len(ends)), OUT_OF_REACH)
    if not between:
        return [at]
    k, share = _within(times, ends)
    unknown = [part.q[k], part.v[k], part.q[k + 1], part.v[k + 1], part.rate[part.phase_of[k]], clock.times[k]]
    return [at, off(inside, unknown, times[k] + share * np.diff(times)[k], share, ASLEEP)]


def _within(times: np.ndarray, ends: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """Return moments in the intervals that end at some knots, of their times (K + 1,): which interval, and the share of it that is over."""
    counts = [ceil((times[k] - times[k - 1]) / EVERY) for k in ends]
    shares = [j / count for count in counts for j in range(1, count)]
    return np.repeat(np.array(ends, int) - 1, np.array(counts, int) - 1), np.array(shares)


def _ball(body: Body, link: str) -> Ball:
    return held(body, [link])[0]


def _moving(body: Body, points: Sequence[Point], q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return where points are and how fast they move (T, 3 N), in some coordinates and rates (T, n)."""
    symbols = ca.SX.sym("q", body.n), ca.SX.sym("v", body.n)
    place = ca.vertcat(*(place_of(body, point, symbols[0]) for point in points))
    found = ca.Function("moves", list(symbols), [place, ca.jtimes(place, *symbols)]).map(len(q))(q.T, v.T)
    here, goes = (np.asarray(one).T for one in found)
    return here, goes
