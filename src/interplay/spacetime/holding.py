"""Hands that are held: two points of two characters that stay together, and the force between them (liu2006, section 6.2)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import casadi as ca
import numpy as np
from scipy.optimize import least_squares

from interplay.spacetime.avoiding import BETWEEN, balls
from interplay.spacetime.blocks import Block, Kernel
from interplay.spacetime.body import ROOT, Body, Point
from interplay.spacetime.meeting import Bond, Meeting, place_of, places
from interplay.spacetime.part import PULL, Style, hermite
from interplay.spacetime.problem import Found
from interplay.spacetime.sharing import Curve

GRIP = 120.0
"""What a hand holds at most along each axis [N]."""
EASE, STEADY = 0.1, 0.5
"""What it costs to pull by a unit of force (``part.PULL``), and to pull by one more from knot to knot, per second."""
NAME, STIFFEST, SHARED = "hands", 1000.0, 0.2
"""The name of the law, for schedules that soften it; the stiffness of the rubber band if none is said [N/m]; the part of its energy [J] that
is in the objective."""
LOOSE = 0.15
"""What it costs an arm that is held to be off its rest [1/rad²]."""

LOWER, REACHES = 0.15, 1.5
"""By how much lower a hand hangs of one whose forearm reaches up to the other's [m], and how far her elbow bends then [rad]."""
Hand = tuple[str, int]
Spans = Sequence[tuple[float, float]]
"""From when to when [s], again and again."""
ALWAYS: Spans = ((-np.inf, np.inf),)
BRIEF = 1e-6
"""What is as near as that to where a span begins or ends happens there [s]."""


class Held(NamedTuple):
    """Surfaces of two that hold each other: which, whose and which of the points at which they are pulled, and when [s]."""

    surfaces: tuple[str, str]
    hands: tuple[Hand, Hand]
    during: Spans = ALWAYS


def hold_hands(one: Hand, other: Hand, during: Spans = ALWAYS, ease: float = 1.0) -> Bond:
    """Return the bond of two hands: of each, whose, and which of the points at which it is pulled.

    ``during``: when they touch, of parts whose timing is kept; ``ease``: how many times as much as usual it costs to pull. In a turn in which
    it is soft (`NAME`), or only one of them is free, a rubber band draws her hand to the other's (liu2006, 6.2).
    """

    def bond(meeting: Meeting) -> list[Block]:
        stage = meeting.stage
        stiffness, free = stage.stiffness(NAME), [hand[0] in stage.parts for hand in (one, other)]
        if stiffness is not None or not all(free):
            turned = [(one, other)] * free[0] + [(other, one)] * free[1]
            return [
                block for mine, hers in turned for block in banded(meeting, mine, hers, stiffness or STIFFEST, during)
            ]
        (first, _), (second, _) = one, other
        times, ways = _ways(meeting, one, other)
        way = meeting.curve(times, ways.mean(axis=0), (0,))
        force = meeting.curve(times, np.zeros((len(times), 3)))
        unknowns = stage.unknowns
        unknowns.low[force.coefficients], unknowns.high[force.coefficients] = -GRIP / PULL, GRIP / PULL
        return [
            meeting.keeps(first, _point(meeting, one), way, _knots(meeting, first, during)),
            meeting.keeps(second, _point(meeting, other), way, _knots(meeting, second, during)),
            pulls(meeting, one, force, 1.0, during),
            pulls(meeting, other, force, -1.0, during),
            eased(force, ease),
        ]

    return bond


def banded(meeting: Meeting, mine: Hand, hers: Hand, stiffness: float, during: Spans = ALWAYS) -> list[Block]:
    """Return what a rubber band does to a hand, of a stiffness [N/m], from where the other hand is known or guessed to be.

    A part of its energy is in the objective, too: by its force alone the gap does not close, as it draws whoever lags behind ahead, at the
    expense of another who does not feel it before his turn.
    """
    who, k = mine
    part, point = meeting.stage.parts[who], _point(meeting, mine)
    body, n = part.body, part.body.n
    times, places = meeting.guessed(hers[0], [_point(meeting, hers)])
    way = meeting.curve(times, places, (0,))
    unknowns = meeting.stage.unknowns
    unknowns.low[way.coefficients] = unknowns.high[way.coefficients] = unknowns.guess[way.coefficients]
    points = _points(meeting, mine, during)
    read, constants = way.window(meeting.clocks[who].points().some(points))
    count = len(read)

    def outer(z: Any, c: Any) -> Any:
        (q0, v0, q1, v1), rate = [z[j * n : (j + 1) * n] for j in range(4)], z[4 * n + 4]
        R, p = body.frames(hermite(q0, rate * v0, q1, rate * v1, c[0])[0])[point.link]
        value, place = way.value(z[4 * n + 3 :], c)
        return ca.vertcat(p + R @ ca.DM(point.place) - value, z[4 * n : 4 * n + 3], place, c[2])

    def inner(y: Any, c: Any) -> tuple[Any, Any]:
        return SHARED * 0.5 * y[7] * ca.sumsqr(y[:3]) / count, ca.vertcat(y[3:6] + y[7] / PULL * y[:3], y[6])

    low, high = (np.concatenate([np.zeros((count, 3)), bound], axis=1) for bound in way.within(constants))
    knots = np.concatenate([part.q[:-1], part.v[:-1], part.q[1:], part.v[1:]], axis=1)
    where = np.concatenate([np.repeat(knots, 2, axis=0)[points], part.pull[points, k], read], axis=1)
    constants = np.concatenate([constants, np.full((count, 1), stiffness)], axis=1)
    kernel = Kernel("banded", 4 * n + 3 + way.width, 3, inner, outer)
    return [Block(kernel, where, constants, low, high, lambda p, r: f"rubber band at {who}")]


