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


def _row(modes: Sequence[tuple[str, str]], *long: tuple[int, float]) -> tuple[Phase, ...]:
    return tuple(Phase(count, seconds, *feet) for (count, seconds), feet in zip(long, modes, strict=True))


_WALK = ((HEEL, TOE), (FLAT, TOE), (FLAT, SWING), (TOE, SWING))
_RUN = ((HEEL, SWING), (FLAT, SWING), (TOE, SWING), (SWING, SWING))

GAITS = {
    "walk": {
        0.5: _row(_WALK, (3, 0.080), (6, 0.170), (19, 0.54), (2, 0.03)),
        0.8: _row(_WALK, (4, 0.085), (3, 0.080), (16, 0.47), (2, 0.04)),
        1.3: _row(_WALK, (3, 0.075), (2, 0.015), (12, 0.37), (5, 0.12)),
        1.8: _row(_WALK, (2, 0.045), (2, 0.010), (7, 0.20), (7, 0.22)),
    },
    "run": {
        2.0: _row(_RUN, (2, 0.040), (5, 0.115), (6, 0.185), (4, 0.05)),
        3.0: _row(_RUN, (3, 0.032), (4, 0.100), (7, 0.150), (8, 0.08)),
        4.0: _row(_RUN, (3, 0.030), (5, 0.090), (9, 0.105), (11, 0.10)),
        5.0: _row(_RUN, (3, 0.028), (6, 0.070), (9, 0.080), (12, 0.115)),
    },
}
"""Phases of half a cycle, at some speeds [m/s] of a man of 1.74 m: so many intervals, and about as long as they turn out to be."""
DIRECTLY = {"walk": np.inf, "run": 3.5}
"""Up to what speed [m/s] a crude guess leads to a good gait; faster ones begin with that (from crude guesses legs whip)."""
QUICKER = 0.45
"""By which power of a change of speed steps are quicker, in the guess; the rest is longer steps."""
BEND, LOADS = {"walk": 0.7, "run": 1.1}, {"walk": 0.0, "run": 0.4}
"""How far knees bend as they pass, and under load, in the guess [rad]."""
ARMS = {"walk": (0.4, 0.0), "run": (1.6, -0.35)}
"""How elbows are bent, and arms held back, in the guess [rad]."""


def pendulum(body: Body) -> float:
    """Return how long what swings takes, of what it takes with a man of 1.74 m."""
    return float(np.sqrt(body.scene.qpos[body.qpos_start + 2] / 0.9))


def paced(body: Body, kind: str, speed: float) -> tuple[Phase, ...]:
    """Return the phases of a gait, about as long as they are at a speed."""
    size = pendulum(body)
    known = pick("gait", kind, GAITS)
    rows = list(known.values())

    def at(values: Sequence[float]) -> float:
        return float(np.interp(np.log(speed / size), np.log(list(known)), values))

    return tuple(
        same[0]._replace(intervals=round(at([p.intervals for p in same])), seconds=size * at([p.seconds for p in same]))
        for same in zip(*rows, strict=True)
    )


def guess(body: Body, phases: Sequence[Phase], speed: float) -> Course:
    """Return a crude gait: legs swing by a sine, knees bend as they pass, arms swing against them."""
    kind = "run" if phases[-1].left == SWING else "walk"
    seconds, stands = sum(p.seconds for p in phases), sum(p.seconds for p in phases if p.left != SWING)
    times = np.linspace(0.0, seconds, 41)
    q = np.tile(body.coordinates(body.scene.qpos), (len(times), 1))
    q[:, 0] = speed * times
    swing, stance = np.pi * times / seconds, np.pi * np.minimum(times / stands, 1.0)
    reach = float(np.clip(0.5 * speed * stands / (0.9 * q[0, 2]), 0.1, 0.6))
    elbow, back = ARMS[kind]
    angles = {
        "left_hip_flexion": 0.1 + reach * np.cos(stance),
        "left_knee_flexion": 0.2 + LOADS[kind] * np.sin(stance),
        "left_ankle_flexion": LOADS[kind] * np.sin(stance),
        "right_hip_flexion": 0.1 - reach * np.cos(swing) + 0.3 * np.sin(swing),
        "right_knee_flexion": 0.2 + BEND[kind] * np.sin(swing),
        "right_ankle_flexion": 0.0,
        "left_shoulder_flexion": back - 0.4 * reach * np.cos(swing),
        "right_shoulder_flexion": back + 0.4 * reach * np.cos(swing),
        "left_elbow_flexion": elbow,
        "right_elbow_flexion": elbow,
    }
    for joint, angle in angles.items():
        q[:, ROOT + body.joints.index(joint)] = angle
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
    phases, earlier = paced(body, kind, speed), ()
    slower = DIRECTLY[kind] * pendulum(body)
    if speed > slower:
        before = gait(body, kind, slower, progress, meshes=1)
        begin, earlier = hurried(before, speed / slower), before.solutions
    else:
        begin = guess(body, phases, speed)
    role = Role(body, phases, style(body, kind), begin)
    found = find(Problem({body.name: role}, [half_cycle(body.name, speed)]), meshes=meshes, progress=progress)
    part = found.parts[body.name]
    ahead = found.x[part.q[-1, 0]] - found.x[part.q[0, 0]]
    return Gait(part, found.x, float(ahead), (*earlier, *found.solutions))


def hurried(gait: Gait, share: float) -> Course:
    """Return a gait as a guess of one so many times as fast: about half of that by longer steps, half by quicker ones."""
    part, x = gait.part, gait.x
    longer, slower = share ** (1.0 - QUICKER), share**-QUICKER
    course = part.course(x, np.linspace(0.0, part.times(x)[-1], 81))[0]
    q, v = course.q.copy(), course.v / slower
    for one in (q, v):
        one[:, 0] *= longer
    return course._replace(time=slower * course.time, q=q, v=v)


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
