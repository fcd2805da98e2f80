"""Two on a collision course, who pass each other by: each has a warp of its own, and gives way as much as is best for both."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

import interplay as ip
from interplay.models.base import Model
from interplay.spacetime.actions import Gaits
from interplay.spacetime.avoiding import keep_apart
from interplay.spacetime.body import Body
from interplay.spacetime.laws import Given
from interplay.spacetime.looking import look
from interplay.spacetime.meeting import meet
from interplay.spacetime.problem import BEGIN, END, Found, Law, Problem, Role, find
from interplay.spacetime.rows import Row
from interplay.spacetime.solving import Progress
from interplay.spacetime.splicing import headed, meshed, placed, walked
from interplay.spacetime.styles import style

GIVES_WAY = 0.32
"""How far each is guessed to give way in the middle [m]."""


class Passer(NamedTuple):
    """Who passes: how fast [m/s], and heading where [rad]."""

    name: str
    model: Model
    speed: float
    heading: float


def pass_by(
    passers: Sequence[Passer], steps: int = 4, margin: float = 0.1, progress: Progress | None = None, meshes: int = 3
) -> Found:
    """Return two who would meet in the middle of their ways, and are where they would be alone at the end."""
    scene = ip.Scene()
    for k, one in enumerate(passers):
        scene = scene.add(one.model, one.name, pos=(3.0 * k, 0.0))
    bodies = [Body(scene, one.name) for one in passers]
    rows = [walked(Gaits(b, progress), "walk", p.speed, steps) for b, p in zip(bodies, passers, strict=True)]
    seconds = float(np.mean([sum(phase.seconds for phase in row.phases) for row in rows]))
    ahead = [np.array([np.cos(one.heading), np.sin(one.heading)]) for one in passers]
    between = ahead[0] - ahead[1]
    aside = np.array([between[1], -between[0]]) / max(float(np.linalg.norm(between)), 1e-9)
    roles: dict[str, Role] = {}
    laws: list[Law] = []
    for one, body, row, sign in zip(passers, bodies, rows, (1.0, -1.0), strict=True):
        mine = placed(meshed(row, seconds), one.heading)
        first, last = (mine.knots.q[k].copy() for k in (0, -1))
        laws.append(Given(one.name, BEGIN, first, mine.knots.v[0].copy()))
        laws.append(Given(one.name, END, last, mine.knots.v[-1].copy()))
        roles[one.name] = aside_of(mine, sign * GIVES_WAY * aside).role(body, headed(style(body), one.heading))
    names = [one.name for one in passers]
    glances = [look(names[0], names[1], 0.2), look(names[1], names[0], 0.2)]
    laws.append(meet(keep_apart(names[0], names[1], near=0.4, margin=margin), *glances, seconds=seconds))
    return find(Problem(roles, laws), meshes=meshes, progress=progress)


def aside_of(row: Row, far: np.ndarray) -> Row:
    """Return a way that is so far (x, y) aside in its middle."""
    q, v = row.knots.q.copy(), row.knots.v.copy()
    times = np.concatenate([[0.0], np.cumsum(np.repeat(row.knots.rate, [p.intervals for p in row.phases]))])
    u = times / times[-1]
    bump, slope = 16 * (u * (1 - u)) ** 2, 32 * u * (1 - u) * (1 - 2 * u) / times[-1]
    q[:, :2] += bump[:, None] * far
    v[:, :2] += slope[:, None] * far
    return row._replace(knots=row.knots._replace(q=q, v=v))