def between(one: Hand, other: Hand, during: Spans = ALWAYS) -> Callable[[Found], dict[str, float]]:
    """Return what is to be said of two hands while they touch, over all moments.

    Largest gap [m], largest and mean force [N], and by how much forces are not opposite [N].
    """

    def said(found: Found) -> dict[str, float]:
        (first, a), (second, b) = one, other
        parts = [found.parts[who] for who in (first, second)]
        span = min(float(part.times(found.x)[-1]) for part in parts)
        times = np.linspace(0.0, span, 1000, endpoint=False)
        times = times[within(times, during)]
        courses = [part.course(found.x, times)[0] for part in parts]
        mine, hers = (
            places(part.body, [part.pulled[k]], course.q)
            for part, k, course in zip(parts, (a, b), courses, strict=True)
        )
        forces = [np.asarray(course.pull)[:, k] for course, k in zip(courses, (a, b), strict=True)]
        name = f"{first} and {second}"
        return {
            f"{name}: largest gap of hands [m]": float(np.linalg.norm(mine - hers, axis=1).max()),
            f"{name}: largest force [N]": float(np.linalg.norm(forces[0], axis=1).max()),
            f"{name}: mean force [N]": float(np.linalg.norm(forces[0], axis=1).mean()),
            f"{name}: forces off their opposites [N]": float(np.linalg.norm(forces[0] + forces[1], axis=1).max()),
        }

    return said


def within(times: np.ndarray, during: Spans) -> np.ndarray:
    """Return which times [s] are in any of some spans."""
    return np.any([(times > begin - BRIEF) & (times < end + BRIEF) for begin, end in during], axis=0)


def _knots(meeting: Meeting, who: str, during: Spans) -> np.ndarray:
    """Return the knots of a character at which hands touch."""
    return np.flatnonzero(within(meeting.stage.unknowns.guess[meeting.clocks[who].times], during))


def _points(meeting: Meeting, hand: Hand, during: Spans) -> np.ndarray:
    """Return the points of a character at which hands touch; at all others nothing pulls."""
    who, index = hand
    unknowns, moments = meeting.stage.unknowns, meeting.clocks[who].points()
    inside = within(unknowns.guess[moments.where[:, 0]] + moments.share * unknowns.guess[moments.where[:, 1]], during)
    loose = meeting.stage.parts[who].pull[~inside, index]
    unknowns.low[loose] = unknowns.high[loose] = unknowns.guess[loose] = 0.0
    return np.flatnonzero(inside)


def pulls(meeting: Meeting, hand: Hand, force: Curve, sign: float, during: Spans = ALWAYS) -> Block:
    """Return what makes the force on a point of a character that of a curve, or its opposite."""
    who, index = hand
    points = _points(meeting, hand, during)
    pull = meeting.stage.parts[who].pull[points, index]
    read, constants = force.window(meeting.clocks[who].points().some(points))

    def inner(y: Any, c: Any) -> tuple[Any, Any]:
        value, place = force.value(y[3:], c)
        return 0, ca.vertcat(y[:3] - sign * value, place)

    low, high = (np.concatenate([np.zeros((len(read), 3)), bound], axis=1) for bound in force.within(constants))
    where = np.concatenate([pull, read], axis=1)
    return Block(Kernel("pulls", 3 + force.width, 2, inner), where, constants, low, high, lambda p, r: f"pull at {who}")


def eased(force: Curve, ease: float = 1.0) -> Block:
    """Return what it costs to pull, so many times as much as usual."""
    at = force.coefficients
    where = np.concatenate([at, np.roll(at, -1, axis=0)], axis=1)
    where = where if force.closed else where[:-1]
    count = len(where)

    def inner(y: Any, c: Any) -> tuple[Any, Any]:
        cost = EASE * ca.sumsqr(y[:3]) + STEADY * ca.sumsqr(y[3:] - y[:3])
        return ease / count * cost, ca.SX(0, 1)

    none = np.zeros((count, 0))
    return Block(Kernel("eased", 6, 0, inner), where, none, none, none, lambda p, r: "")


