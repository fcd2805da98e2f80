"""Contests: tacklers run at a target who walks, and each plans anew, later and later, what is left (liu2006, section 6.3)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

import interplay as ip
from interplay.models.base import Model
from interplay.spacetime.actions import Gaits
from interplay.spacetime.avoiding import keep_apart
from interplay.spacetime.body import Body
from interplay.spacetime.checking import overlap, sampled
from interplay.spacetime.laws import Given
from interplay.spacetime.looking import look
from interplay.spacetime.meeting import Bond, meet
from interplay.spacetime.problem import BEGIN, END, Found, Law, Problem, Role, find
from interplay.spacetime.solving import Progress
from interplay.spacetime.splicing import headed, meshed, placed, walked
from interplay.spacetime.styles import style
from interplay.spacetime.tackling import HIT, STRUCK, Horizon, dodge, gap, sphere, sphere_gap, tackle

REACH = 0.32
"""How far the middle of a tackler is from the middle of whom he hits, where his way is guessed to end [m]."""
TURNING = 0.5
"""What it costs who swerves to turn off the way [1/rad²]."""
LEANING = 0.2
"""What it costs who tackles to lean [1/rad²]."""
MEANT = (
    ("chest", "left_upper_arm", "right_upper_arm", "left_forearm", "right_forearm", "left_hand", "right_hand"),
    (
        "pelvis",
        "abdomen",
        "chest",
        "left_upper_arm",
        "right_upper_arm",
        "left_forearm",
        "right_forearm",
        "left_hand",
        "right_hand",
    ),
)
"""Which links of a tackler, and of whom he hits, touch on purpose."""


class Tackler(NamedTuple):
    """Who tackles: how fast he runs [m/s], and from which side: where he comes from, as an angle from her way [rad]."""

    name: str
    model: Model
    speed: float
    side: float


class Contest(NamedTuple):
    """What was found, who hits whom with what on purpose, and when they meet [s]."""

    found: Found
    touching: list[tuple[str, str]]
    seconds: float


def contest(
    target: tuple[str, Model, float],
    tacklers: Sequence[Tackler],
    last: str,
    *,
    steps: int = 3,
    hit: float = 2.0,
    margin: float = 0.2,
    cycles: int = 1,
    progress: Progress | None = None,
) -> Contest:
    """Return tacklers who run at a target that walks (name, model, speed [m/s]); who adjusts ``last`` decides.

    ``hit``: at which speed he meets her [m/s]; ``margin``: how far out of his bounding sphere she gets [m].
    """
    she, model, speed = target
    scene = ip.Scene().add(model, she)
    for k, one in enumerate(tacklers):
        scene = scene.add(one.model, one.name, pos=(3.0 + k, 3.0))
    body = Body(scene, she)
    row = walked(Gaits(body, progress), "walk", speed, steps)
    seconds = sum(phase.seconds for phase in row.phases)
    row = meshed(row, seconds)
    roles: dict[str, Role] = {she: row.role(body, headed(style(body), 0.0, TURNING))}
    knots = row.knots
    laws: list[Law] = [
        Given(she, BEGIN, knots.q[0].copy(), knots.v[0].copy()),
        Given(she, END, knots.q[-1].copy(), knots.v[-1].copy(), free=(0, 1, 3)),
    ]
    bonds: list[Bond] = []
    but = dict.fromkeys(((a, b) for a in MEANT[0] for b in MEANT[1]), 0.0)
    for one in tacklers:
        his = Body(scene, one.name)
        gaits = Gaits(his, progress)
        half = gaits.half("run", one.speed)
        count = max(2, round(seconds / sum(phase.seconds for phase in half.phases)))
        run = meshed(walked(gaits, "run", one.speed, count), seconds)
        heading = one.side + np.pi
        way = np.array([np.cos(heading), np.sin(heading)])
        run = placed(run, heading, end=knots.q[-1, :2] - REACH * way)
        roles[one.name] = run.role(his, headed(style(his, "run"), heading, TURNING, LEANING))
        laws.append(Given(one.name, BEGIN, run.knots.q[0].copy(), run.knots.v[0].copy()))
        bonds += [tackle(one.name, she, hit), dodge(she, one.name, margin), keep_apart(one.name, she, but, near=0.5)]
        bonds += [look(one.name, she, 0.3), look(she, one.name, 0.1 / len(tacklers))]
    names = [one.name for one in tacklers]
    bonds += [keep_apart(a, b, near=0.5) for k, a in enumerate(names) for b in names[k + 1 :]]
    laws.append(meet(*bonds, seconds=seconds))
    found = find(Problem(roles, laws), Horizon((*names, she), last, cycles), progress=progress)
    touching = [(f"{one}/{a}", f"{she}/{b}") for one in names for a, b in but]
    return Contest(found, touching, seconds)


def outcome(contest: Contest, she: str, tacklers: Sequence[str]) -> dict[str, float]:
    """Return how near each tackler gets at the collision time: gap of trunks and to his bounding sphere [m], speed [m/s], depth [m]."""
    found = contest.found
    out: dict[str, float] = {}
    ends = {who: (found.x[part.q[-1]], found.x[part.v[-1]]) for who, part in found.parts.items()}
    for he in tacklers:
        bodies = found.parts[he].body, found.parts[she].body
        far, closing = gap(bodies, ends[he], ends[she])
        centre, radius = sphere(bodies[0], ends[he][0])
        out[f"{he}: {HIT} from {she}'s {STRUCK} [m]"] = far
        out[f"{he}: closing speed [m/s]"] = closing
        out[f"{she} outside {he}'s bounding sphere [m]"] = sphere_gap(bodies[1], ends[she][0], centre, radius)
    scene = found.parts[she].body.scene
    times = np.linspace(0.0, contest.seconds, 200)
    qpos = np.tile(scene.qpos, (len(times), 1))
    for part in found.parts.values():
        own = slice(part.body.qpos_start, part.body.qpos_start + part.body.n + 1)
        qpos[:, own] = sampled(part, found.x, times).qpos[:, own]
    out["deepest overlap of all, with what touches on purpose [m]"] = overlap(scene, qpos, list(found.parts.values()))
    return out
