"""Tackling and dodging: what must hold at the collision time, for whoever plans (liu2006, section 6.3)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from interplay.errors import InputError
from interplay.spacetime.avoiding import Ball, balls
from interplay.spacetime.blocks import INF, Block, Kernel
from interplay.spacetime.body import Body
from interplay.spacetime.ends import Knots
from interplay.spacetime.meeting import Bond, Meeting
from interplay.spacetime.problem import Problem, Turn, Window

TRUNK = ("pelvis", "abdomen", "chest", "neck", "head")
"""Links that the bounding sphere of a tackler holds, and that a target keeps out of it."""
HIT, STRUCK = "chest", "abdomen"
"""What a tackler hits with, and what he hits."""
CLOSE = 0.10
"""How far the middle of what he hits with may be beyond touching the middle of what he hits [m]: her arm may be between."""
AROUND, LEVEL = (0.02, 0.16), 0.25
"""How far his palms are beside her, beyond the ball in her torso, and at most above or below its middle [m]."""


def tackle(he: str, she: str, speed: float) -> Bond:
    """Return the bond of a tackler when he plans: at the end he meets her torso at a speed [m/s], hands around it."""

    def bond(meeting: Meeting) -> list[Block]:
        if he not in meeting.stage.parts or she in meeting.stage.parts:
            return []
        bodies = [meeting.stage.problem.roles[who].body for who in (he, she)]
        chest, torso = _ball(bodies[0], HIT), _ball(bodies[1], STRUCK)
        palms = [bodies[0].point(f"{side}_palm") for side in ("left", "right")]

        def rows(mine: Any, theirs: Any) -> Any:
            (q, v), (p, w) = mine, theirs
            own = bodies[0].frames(q)
            here, there = _at(own, chest.point), _at(bodies[1].frames(p), torso.point)
            d = there - here
            far = ca.norm_2(d)
            closing = ca.dot(ca.jtimes(here, q, v) - ca.jtimes(there, p, w), d) / far
            ahead = ca.vertcat(d[0], d[1], 0) / ca.norm_2(d[:2])
            out = [far - chest.radius - torso.radius, closing - speed, d[2]]
            for palm, sign in zip(palms, (1.0, -1.0), strict=True):
                off = _at(own, palm) - there
                beside = sign * (ahead[0] * off[1] - ahead[1] * off[0])
                out += [ca.dot(ahead, off), beside - torso.radius, off[2]]
            return ca.vertcat(*out)

        hand_low, hand_high = [-0.08, AROUND[0], -LEVEL], [INF, AROUND[1], LEVEL]
        low, high = [0.0, 0.0, -0.35, *hand_low, *hand_low], [CLOSE, 0.0, 0.2, *hand_high, *hand_high]
        return [_at_end(meeting, he, she, rows, low, high, f"{he} tackles {she}")]

    return bond


def dodge(she: str, he: str, margin: float) -> Bond:
    """Return the bond of a target when she plans: at the end she is out of his bounding sphere, by a margin [m]."""

    def bond(meeting: Meeting) -> list[Block]:
        if she not in meeting.stage.parts or he in meeting.stage.parts:
            return []
        roles = meeting.stage.problem.roles
        centre, radius = sphere(roles[he].body, _known(meeting, he).q[-1])
        mine = [ball for ball in balls(roles[she].body) if roles[she].body.links[ball.point.link].name in TRUNK]

        def rows(own: Any, _: Any) -> Any:
            frames = roles[she].body.frames(own[0])
            return ca.vertcat(
                *(
                    ca.sumsqr(_at(frames, ball.point) - ca.DM(centre)) / (radius + ball.radius + margin) ** 2
                    for ball in mine
                )
            )

        return [_at_end(meeting, she, he, rows, [1.0] * len(mine), [INF] * len(mine), f"{she} dodges {he}")]

    return bond


def sphere(body: Body, q: np.ndarray) -> tuple[np.ndarray, float]:
    """Return the bounding sphere of a tackler's trunk and head: about the middle of his chest."""
    frames = body.frames(ca.DM(q))
    held = [ball for ball in balls(body) if body.links[ball.point.link].name in TRUNK]
    at = [np.asarray(_at(frames, ball.point)).ravel() for ball in held]
    centre = np.asarray(_at(frames, _ball(body, HIT).point)).ravel()
    return centre, max(float(np.linalg.norm(p - centre)) + ball.radius for p, ball in zip(at, held, strict=True))