def holding(style: Style, body: Body, sides: Sequence[str], q: np.ndarray) -> Style:
    """Return the style of one whose hands are held: those arms do not swing against legs, and rest where they meet the others (n,)."""
    posture, rest = style.posture.copy(), style.rest.copy()
    for side in sides:
        arm = arm_of(body, side)
        posture[arm], rest[arm] = LOOSE, q[arm]
    swings = {found[0] for side in sides if (found := body.doing(f"{side}_shoulder_flexion")) is not None}
    ties = tuple(tie for tie in style.ties if tie.parts[0][0] not in swings)
    return style._replace(posture=posture, rest=rest, ties=ties)


def arm_of(body: Body, side: str) -> list[int]:
    """Return the coordinates of an arm."""
    parts = ("clavicle", "shoulder", "elbow", "wrist", "forearm")
    return [
        ROOT + k
        for k, (joint, _) in enumerate(body.does)
        if joint.startswith(side) and any(part in joint for part in parts)
    ]


def meeting_hands(one: Body, other: Body, q: np.ndarray, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return coordinates in which the left hand of one meets the right hand of another, palm to palm, by as little as that takes.

    Forearms stay beside each other: palms that face where arms hang would only meet beyond one another, so that forearms turn.
    """
    arms = arm_of(one, "left"), arm_of(other, "right")
    count = len(arms[0])
    low, high = (
        np.concatenate([getattr(b, side)[np.array(arm) - ROOT] for b, arm in zip((one, other), arms, strict=True)])
        for side in ("low", "high")
    )
    begin = np.clip(np.concatenate([q[arms[0]], p[arms[1]]]), low + 0.05, high - 0.05)
    aside = ["abduction" in b.joints[k - ROOT] for b, arm in zip((one, other), arms, strict=True) for k in arm]
    low[aside] = begin[aside] - 0.05  # nobody's elbow is in her hip
    a, b = ca.SX.sym("a", one.n), ca.SX.sym("b", other.n)
    hands = [
        place_of(body, point, z)
        for body, z, side in ((one, a, "left"), (other, b, "right"))
        for point in (body.point(f"{side}_palm"), body.point(f"{side}_grip"), body.at(f"{side}_hand"))
    ]
    at = ca.Function("at", [a, b], [ca.vertcat(*hands)])
    room = sum(_thin(body, f"{side}_forearm") + BETWEEN for body, side in ((one, "left"), (other, "right")))

    hang = np.asarray(at(q, p)).reshape(6, 3)[[1, 4], 2]
    for body, first, rises in ((one, 0, hang[1] - hang[0]), (other, count, hang[0] - hang[1])):
        if rises > LOWER:  # a small one's forearm reaches up, not her elbow aside
            elbow = next(k for k, z in enumerate(arms[first > 0]) if "elbow" in body.does[z - ROOT].name)
            begin[first + elbow] = min(REACHES, high[first + elbow] - 0.05)

    def put(z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        mine, hers = q.copy(), p.copy()
        mine[arms[0]], hers[arms[1]] = z[:count], z[count:]
        return mine, hers

    def off(z: np.ndarray) -> np.ndarray:
        palm, grip, wrist, her_palm, her_grip, her_wrist = np.asarray(at(*put(z))).reshape(6, 3)
        facing = (grip - palm) / np.linalg.norm(grip - palm)
        facing += (her_grip - her_palm) / np.linalg.norm(her_grip - her_palm)
        across = max(0.0, wrist[1] - her_wrist[1] + room)
        return np.concatenate([30.0 * (grip - her_grip), 0.5 * facing, [20.0 * across], 0.3 * (z - begin)])

    return put(least_squares(off, begin, bounds=(low, high)).x)


def _thin(body: Body, link: str) -> float:
    """Return the least radius of what is solid of a link [m]."""
    return min(ball.radius for ball in balls(body) if body.links[ball.point.link].name == link)


def _point(meeting: Meeting, hand: Hand) -> Point:
    return meeting.stage.problem.roles[hand[0]].pulled[hand[1]]


def _ways(meeting: Meeting, one: Hand, other: Hand) -> tuple[np.ndarray, np.ndarray]:
    """Return real times of the first one's knots (T,), and where both hands are guessed to be then (2, T, 3)."""
    times, mine = meeting.guessed(one[0], [_point(meeting, one)])
    at, hers = meeting.guessed(other[0], [_point(meeting, other)])
    return times, np.stack([mine, np.stack([np.interp(times, at, column) for column in hers.T], axis=1)])
