"""Ways that cross: a wall that nobody sees goes between two characters, turns as they pass, and each stays on its side (liu2006, 6.3).

Where it is and which way it faces are functions of real time (`sharing.py`), which each reads at its own knots. Nobody's ways are shared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import casadi as ca
import numpy as np

from interplay.spacetime.avoiding import BETWEEN, Ball
from interplay.spacetime.blocks import INF, Block, Kernel
from interplay.spacetime.body import Body
from interplay.spacetime.clearing import held
from interplay.spacetime.meeting import Bond, Meeting, place_of
from interplay.spacetime.sharing import Curve, Moments

NEAR = 0.3
"""Balls that are guessed to come nearer than so much to the wall stay on their side of it [m]."""
STEADY = 1e-3
"""What it costs the wall to turn or go otherwise than evenly: next to nothing, but where nobody is near it is somewhere."""
ROOM = 0.6
"""How far apart the middles of two are guessed to pass, beside the margin [m]."""
SWERVES = 1.2
"""How long before and after the encounter who gives way is guessed to be off the way [s]."""
PRESSING = 5.0
"""What it costs to fall short of the room between two [1/m]. They begin as they would go alone, and come apart as they are solved."""
LITTLE = 0.03
"""Who is guessed to be short of room by less has all of it [m]: only what is far from apart may be short of it."""
TRIED, TURNED = np.linspace(-1.2, 1.2, 49), 0.05
"""Angles off the way from one to the other that a wall is guessed to have [rad], and what gap is given for less of that [m/rad²]."""
GRID = 0.02
"""Between moments at which guesses are looked at [s]."""


def passing(one: str, other: str, margin: float = 0.0, only: Sequence[str] = ("",)) -> Bond:
    """Return the bond of two between whom a wall goes, each so far from the other at least [m], if both keep off it by half of that.

    ``only``: how names of links end that keep to their sides.
    """

    def bond(meeting: Meeting) -> list[Block]:
        stage = meeting.stage
        if not {one, other} & set(stage.parts):
            return []
        bodies = {who: stage.problem.roles[who].body for who in (one, other)}
        mine = {who: held(body, only) for who, body in bodies.items()}
        times, ways = _together(meeting, mine)
        middles = np.stack([way[:, 0] for way in ways])
        swerve = apart(times, middles, ROOM + margin) - middles
        ways = [way + off[:, None] for way, off in zip(ways, swerve, strict=True)]
        nearest = int(np.argmin(np.linalg.norm(ways[1][:, 0] - ways[0][:, 0], axis=1)))
        origin = (ways[0][nearest, 0] + ways[1][nearest, 0]) / 2
        radii = [np.array([ball.radius for ball in of]) for of in mine.values()]
        wall = meeting.curve(times, between(ways, radii, origin))
        short = stage.unknowns.add("short", np.zeros(1), 0.0, INF)
        sides = ((one, 1.0), (other, -1.0))
        found = [_stays(meeting, who, mine[who], wall, short, origin, side, margin) for who, side in sides]
        if stage.unknowns.guess[short[0]] < LITTLE:
            stage.unknowns.high[short] = stage.unknowns.guess[short] = 0.0
        return [*found, _steady(wall), _pressed(short)]

    return bond


def apart(times: np.ndarray, ways: np.ndarray, room: float) -> np.ndarray:
    """Return ways (2, T, 2) at some times (T,) that swerve where they come nearer to each other than so much [m]."""
    d = ways[1] - ways[0]
    k = int(np.argmin(np.linalg.norm(d, axis=1)))
    near = float(np.linalg.norm(d[k]))
    closing = d[min(k + 1, len(d) - 1)] - d[max(k - 1, 0)]
    aside = d[k] / near if near > 0.1 * room else np.array([closing[1], -closing[0]]) / np.linalg.norm(closing)
    bump = 0.5 * (1.0 + np.cos(np.pi * np.clip((times - times[k]) / SWERVES, -1.0, 1.0)))
    off = 0.5 * max(room - near, 0.0) * np.multiply.outer(bump, aside)
    return np.stack([ways[0] - off, ways[1] + off])


def between(ways: Sequence[np.ndarray], radii: Sequence[np.ndarray], origin: np.ndarray) -> np.ndarray:
    """Return angle and offset (T, 2) of walls that leave the widest gap between the balls of two, whose ways (T, B, 2) are given."""
    d = ways[1][:, 0] - ways[0][:, 0]
    angles = np.unwrap(np.arctan2(d[:, 1], d[:, 0]))[:, None] + TRIED
    normal = np.stack([np.cos(angles), np.sin(angles)])
    near, far = (np.einsum("ctk,tbc->tkb", normal, way - origin) for way in ways)
    reach, begins = (near + radii[0]).max(axis=2), (far - radii[1]).min(axis=2)
    best = np.argmax(begins - reach - TURNED * TRIED**2, axis=1)[:, None]
    return np.concatenate([np.take_along_axis(one, best, 1) for one in (angles, (reach + begins) / 2)], axis=1)


def _together(meeting: Meeting, held: Mapping[str, Sequence[Ball]]) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return common real times (T,), and where balls of both are guessed or known to be on the ground then (T, B, 2)."""
    seen = [meeting.guessed(who, [ball.point for ball in mine]) for who, mine in held.items()]
    begin, end = max(time[0] for time, _ in seen), min(time[-1] for time, _ in seen)
    times = np.linspace(begin, end, max(int((end - begin) / GRID), 8))
    ways = [
        np.stack([np.interp(times, t, column) for column in p.T], axis=1).reshape(len(times), -1, 3) for t, p in seen
    ]
    return times, [way[..., :2] for way in ways]