def sphere_gap(body: Body, q: np.ndarray, centre: np.ndarray, radius: float) -> float:
    """Return how far trunk and head are out of a sphere [m]."""
    frames = body.frames(ca.DM(q))
    held = [ball for ball in balls(body) if body.links[ball.point.link].name in TRUNK]
    at = [np.asarray(_at(frames, ball.point)).ravel() for ball in held]
    return min(float(np.linalg.norm(p - centre)) - radius - b.radius for p, b in zip(at, held, strict=True))


def gap(bodies: tuple[Body, Body], his: tuple[np.ndarray, np.ndarray], hers: tuple[np.ndarray, np.ndarray]):
    """Return how far what he hits with is from what he hits, beyond touching [m], and how fast it comes nearer [m/s]."""
    chest, torso = _ball(bodies[0], HIT), _ball(bodies[1], STRUCK)
    found = []
    for body, ball, (q, v) in zip(bodies, (chest, torso), (his, hers), strict=True):
        symbol = ca.SX.sym("q", body.n)
        place = _at(body.frames(symbol), ball.point)
        speed = ca.Function("moves", [symbol], [place, ca.jacobian(place, symbol)])
        p, J = (np.asarray(one) for one in speed(q))
        found.append((p.ravel(), J @ v))
    d = found[1][0] - found[0][0]
    far = float(np.linalg.norm(d))
    return far - chest.radius - torso.radius, float((found[0][1] - found[1][1]) @ d / far)


class Horizon(NamedTuple):
    """Decreasing horizon (liu2006, 6.3): who plans first plans the whole, the others then what is left of the last half, and so on.

    Each time all have planned the interval halves; ``last`` adjusts last, and decides.
    """

    order: tuple[str, ...]
    last: str
    cycles: int = 2

    def turns(self, problem: Problem) -> Iterable[Turn]:
        """Return one turn after another."""
        share = 1.0
        for cycle in range(self.cycles):
            for k, who in enumerate(self.order):
                if cycle or k:
                    share = 0.5 ** (cycle + (1 if k else 0))
                yield Turn((Window(who, _first(problem, who, 1.0 - share)),), near=cycle > 0)
                if cycle == self.cycles - 1 and who == self.last:
                    return


def _first(problem: Problem, who: str, share: float) -> int:
    """Return the phase that begins nearest to a share of the time."""
    seconds = np.cumsum([0.0, *(phase.seconds for phase in problem.roles[who].phases)])
    return int(np.argmin(np.abs(seconds[:-1] - share * seconds[-1])))


def _ball(body: Body, link: str) -> Ball:
    return next(ball for ball in balls(body) if body.links[ball.point.link].name == link)


def _at(frames: Any, point: Any) -> Any:
    return frames[point.link][1] + frames[point.link][0] @ ca.DM(point.place)


def _at_end(
    meeting: Meeting,
    who: str,
    other: str,
    rows: Callable[[Any, Any], Any],
    low: list[float],
    high: list[float],
    name: str,
) -> Block:
    """Return rows of the states of two characters at the end, of whom the second is known."""
    part, known = meeting.stage.parts[who], meeting.stage.problem.roles[other]
    n, m = part.body.n, known.body.n
    knots = _known(meeting, other)

    def inner(y: Any, c: Any) -> tuple[Any, Any]:
        return 0, rows((y[:n], y[n:]), (c[:m], c[m:]))

    where = np.concatenate([part.q[-1], part.v[-1]])[None]
    constants = np.concatenate([knots.q[-1], knots.v[-1]])[None]
    return Block(
        Kernel("at end", 2 * n, 2 * m, inner), where, constants, np.array([low]), np.array([high]), lambda p, r: name
    )


def _known(meeting: Meeting, who: str) -> Knots:
    """Return what is known of who is not free."""
    knots = meeting.stage.problem.roles[who].knots
    if knots is None:
        raise InputError(f"{who}: expected a motion to begin with, as who tackles or dodges plans against it")
    return knots
