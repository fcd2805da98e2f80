"""Gaits: half a cycle and its mirror image, walked or run at a given speed, from a crude guess."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from interplay.errors import number, pick
from interplay.spacetime.blocks import Block, Kernel
from interplay.spacetime.body import ROOT, Body
from interplay.spacetime.guesses import AXIAL, SIDED, coordinate
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
        0.5: _row(_WALK, (2, 0.063), (4, 0.206), (11, 0.558), (2, 0.038)),
        0.8: _row(_WALK, (2, 0.085), (2, 0.071), (11, 0.481), (2, 0.044)),
        1.3: _row(_WALK, (3, 0.073), (2, 0.012), (10, 0.353), (4, 0.112)),
        1.8: _row(_WALK, (2, 0.043), (2, 0.010), (5, 0.152), (8, 0.239)),
        2.0: _row(_WALK, (2, 0.037), (2, 0.010), (6, 0.147), (8, 0.229)),
    },
    "run": {
        2.0: _row(_RUN, (2, 0.034), (5, 0.112), (6, 0.145), (4, 0.063)),
        3.0: _row(_RUN, (3, 0.032), (5, 0.115), (6, 0.107), (7, 0.110)),
        4.0: _row(_RUN, (3, 0.025), (7, 0.091), (7, 0.084), (14, 0.126)),
        5.0: _row(_RUN, (4, 0.027), (9, 0.074), (8, 0.064), (20, 0.136)),
    },
}
"""Phases of half a cycle, at some speeds [m/s] of a man of 1.74 m: so many intervals, and about as long as they turn out to be."""


SLOWEST, FASTEST = 0.05, {"walk": 0.95, "run": 3.0}
"""Slowest and fastest gaits, of √(g l), l being how high hips are: a walker's hips go round the foot that stands, and faster they leave it."""


def paced(body: Body, kind: str, speed: float) -> tuple[Phase, ...]:
    """Return the phases of a gait, about as long as they are at a speed."""
    size = body.pendulum
    known = pick("gait", kind, GAITS)
    unit = float(np.sqrt(body.gravity * body.scene.qpos[body.qpos_start + 2]))
    number(f"{body.name}: speed of a {kind}", speed, SLOWEST * unit, FASTEST[kind] * unit, "m/s")
    rows = list(known.values())

    def at(values: Sequence[float]) -> float:
        return float(np.interp(np.log(speed / size), np.log(list(known)), values))

    return tuple(
        same[0]._replace(intervals=round(at([p.intervals for p in same])), seconds=size * at([p.seconds for p in same]))
        for same in zip(*rows, strict=True)
    )


def guess(body: Body, phases: Sequence[Phase], speed: float) -> Course:
    """Return about what a gait is, of joints that a body has, by its speed and size; feet are not where they should be."""
    kind = "run" if phases[-1].left == SWING else "walk"
    seconds = sum(p.seconds for p in phases)
    times = np.linspace(0.0, seconds, 161)
    first, q = times / (2.0 * seconds), np.tile(body.coordinates(body.scene.qpos), (len(times), 1))

    def goes(name: str, cycle: np.ndarray) -> np.ndarray:
        return coordinate(kind, name, speed / body.pendulum, cycle)

    for k, name in enumerate(AXIAL[:ROOT]):
        q[:, k] = goes(name, first) * (body.pendulum**2 if k < 3 else 1.0)
    q[:, 0] += speed * times
    joints = {name: (name, first) for name in AXIAL[ROOT:]}
    joints |= {f"left_{name}": (name, first) for name in SIDED} | {
        f"right_{name}": (name, first + 0.5) for name in SIDED
    }
    swings = body.doing("left_shoulder_flexion") is not None
    for joint, given in joints.items():
        found = body.doing(joint)
        if found is not None and (swings or "elbow" not in joint):
            q[:, found[0]] = found[1] * goes(*given)
    return Course(times, q, np.gradient(q, times, axis=0, edge_order=2))


class Gait(NamedTuple):
    """Half a cycle that was found: its part, the values of all unknowns, the length of a step [m], how it was solved."""

    part: Part
    x: np.ndarray
    step: float
    solutions: tuple[Solution, ...]


def gait(body: Body, kind: str, speed: float, progress: Progress | None = None, meshes: int = MOST_MESHES) -> Gait:
    """Return an optimal walk or run at a speed [m/s], from nothing, on so many meshes at most."""
    phases = paced(body, kind, speed)
    role = Role(body, phases, style(body, kind, speed=speed), guess(body, phases, speed))
    found = find(Problem({body.name: role}, [half_cycle(body.name, speed)]), meshes=meshes, progress=progress)
    part = found.parts[body.name]
    ahead = found.x[part.q[-1, 0]] - found.x[part.q[0, 0]]
    return Gait(part, found.x, float(ahead), found.solutions)


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
