"""Captured motion made physical: the smallest change of a clip that is dynamically possible."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from interplay.errors import InputError
from interplay.motion.clip import Clip
from interplay.spacetime.body import ROOT, Body
from interplay.spacetime.laws import Fixed, Follows
from interplay.spacetime.part import TORQUE, Course, Phase, Style
from interplay.spacetime.problem import Found, Problem, find
from interplay.spacetime.rows import course_of, phases_of, row_of
from interplay.spacetime.solving import Progress

EFFORT = 0.002
"""What torques cost beside the change of the motion: just enough to choose among the same motions' torques."""

HASTE = 1e-3
"""What their rates cost, of motors of 50 N·m, of weak ones more: captures shake, and what shakes cheats between its points."""


class Change(NamedTuple):
    """By how much a motion was changed: of joints, root mean square and worst [rad]; of the root's place, root mean square [m]."""

    joints: float
    worst: float
    root: float

    def said(self) -> dict[str, float]:
        """Return it in words."""
        names = (
            "joints off the clip, root mean square [rad]",
            "joint off the clip at worst [rad]",
            "hips off the clip, root mean square [m]",
        )
        return dict(zip(names, self, strict=True))


def hasty(body: Body) -> np.ndarray:
    """Return what rates of torques cost in motion that was captured, (n − 6,)."""
    return HASTE * (TORQUE / body.torque) ** 2


def tracking(body: Body) -> tuple[Style, np.ndarray]:
    """Return what is minimised beside the change, and what a change of each coordinate costs: places most, then trunk and legs."""
    none = np.zeros(body.n)
    weights = np.full(body.n, 30.0)
    weights[:3], weights[3:ROOT] = 300.0, 100.0
    for k, joint in enumerate(body.joints):
        if any(part in joint for part in ("wrist", "forearm", "neck", "head")):
            weights[ROOT + k] = 10.0
        if "ankle" in joint:
            weights[ROOT + k] = 3.0
    return Style(np.full(body.n - ROOT, EFFORT), hasty(body), none, none, none, force=1e-4, jerk=0.0005), weights


def physical(
    body: Body, clip: Clip, who: str | None = None, *, progress: Progress | None = None
) -> tuple[Found, Change]:
    """Return the motion nearest to a clip's that this body can make; its timing is kept: what is slower is always easier."""
    phases, course = list(phases_of(clip, who)), course_of(body, clip, who)
    if all(phase.left == phase.right == "swing" for phase in phases):
        raise InputError(
            f"clip {clip.title!r}: says of no foot that it touches the ground; expected contacts, as interplay import finds"
        )
    if len(phases) > 1 and phases[0].seconds < 0.035:  # too short to be a phase: what comes next began a moment earlier
        phases[:2] = [phases[1]._replace(seconds=phases[0].seconds + phases[1].seconds)]
    style, weights = tracking(body)
    role = row_of(body, phases, course, style).role(body, style)
    ends = np.cumsum([0.0, *(phase.seconds for phase in phases)])
    laws = [Follows(body.name, course, weights, ends), Fixed(body.name, timing=True)]
    found = find(Problem({body.name: role}, laws), sketched=True, progress=progress)
    return found, changed(found, course, phases, ends)


def changed(found: Found, course: Course, phases: list[Phase], ends: np.ndarray) -> Change:
    """Return by how much a motion was changed, at the same warped times."""
    (part,) = found.parts.values()
    times = [0.0]
    for k, phase in enumerate(part.phases):
        times += list(np.linspace(ends[k], ends[k + 1], phase.intervals + 1)[1:])
    off = found.x[part.q] - course.at(np.array(times), course.q)
    joints = off[:, ROOT:]
    root = np.linalg.norm(off[:, :3], axis=1)
    return Change(float(np.sqrt((joints**2).mean())), float(np.abs(joints).max()), float(np.sqrt((root**2).mean())))
