"""Captured motion made physical: the smallest change of a clip that is dynamically possible, of all who are in it at once.

Timing is kept, so real time is the same for all. Surfaces of two that touch in the clip stay together as long as they do, and pull at each
other by opposite forces.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import pairwise
from math import ceil
from typing import NamedTuple

import numpy as np

from interplay.errors import InputError
from interplay.motion.clip import Clip
from interplay.spacetime.body import ROOT, Body
from interplay.spacetime.clearing import ArmsClear
from interplay.spacetime.holding import BRIEF, Hand, Held, between, hold_hands
from interplay.spacetime.laws import Fixed, Follows
from interplay.spacetime.meeting import meet
from interplay.spacetime.part import TORQUE, Course, Phase, Style
from interplay.spacetime.problem import Found, Law, Problem, Role, find
from interplay.spacetime.rows import course_of, phases_of, row_of
from interplay.spacetime.solving import Progress

EFFORT = 0.002
"""What torques cost beside the change of the motion: just enough to choose among the same motions' torques."""

HASTE = 1e-3
"""What their rates cost, of motors of 50 N·m, of weak ones more: captures shake, and what shakes cheats between its points."""

EASE = 0.1
"""How many times as much as in gaits, where torques cost a hundred times as much, it costs to pull at others: with a fifth of it hands pull
half as much again, and change as little."""


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
    for k, (joint, _) in enumerate(body.does):
        if any(part in joint for part in ("wrist", "forearm", "neck", "head")):
            weights[ROOT + k] = 10.0
        if "ankle" in joint:
            weights[ROOT + k] = 3.0
    return Style(np.full(body.n - ROOT, EFFORT), hasty(body), none, none, none, force=1e-4, jerk=0.0005), weights


class Physical(NamedTuple):
    """Motions that were made physical, by how much each was changed, and who holds whom."""

    found: Found
    changes: dict[str, Change]
    held: tuple[Held, ...] = ()

    def said(self) -> dict[str, float]:
        """Return it in words."""
        several = len(self.changes) > 1
        out = {
            f"{who}: {name}" if several else name: value
            for who, change in self.changes.items()
            for name, value in change.said().items()
        }
        for held in self.held:
            out |= between(*held.hands, held.during)(self.found)
        return out


def physical(cast: Mapping[str, Body], clip: Clip, *, progress: Progress | None = None) -> Physical:
    """Return the motions nearest to a clip's, by its characters, that some bodies can make.

    Timing is kept: what is slower is always easier.
    """
    held, pulled = _held(cast, clip)
    moments, courses, phases = {t for one in held for span in one.during for t in span}, {}, {}
    for who, body in cast.items():
        courses[body.name], phases[body.name] = course_of(body, clip, who), _split(phased(clip, who), moments)
    roles, laws = dict[str, Role](), list[Law]()
    for body in cast.values():
        who = body.name
        style, weights = tracking(body)
        row = row_of(body, phases[who], courses[who], style)
        roles[who] = row.role(body, style, tuple(body.point(site) for site in pulled[who]))
        laws += [Follows(who, courses[who], weights, _ends(phases[who])), Fixed(who, timing=True)]
        laws.append(ArmsClear(who, as_begun=True))
    if held:
        laws.append(meet(*(hold_hands(*one.hands, one.during, EASE) for one in held)))
    found = find(Problem(roles, laws), sketched=True, progress=progress)
    return Physical(found, {who: changed(found, courses[who], who, phases[who]) for who in roles}, held)


def phased(clip: Clip, who: str) -> list[Phase]:
    """Return how the feet of somebody in a clip stand."""
    phases = list(phases_of(clip, who))
    if all(phase.left == phase.right == "swing" for phase in phases):
        raise InputError(
            f"clip {clip.title!r}: says of no foot of {who} that it touches the ground; expected contacts, as interplay import finds"
        )
    if len(phases) > 1 and phases[0].seconds < 0.035:  # too short to be a phase: what comes next began a moment earlier
        phases[:2] = [phases[1]._replace(seconds=phases[0].seconds + phases[1].seconds)]
    return phases


def _split(phases: list[Phase], moments: Collection[float]) -> list[Phase]:
    """Return phases that end at some moments [s], too: hands begin and cease to pull there."""
    out, end = list[Phase](), 0.0
    for phase in phases:
        begin, end = end, end + phase.seconds
        inside = sorted(t for t in moments if begin + BRIEF < t < end - BRIEF)
        for a, b in pairwise([begin, *inside, end]):
            out.append(phase._replace(intervals=max(2, ceil(phase.intervals * (b - a) / phase.seconds)), seconds=b - a))
    return out


def _ends(phases: list[Phase]) -> np.ndarray:
    return np.cumsum([0.0, *(phase.seconds for phase in phases)])


def _held(cast: Mapping[str, Body], clip: Clip) -> tuple[tuple[Held, ...], dict[str, list[str]]]:
    """Return which surfaces of two of them touch in a clip, and which of each are touched."""
    pulled: dict[str, list[str]] = {body.name: [] for body in cast.values()}
    spans: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for touch in clip.touches:
        one, other = touch.first.split("/")[0], touch.second.split("/")[0]
        if one in cast and other in cast and one != other:
            begin, end = (
                int(np.abs(clip.time - t).argmin()) for t in (touch.begin, touch.end)
            )  # as feet, from frame to frame
            if begin < end:
                during = float(clip.time[begin] - clip.time[0]), float(clip.time[end] - clip.time[0])
                spans.setdefault((touch.first, touch.second), []).append(during)
    held = []
    for surfaces, during in spans.items():
        hands, named = list[Hand](), list[str]()
        for who, _, site in (surface.partition("/") for surface in surfaces):
            body = cast[who]
            mine = pulled[body.name]
            mine += [] if site in mine else [site]
            hands.append((body.name, mine.index(site)))
            named.append(f"{body.name}/{site}")
        held.append(Held((named[0], named[1]), (hands[0], hands[1]), tuple(during)))
    return tuple(held), pulled


def changed(found: Found, course: Course, who: str, phases: list[Phase]) -> Change:
    """Return by how much a motion was changed, at the same warped times."""
    part, ends = found.parts[who], _ends(phases)
    times = [0.0]
    for k, phase in enumerate(part.phases):
        times += list(np.linspace(ends[k], ends[k + 1], phase.intervals + 1)[1:])
    off = found.x[part.q] - course.at(np.array(times), course.q)
    joints = off[:, ROOT:]
    root = np.linalg.norm(off[:, :3], axis=1)
    return Change(float(np.sqrt((joints**2).mean())), float(np.abs(joints).max()), float(np.sqrt((root**2).mean())))
