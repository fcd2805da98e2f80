"""Gaits: half a cycle and its mirror image, walked or run at a given speed, from a crude guess."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from interplay.errors import pick
from interplay.spacetime.blocks import Block, Kernel
from interplay.spacetime.body import ROOT, Body
from interplay.spacetime.part import FLAT, HEEL, MIRRORED, SWING, TOE, Course, Part, Phase
from interplay.spacetime.problem import MOST_MESHES, Law, Problem, Role, Stage, find
from interplay.spacetime.solving import Progress, Solution
from interplay.spacetime.styles import style

WALK = (
    Phase(3, 0.08, HEEL, TOE),
    Phase(2, 0.04, FLAT, TOE),
    Phase(12, 0.34, FLAT, SWING),
    Phase(5, 0.13, TOE, SWING),
)
RUN = (
    Phase(3, 0.04, HEEL, SWING),
    Phase(4, 0.08, FLAT, SWING),
    Phase(7, 0.14, TOE, SWING),
    Phase(8, 0.12, SWING, SWING),
)


GAITS = {"walk": WALK, "run": RUN}
USUAL = {"walk": 1.3, "run": 3.0}
"""At what speed [m/s] a man of 1.74 m takes about as long as they say."""
APART = {"walk": 0.5, "run": 1.0}
"""By how much an unusual speed is off that of the gait it begins with [m/s]."""
QUICKER = 0.45
"""By which power of a change of speed steps are quicker, in the guess; the rest is longer steps."""
BEND = {"walk": 0.7, "run": 1.1}
"""How far knees bend as they pass, in the guess [rad]."""


def pendulum(body: Body) -> float:
    """Return how long what swings takes, of what it takes with a man of 1.74 m."""
    return float(np.sqrt(body.scene.qpos[body.qpos_start + 2] / 0.9))


def paced(body: Body, kind: str, speed: float) -> tuple[Phase, ...]:
    """Return the phases of a gait, about as long as they are at a speed: feet stand for a shorter time at a higher one."""
    size = pendulum(body)
    faster = speed / size / USUAL[kind]
    stands, floats = faster ** (-0.5 if kind == "walk" else -0.6), faster**0.4
    return tuple(
        p._replace(seconds=p.seconds * size * (floats if p.left == p.right == SWING else stands))
        for p in pick("gait", kind, GAITS)
    )


def guess(body: Body, phases: Sequence[Phase], speed: float) -> Course:
    """Return a crude gait: legs swing by a sine, knees bend as they pass, arms swing against them."""
    bend = BEND["run" if phases[-1].left == SWING else "walk"]
    seconds = sum(p.seconds for p in phases)
    times = np.linspace(0.0, seconds, 41)
    q = np.tile(body.coordinates(body.scene.qpos), (len(times), 1))
    q[:, 0] = speed * times
    turn = np.pi * times / seconds
    reach = float(np.clip(0.5 * speed * seconds / (0.9 * q[0, 2]), 0.1, 0.6))
    index = {joint: ROOT + k for k, joint in enumerate(body.joints)}
    for side, sign in (("left", 1.0), ("right", -1.0)):
        swing = np.clip(np.sin(turn), 0, 1) * (side == "right")
        q[:, index[f"{side}_hip_flexion"]] = sign * reach * np.cos(turn) + 0.1 + 0.3 * swing
        q[:, index[f"{side}_knee_flexion"]] = 0.2 + bend * swing
        q[:, index[f"{side}_ankle_flexion"]] = 0.0
        q[:, index[f"{side}_shoulder_flexion"]] = -sign * 0.4 * reach * np.cos(turn)
        q[:, index[f"{side}_elbow_flexion"]] = 0.5
    q[:, 2] -= 0.03
    return Course(times, q, np.gradient(q, times, axis=0))


class Gait(NamedTuple):
    """Half a cycle that was found: its part, the values of all unknowns, the length of a step [m], how it was solved."""

    part: Part
    x: np.ndarray
    step: float
    solutions: tuple[Solution, ...]


def gait(body: Body, kind: str, speed: float, progress: Progress | None = None, meshes: int = MOST_MESHES) -> Gait:
    """Return an optimal walk or run at a speed [m/s], from nothing, on so many meshes at most."""
    off = speed - USUAL[kind] * pendulum(body)
    if abs(off) > 0.75 * APART[kind]:  # from crude guesses come leaps of three metres, or nothing
        nearer = speed - float(np.copysign(APART[kind], off))
        before = gait(body, kind, nearer, progress, meshes=1)
        phases, begin, earlier = *hurried(before, speed / nearer), before.solutions
    else:
        phases, earlier = paced(body, kind, speed), ()
        begin = guess(body, phases, speed)
    role = Role(body, phases, style(body, kind), begin)
    found = find(Problem({body.name: role}, [half_cycle(body.name, speed)]), meshes=meshes, progress=progress)
    part = found.parts[body.name]
    ahead = found.x[part.q[-1, 0]] - found.x[part.q[0, 0]]
    return Gait(part, found.x, float(ahead), (*earlier, *found.solutions))


def hurried(gait: Gait, share: float) -> tuple[tuple[Phase, ...], Course]:
    """Return a gait as a guess of one so many times as fast: about half of that by longer steps, half by quicker ones."""
    part, x = gait.part, gait.x
    longer, slower = share ** (1.0 - QUICKER), share**-QUICKER
    phases = tuple(p._replace(seconds=slower * float(x[part.rate[k]]) * p.intervals) for k, p in enumerate(part.phases))
    course = part.course(x, np.linspace(0.0, part.times(x)[-1], 81))[0]
    q, v = course.q.copy(), course.v / slower
    for one in (q, v):
        one[:, 0] *= longer
    return phases, course._replace(time=slower * course.time, q=q, v=v)


def half_cycle(who: str, speed: float) -> Law:
    """Return the law that makes a part half a cycle at a speed [m/s], which its mirror image follows."""

    def law(stage: Stage) -> list[Block]:
        part = stage.parts[who]
        part.wraps = MIRRORED
        if part.phases[-1].left == SWING:
            part.before["right"] = part.phases[-1].intervals
            part.after["left"] = part.intervals
        step = stage.unknowns.add("step", np.array([speed * sum(p.seconds for p in part.phases)]), 0.05, 3.0)
        return mirrored(part, step, speed)

    return law


def mirrored(part: Part, step: np.ndarray, speed: float) -> list[Block]:
    """Return what makes half a cycle one: its end is the mirror image of its beginning, a step ahead."""
    n, unknowns = part.body.n, part.unknowns
    part.given.add(part.intervals)
    order, sign = part.body.mirror()
    unknowns.low[part.q[0, 0]] = unknowns.high[part.q[0, 0]] = 0.0
    ahead = np.zeros(n)
    ahead[0] = 1.0

    def inner(y: Any, c: Any) -> tuple[Any, Any]:
        first, last, v0, v1, d = y[:n], y[n : 2 * n], y[2 * n : 3 * n], y[3 * n : 4 * n], y[-1]
        image, slopes = ca.DM(sign) * first[order.tolist()], ca.DM(sign) * v0[order.tolist()]
        return 0, ca.vertcat(last - image - ca.DM(ahead) * d, v1 - slopes)

    def travels(y: Any, c: Any) -> tuple[Any, Any]:
        return 0, y[0] - speed * y[1]

    where = np.concatenate([part.q[0], part.q[-1], part.v[0], part.v[-1], step])[None]
    zero = np.zeros((1, 2 * n))
    pace = np.concatenate([step, part.span])[None]
    one = np.zeros((1, 1))
    return [
        Block(Kernel("mirror", where.size, 0, inner), where, np.zeros((1, 0)), zero, zero, lambda p, r: "half a cycle"),
        Block(Kernel("pace", 2, 0, travels), pace, np.zeros((1, 0)), one, one, lambda p, r: "speed"),
    ]
