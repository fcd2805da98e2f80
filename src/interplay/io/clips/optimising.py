"""What is asked of bodies that follow captured persons, and the optimum of it over a whole clip."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import mujoco
import numpy as np
from scipy.interpolate import CubicSpline

from interplay.io.clips.body import Palm
from interplay.io.clips.closeness import Closeness
from interplay.io.clips.contacts import Meeting
from interplay.io.clips.footing import SIDES
from interplay.io.clips.footprints import Pins
from interplay.io.clips.persons import Person
from interplay.io.clips.solving import Asked, Item, Kinetics, Near, Tasks, Unknowns, steps
from interplay.scene.penetration import Solids

_TURN = {
    "pelvis": 4.0,
    "abdomen": 0.3,
    "chest": 3.0,
    "neck": 0.3,
    "head": 1.0,
    "hand": 0.7,
    "foot": 1.0,
    "clavicle": 0.3,
}
"""Weights of orientations [1/rad²]; others 1."""
_OURS = 30.0
"""How much more orientations count of a skeleton with our own names: they are no fit."""
_TWISTING = ("upper_arm", "forearm", "thigh", "shank")
_HIPS, _ANKLES = 300.0, 150.0
"""Weights of places [1/m²]."""
_PIN, _MEET, _FACE = 1e6, 2e5, 0.2
"""Weights of what stands [1/m²], of hands that touch, and of palms that face each other [1/rad²]."""
_LEVER = 0.05
"""How far before and behind palms [m] it is seen that they face each other."""
_SMOOTH = 0.004
"""Weight [s²] of the acceleration of what is changed."""
_ROUGHLY = 20.0
"""Frames per second of the first optimum, which is of all characters together."""
_TRIALS = (2, 1)
"""How often a step is solved for to find what limits it, exactly and roughly."""
_LEAST = 0.1
"""Least cost [1/rad²] of a change in a step: where shapes touch, what is free must not swing."""
_SWEEPS, _SETTLED, _AROUND = (4, 6), (4e-3, 0.03), 0.1
"""Most steps over a clip; a frame that changes by less [rad, m], exactly or roughly, is settled, unless one so near [s] is not."""
_SMALLEST, _FAR = 0.15, 8.0
"""A step over few frames counts as one over this part of them. Frames so much farther from settled get twice as many more."""

Progress = Callable[[float], None]


def free_items(person: Person) -> list[Item]:
    """Return what is asked of a body where nothing touches: orientations of its parts, places of hips and ankles."""
    T, body = len(person.places["left_foot"]), person.body
    one, none, no_turn = np.ones(T), np.zeros(T), np.zeros((T, 3, 3))
    items = []
    # How limbs are twisted differs between skeletons; of one with our names it is known.
    ours = all(person.capture.parts[part] == part for part in person.turns)
    for part, turn in person.turns.items():
        weight = _TURN.get(part.removeprefix("left_").removeprefix("right_"), 1.0) * (_OURS if ours else 1.0)
        bone = np.zeros(3)
        if part.endswith(_TWISTING) and part in body.bones and not ours:
            bone = body.turns[part].T @ body.bones[part]
        items.append(Item(body.ids[part], np.zeros(3), np.zeros((T, 3)), turn, none, weight * one, bone))
    hips = 0.5 * (person.places["left_thigh"] + person.places["right_thigh"])
    items.append(Item(body.ids["pelvis"], body.hips, hips, no_turn, _HIPS * one, none))
    for side in SIDES:
        ankle = Item(body.ids[f"{side}_foot"], np.zeros(3), person.places[f"{side}_foot"], no_turn, _ANKLES * one, none)
        items.append(ankle)
    return items


def surface_points(kinetics: Kinetics, surface: Palm) -> np.ndarray:
    """Return where the point of a surface is (T, 3)."""
    return kinetics.xpos[:, surface.body] + kinetics.xmat[:, surface.body] @ surface.point


def spread(T: int, fps: float, rate: float) -> np.ndarray:
    """Return frames, of T at so many a second, that are spread evenly at a lower rate; the first and the last are among them."""
    return np.round(np.linspace(0, T - 1, max(2, 1 + round((T - 1) * min(rate / fps, 1.0))))).astype(int)


def optimise(
    m: mujoco.MjModel,
    data: mujoco.MjData,
    qpos: np.ndarray,
    persons: list[Person],
    pins: list[Pins],
    meetings: list[Meeting],
    fps: float,
    progress: Progress,
) -> np.ndarray:
    """Return the optimum over all frames: feet stand, hands meet, joints are in range, limbs apart, changes smooth.

    First at a few frames a second, for all characters at once: who holds hands decides together where. Then at all frames, for
    each by itself, from there: what is left to do is little, and they meet halfway.
    """
    T, solids = len(qpos), Solids(m)
    tasks = [Tasks.of(free_items(p) + _pin_items(p, pin)) for p, pin in zip(persons, pins, strict=True)]
    few = spread(T, fps, _ROUGHLY)
    some = [meeting._replace(frames=np.flatnonzero(np.isin(few, meeting.frames))) for meeting in meetings]
    together = Unknowns(m, [person.body.dofs for person in persons])
    rough = _Optimum(m, data, solids, persons, [meeting for meeting in some if len(meeting.frames)])
    roughly = Tasks.joined([task.frames(few) for task in tasks])
    zero = np.zeros((len(few), len(together.dofs)))
    (change,) = rough.find(
        qpos[few], [(together, roughly, zero)], _ROUGHLY, lambda done: progress(0.15 + 0.35 * done), True
    )
    change = CubicSpline(few, change)(np.arange(T))
    alone, first = [], 0
    for person, task in zip(persons, tasks, strict=True):
        unknowns = Unknowns(m, [person.body.dofs])
        own = slice(first, first + len(unknowns.dofs))
        alone.append((unknowns, task, np.ascontiguousarray(change[:, own])))
        first = own.stop
    exact = _Optimum(m, data, solids, persons, meetings)
    changes = exact.find(qpos, alone, fps, lambda done: progress(0.5 + 0.5 * done))
    for (unknowns, _, _), found in zip(alone, changes, strict=True):
        qpos = unknowns.clipped(unknowns.moved(qpos, found))
    return qpos


class _Optimum:
    """Finds the optimum over some frames of a clip."""

    def __init__(
        self,
        m: mujoco.MjModel,
        data: mujoco.MjData,
        solids: Solids,
        persons: list[Person],
        meetings: list[Meeting],
    ):
        self._model, self._data, self._persons, self._meetings = m, data, persons, meetings
        touching = []
        for meeting in meetings:
            one, two = (persons[k].body.surfaces[surface].body for k, surface in meeting.sides)
            touching.append((one, two, meeting.frames))
        self._closeness = Closeness(solids, data, touching)

    def find(
        self,
        start: np.ndarray,
        given: Sequence[tuple[Unknowns, Tasks, np.ndarray]],
        fps: float,
        progress: Progress,
        rough: bool = False,
    ) -> list[np.ndarray]:
        """Return changes (T, n) of configurations, from unknowns, what is asked of them, and the changes to begin with."""
        T, smooth, share = len(start), (_SMOOTH * fps**2) ** 2, 1.0 / len(given)
        settled = _SETTLED[rough]
        asked = [Asked(*one, np.zeros_like(one[2]), _LEAST) for one in given]
        last = [np.zeros_like(one.change) for one in asked]
        kinetics, moving, swept = Kinetics.room(self._model, T), np.ones(T, bool), 0.0
        while swept < 3 * _SWEEPS[rough] and moving.any():
            qpos = start
            for one in asked:
                qpos = one.unknowns.moved(qpos, one.change)
            self._closeness.forget(moving)
            look = self._closeness.look if swept or not rough else None  # first, bodies come to where they belong
            kinetics.update(self._model, self._data, qpos, np.flatnonzero(moving).tolist(), look)
            near = Near.joined([self._closeness.near(share), *self._meeting_rows(kinetics, share)])
            found, largest = steps(asked, kinetics, qpos, near, smooth, moving, _TRIALS[rough]), np.zeros(T)
            for k, (one, step) in enumerate(zip(asked, found, strict=True)):
                # Back and forth (a knee that is almost straight, an arm on either side of a leg): slower there.
                swings = (step * last[k] < 0) & (np.abs(step) > 0.4 * np.abs(last[k])) & (np.abs(step) > settled)
                damping = np.where(swings, np.maximum(2.0 * one.damping, 0.5), 0.7 * one.damping)
                asked[k], last[k] = one._replace(change=one.change + step, damping=damping), step
                largest = np.maximum(largest, np.abs(step).max(1))
            swept += max(float(moving.mean()), _SMALLEST)
            if look is not None:
                enough = settled if swept < _SWEEPS[rough] else _FAR * settled
                moving &= _around(largest > enough, round(_AROUND * fps))
            progress(min(swept / _SWEEPS[rough], 1.0))
        return [one.change for one in asked]

    def _meeting_rows(self, kinetics: Kinetics, share: float) -> Iterator[Near]:
        """Yield what brings surfaces that touch to one place, face to face: so do points before the one and behind the other."""
        for sides, frames in self._meetings:
            surfaces = [self._persons[k].body.surfaces[surface] for k, surface in sides]
            bodies = np.tile([surface.body for surface in surfaces], (len(frames), 1)).astype(np.int64)
            for lever, weight in ((0.0, _MEET), (_LEVER, _FACE / _LEVER**2)):
                points = np.stack(
                    [
                        surface_points(kinetics, surface._replace(point=surface.point + sign * lever * surface.normal))
                        for surface, sign in zip(surfaces, (1, -1), strict=True)
                    ],
                    axis=1,
                )[frames]
                weights, held = np.full(len(frames), weight / share), np.ones(len(frames), bool)
                for axis in np.eye(3):
                    ways = share * (points[:, 0] - points[:, 1]) @ axis
                    yield Near(frames, bodies, points, np.tile(axis, (len(frames), 1)), ways, weights, held)


def _around(mask: np.ndarray, frames: int) -> np.ndarray:
    """Return a mask with so many frames more on both sides."""
    return np.convolve(mask, np.ones(2 * frames + 1), "same") > 0.5


def _pin_items(person: Person, pins: Pins) -> list[Item]:
    """Return what keeps the corners of soles where they stand."""
    out = []
    T = len(pins.weights["left"])
    for side in SIDES:
        sole = person.body.soles[side]
        for corner in range(4):
            place, weight = pins.places[side][:, corner], _PIN * pins.weights[side][:, corner]
            out.append(Item(sole.body, sole.corners[corner], place, np.zeros((T, 3, 3)), weight, np.zeros(T)))
    return out