def _stays(
    meeting: Meeting,
    who: str,
    mine: Sequence[Ball],
    wall: Curve,
    short: np.ndarray,
    origin: np.ndarray,
    side: float,
    margin: float,
) -> Block:
    """Return what keeps balls of a character on its side of the wall, at knots; of who is not free, the wall off where they are."""
    stage = meeting.stage
    body, n = stage.problem.roles[who].body, stage.problem.roles[who].body.n
    part = stage.parts.get(who)
    times, ways = meeting.guessed(who, [ball.point for ball in mine])
    if part is not None:
        moments = meeting.clocks[who].knots()
        knots = [k for k in range(part.intervals + 1) if k not in part.given]
        states, constants = part.q, np.zeros((len(part.q), 0))
    else:
        zeros = np.zeros_like(times)
        still = stage.unknowns.add("known", np.stack([times, zeros], axis=1), 0.0, 0.0)
        stage.unknowns.low[still] = stage.unknowns.high[still] = stage.unknowns.guess[still]
        moments = Moments(still, zeros)
        span = float(stage.unknowns.guess[meeting.duration[0]])
        begin = min(stage.unknowns.guess[clock.times[0]] for clock in meeting.clocks.values())
        knots = [k for k, t in enumerate(times) if begin < t <= span + 1e-9]
        states, constants = np.zeros((len(times), 0), int), ways
    read, at = wall.window(moments.some(knots))
    size = states.shape[1]

    def inner(y: Any, c: Any) -> tuple[Any, Any]:
        found, place = wall.value(y[size:-1], c)
        normal = ca.vertcat(ca.cos(found[0]), ca.sin(found[0]))
        rows = []
        for k, ball in enumerate(mine):
            there = place_of(body, ball.point, y[:n])[:2] if size else c[2 + 3 * k : 4 + 3 * k]
            rows.append(side * (found[1] - ca.dot(normal, there - ca.DM(origin))) + y[-1])
        return 0, ca.vertcat(*rows, place)

    least = np.array([ball.radius + BETWEEN + margin / 2 for ball in mine])
    guessed = wall.at(stage.unknowns.guess, times[knots])
    normal = np.stack([np.cos(guessed[:, 0]), np.sin(guessed[:, 0])], axis=1)
    there = ways[knots].reshape(len(knots), -1, 3)[..., :2] - origin
    room = side * (guessed[:, 1:] - np.einsum("ki,kbi->kb", normal, there)) - least
    low = np.where(room < NEAR, least, -INF)
    stage.unknowns.guess[short] = max(float(stage.unknowns.guess[short[0]]), -room.min(initial=0.0))
    place_low, place_high = wall.within(at)
    return Block(
        Kernel("turning wall", size + wall.width + 1, 2 + constants.shape[1], inner),
        np.concatenate([states[knots], read, np.tile(short, (len(knots), 1))], axis=1),
        np.concatenate([at, constants[knots]], axis=1),
        np.concatenate([low, place_low], axis=1),
        np.concatenate([np.full_like(low, INF), place_high], axis=1),
        lambda p, r: f"{_link(body, mine, r)} of {who} on its side at knot {knots[p]}",
    )


def _link(body: Body, mine: Sequence[Ball], row: int) -> str:
    return body.links[mine[row].point.link].name if row < len(mine) else "time"


def _pressed(short: np.ndarray) -> Block:
    """Return what it costs to fall short of the room that is asked: so much that it is not worth it."""
    none = np.zeros((1, 0))
    return Block(
        Kernel("short", 1, 0, lambda y, c: (PRESSING * y[0], ca.SX(0, 1))),
        short[None],
        none,
        none,
        none,
        lambda p, r: "",
    )


def _steady(wall: Curve) -> Block:
    """Return what it costs the wall to turn and to go otherwise than evenly."""
    at = wall.coefficients
    where = np.concatenate([at[:-2], at[1:-1], at[2:]], axis=1)
    size, none = wall.size, np.zeros((len(where), 0))

    def inner(y: Any, c: Any) -> tuple[Any, Any]:
        return STEADY * ca.sumsqr(y[:size] - 2 * y[size : 2 * size] + y[2 * size :]), ca.SX(0, 1)

    return Block(Kernel("steady wall", 3 * size, 0, inner), where, none, none, none, lambda p, r: "")
