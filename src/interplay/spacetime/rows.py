"""Rows: motions as phases and what is at their knots, that are mirrored, moved, bent and put one after another; also from clips."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from interplay.errors import InputError
from interplay.motion.clip import Clip
from interplay.spacetime.body import SIDES, Body, Point
from interplay.spacetime.ends import Knots, knots_of, moved, place_of
from interplay.spacetime.part import FLAT, GAUSS, HEEL, SWING, TOE, Course, Part, Phase, Style, hermite
from interplay.spacetime.problem import Role

OTHER = {"left": "right", "right": "left"}
MIRROR = np.array([1.0, -1.0, 1.0])
FADES = 0.15
"""How long it takes until a row is as it would be alone, before and after it is joined with another [s]."""
INTERVAL, SHORTEST = 0.03, 0.035
"""About how long an interval of a clip is, and how short a phase of one may be [s]: what is shorter goes with the one before it."""


class Row(NamedTuple):
    """A motion: its phases, and what is at their knots."""

    phases: tuple[Phase, ...]
    knots: Knots

    @staticmethod
    def found(part: Part, x: np.ndarray) -> Row:
        """Return what was found of a part."""
        knots = knots_of(part, x)
        seconds = knots.rate * [phase.intervals for phase in part.phases]
        return Row(tuple(p._replace(seconds=float(s)) for p, s in zip(part.phases, seconds, strict=True)), knots)

    def role(self, body: Body, style: Style, pulled: tuple[Point, ...] = ()) -> Role:
        """Return it as what a role begins with, at some of whose points others may pull."""
        knots = self.knots._replace(pull=np.zeros((len(self.knots.tau), len(pulled), 3)))
        return Role(body, self.phases, style, knots.course(self.phases), knots, pulled)

    def on(self, intervals: Sequence[int]) -> Row:
        """Return it on another mesh."""
        phases = tuple(p._replace(intervals=int(k)) for p, k in zip(self.phases, intervals, strict=True))
        return Row(phases, self.knots.on(self.phases, phases))

    def mirrored(self, body: Body) -> Row:
        """Return its mirror image along the x axis."""
        order, sign = body.mirror()
        q, v, _, tau, force, pull = self.knots
        tau = sign[6:] * tau[:, order[6:] - 6]
        force = force[:, ::-1][:, :, [1, 0, 3, 2]] * MIRROR
        phases = tuple(p._replace(left=p.right, right=p.left) for p in self.phases)
        there = Knots(sign * q[:, order], sign * v[:, order], self.knots.rate, tau, force, pull * MIRROR)
        return Row(phases, there)

    def then(self, other: Row) -> Row:
        """Return it and another one after it, which begins where it ends and heads there; what they are off is halved, and fades.

        Such a motion need not keep to its contacts (liu2006, 6.1): it is only one to begin with.
        """
        after = moved(other.knots, place_of(other.knots.q[0]), place_of(self.knots.q[-1]))
        off = after.q[0] - self.knots.q[-1], after.v[0] - self.knots.v[-1]
        before = Row(self.phases, self.knots)._faded(0.5 * off[0], 0.5 * off[1], -1)
        after = Row(other.phases, after)._faded(-0.5 * off[0], -0.5 * off[1], 0)
        return Row((*self.phases, *other.phases), Knots.joined([before, after]))

    def _faded(self, q: np.ndarray, v: np.ndarray, knot: int) -> Knots:
        """Return what is at its knots with so much more at the first or last knot, and less and less until nothing `FADES` later."""
        time = self.knots.course(self.phases).time
        off = time - time[knot]
        u = np.clip(np.abs(off) / FADES, 0.0, 1.0)[:, None]
        more, _, _ = hermite(q, np.sign(off.sum()) * FADES * v, 0.0 * q, 0.0 * v, u)
        _, slope, _ = hermite(np.sign(off.sum()) * q / FADES, v, 0.0 * q, 0.0 * v, u)
        return self.knots._replace(q=self.knots.q + more, v=self.knots.v + slope * (u < 1.0))

    def ramped(self, factor: float) -> Row:
        """Return it begun so many times as slowly as it goes: all takes longer, the less, the farther along it is."""
        ends, knots = np.cumsum([0, *(phase.intervals for phase in self.phases)]), self.knots
        share = (knots.q[:, 0] - knots.q[0, 0]) / (knots.q[-1, 0] - knots.q[0, 0])
        longer = 1.0 / (1.0 / factor + (1.0 - 1.0 / factor) * share)
        old = knots.course(self.phases).time
        new = np.concatenate([[0.0], np.cumsum(np.diff(old) * (longer[1:] + longer[:-1]) / 2)])
        phases = tuple(p._replace(seconds=float(s)) for p, s in zip(self.phases, np.diff(new[ends]), strict=True))
        even = np.concatenate([[0.0], *(np.linspace(new[a], new[b], b - a + 1)[1:] for a, b in pairwise(ends))])
        there, points = (
            knots.at(old, np.interp(even, new, old)),
            (even[:-1, None] + np.diff(even)[:, None] * np.array(GAUSS)).ravel(),
        )
        at_points = knots.at_points(old, np.interp(points, new, old))
        v = there[1] / np.interp(even, new, longer)[:, None]
        return Row(phases, Knots(there[0], v, np.array([p.seconds / p.intervals for p in phases]), *at_points))

    def repeated(self, body: Body, count: int) -> Row:
        """Return it and its mirror image in turn, so many in all, each where the one before ends."""
        halves, pieces = (self, self.mirrored(body)), [self.knots]
        for k in range(1, count):
            knots = halves[k % 2].knots
            pieces.append(moved(knots, place_of(knots.q[0]), place_of(pieces[-1].q[-1])))
        return Row(tuple(p for k in range(count) for p in halves[k % 2].phases), Knots.joined(pieces))

    def bent(self, angle: float) -> Row:
        """Return it along a curve: its heading turns by an angle [rad] from its beginning to its end."""
        q, v, force = (one.copy() for one in (self.knots.q, self.knots.v, self.knots.force))
        time = self.knots.course(self.phases).time
        turn = angle * time / time[-1]
        c, s = np.cos(turn), np.sin(turn)
        ahead = np.diff(self.knots.q[:, :2], axis=0)
        cm, sm = (c[1:] + c[:-1]) / 2, (s[1:] + s[:-1]) / 2
        path = np.stack([cm * ahead[:, 0] - sm * ahead[:, 1], sm * ahead[:, 0] + cm * ahead[:, 1]], axis=1)
        q[1:, :2] = q[0, :2] + np.cumsum(path, axis=0)
        q[:, 3] += turn
        v[:, :2] = np.stack([c * v[:, 0] - s * v[:, 1], s * v[:, 0] + c * v[:, 1]], axis=1)
        v[:, 3] += angle / time[-1]
        points = turn[:-1, None] + np.diff(turn)[:, None] * np.array(GAUSS)
        c, s = (of(points).reshape(-1, 1, 1) for of in (np.cos, np.sin))
        force[..., 0], force[..., 1] = c * force[..., 0] - s * force[..., 1], s * force[..., 0] + c * force[..., 1]
        return Row(self.phases, self.knots._replace(q=q, v=v, force=force))


def row_of(body: Body, phases: Sequence[Phase], course: Course, style: Style) -> Row:
    """Return a motion over real time as a row of phases."""
    from interplay.spacetime.blocks import Unknowns

    unknowns = Unknowns()
    part = Part(body, phases, style, unknowns, course)
    return Row(tuple(phases), knots_of(part, unknowns.guess))


def course_of(body: Body, clip: Clip, who: str | None = None) -> Course:
    """Return a character of a clip as coordinates of a body that has its joints; rates are those of a smooth path through frames."""
    names = list(clip.motions)
    who = who or names[0]
    if who not in clip.motions:
        raise InputError(f"clip {clip.title!r}: has no character {who!r}; expected one of {', '.join(names)}")
    alone = Clip(clip.time, {body.name: clip.motions[who]}, (), clip.title, clip.source)
    qpos = alone.configurations(body.scene)
    q = np.array([body.coordinates(one) for one in qpos])
    q[:, 3] = np.unwrap(q[:, 3])
    time = clip.time - clip.time[0]
    return Course(time, _smooth(q, time), np.gradient(_smooth(q, time), time, axis=0))


def _smooth(q: np.ndarray, time: np.ndarray, seconds: float = 0.05) -> np.ndarray:
    """Return paths without what is faster than about a tenth of a second: captures shake."""
    width = max(int(seconds / float(np.median(np.diff(time)))), 1)
    window = np.hanning(2 * width + 1)
    padded = np.concatenate([2 * q[:1] - q[width:0:-1], q, 2 * q[-1:] - q[-2 : -width - 2 : -1]])
    return np.stack([np.convolve(c, window / window.sum(), mode="valid") for c in padded.T], axis=1)


def phases_of(clip: Clip, who: str | None = None) -> tuple[Phase, ...]:
    """Return how feet stand in a clip, by what touches the ground: heels, soles, toes."""
    who = who or next(iter(clip.motions))
    time = clip.time - clip.time[0]
    modes = []
    for side in SIDES:
        heel, sole, toes = (clip.touching(f"{who}/{side}_{part}", "ground") for part in ("heel", "sole", "toes"))
        modes.append(np.where(sole | (heel & toes), FLAT, np.where(heel, HEEL, np.where(toes, TOE, SWING))))
    changes = [0, *(1 + np.flatnonzero((modes[0][1:] != modes[0][:-1]) | (modes[1][1:] != modes[1][:-1])))]
    starts: list[int] = []
    for frame in changes:
        end = next((c for c in changes if c > frame), len(time) - 1)
        if not starts or time[end] - time[frame] >= SHORTEST:
            starts.append(int(frame))
    out: list[Phase] = []
    for k, frame in enumerate(starts):
        end = starts[k + 1] if k + 1 < len(starts) else len(time) - 1
        seconds = float(time[end] - time[frame])
        out.append(Phase(max(2, int(np.ceil(seconds / INTERVAL))), seconds, str(modes[0][frame]), str(modes[1][frame])))
    return tuple(out)
