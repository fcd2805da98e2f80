"""Retargeting: captured persons move bodies of ours. Proportions are fitted, contacts kept, joints in range, limbs out of each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import mujoco
import numpy as np
from scipy.interpolate import CubicSpline
from scipy.signal import savgol_filter

from interplay.io.clips.capture import Capture
from interplay.io.clips.contacts import Meeting, find_meetings
from interplay.io.clips.footprints import Pins, find_pins
from interplay.io.clips.optimising import Progress, free_items, optimise, spread, surface_points
from interplay.io.clips.persons import Person, prepare
from interplay.io.clips.solving import NOTHING_NEAR, Asked, Tasks, Unknowns, kinetics_of, steps
from interplay.maths.rotations import continuous
from interplay.motion.clip import Touch
from interplay.scene.scene import Scene

_KNOTS = 15.0
"""Frames per second of the first guess."""
_MOMENT, _NOISE = 0.05, 4e-4
"""What is quicker than this [s] is noise, where there is as much of it [rad] at half of all times: captured motion has twice that."""
_FARTHEST_SHIFT = 0.5


class Retargeted(NamedTuple):
    """Configurations (T, nq) of a scene, its persons, where feet stand, and who touches whom."""

    qpos: np.ndarray
    persons: list[Person]
    pins: list[Pins]
    meetings: list[Meeting]


def retarget(
    captures: Sequence[Capture],
    scene: Scene,
    names: Sequence[str],
    contacts: Sequence[Touch] | None = None,
    progress: Progress = lambda done: None,
) -> Retargeted:
    """Return the motion of the named characters of a scene that follows captured persons.

    Args:
        captures: one for each character, in one common frame.
        scene: holds the characters.
        names: of the characters.
        contacts: ``Touch`` of a clip to be kept in place of those that are found.
        progress: is told how much is done.
    """
    persons = prepare(captures, scene, names)
    time = captures[0].time[: len(persons[0].places["left_foot"])]
    fps = 1.0 / float(np.median(np.diff(time)))
    m = scene.model
    data = mujoco.MjData(m)
    alone = [Unknowns(m, [person.body.dofs]) for person in persons]
    qpos = np.repeat(scene.qpos[None], len(time), axis=0)
    for k, (person, unknowns) in enumerate(zip(persons, alone, strict=True)):
        qpos = _first_guess(m, data, qpos, person, unknowns, fps)
        progress(0.15 * (k + 1) / len(persons))
    meetings = find_meetings(persons, names, time, contacts)
    persons, qpos = _brought_together(m, data, qpos, persons, alone, meetings)
    pins = [find_pins(person, time, contacts) for person in persons]
    qpos = optimise(m, data, qpos, persons, pins, meetings, fps, progress)
    return Retargeted(qpos, persons, pins, meetings)


def _first_guess(
    m: mujoco.MjModel, data: mujoco.MjData, qpos: np.ndarray, person: Person, unknowns: Unknowns, fps: float
) -> np.ndarray:
    """Return configurations that follow a person where nothing touches: one after another at some frames, then all together."""
    tasks, T = Tasks.of(free_items(person)), len(qpos)

    def improved(at: np.ndarray, frames: np.ndarray, trials: int, slower: float = 0.0) -> np.ndarray:
        """Return configurations of some frames after a few steps."""
        asked, change = tasks.frames(frames), np.zeros((len(frames), len(unknowns.dofs)))
        for _ in range(trials):
            one = Asked(unknowns, asked, change, change + slower)
            (step,) = steps([one], kinetics_of(m, data, at), at, NOTHING_NEAR, 0.0)
            at = unknowns.moved(at, step)
            if np.abs(step).max() < 2e-3:
                break
        return at

    at, r = qpos[:1].copy(), unknowns.roots[0][0]
    pelvis = person.body.ids["pelvis"]
    at[0, r : r + 3] = person.places["left_thigh"][0]
    if m.body_rootid[pelvis] == pelvis:
        mujoco.mju_mat2Quat(at[0, r + 3 : r + 7], np.ascontiguousarray(person.turns["pelvis"][0]).reshape(-1))
    at = improved(at, np.zeros(1, int), 30, slower=0.1)
    knots, found = spread(T, fps, _KNOTS), []
    for k, t in enumerate(knots):
        at = improved(at, np.array([t]), 30 if k == 0 else 10)
        found.append(at[0].copy())
    guess, out = improved(_between(qpos, np.array(found), knots, unknowns), np.arange(T), 2), qpos.copy()
    guess[:, r + 3 : r + 7] = continuous(guess[:, r + 3 : r + 7])
    out[:, unknowns.addresses] = _calm(guess[:, unknowns.addresses], fps)
    out[:, r + 3 : r + 7] /= np.linalg.norm(out[:, r + 3 : r + 7], axis=1, keepdims=True)
    return out


def _calm(values: np.ndarray, fps: float) -> np.ndarray:
    """Return values (T, n) as cubics through a moment around each frame have them; what is calm already stays as it is."""
    frames = 2 * round(0.5 * _MOMENT * fps) + 1
    if not 5 <= frames <= len(values):
        return values
    calm = np.asarray(savgol_filter(values, frames, 3, axis=0))
    return calm if float(np.median(np.abs(calm - values))) > _NOISE else values


def _between(qpos: np.ndarray, found: np.ndarray, knots: np.ndarray, unknowns: Unknowns) -> np.ndarray:
    """Return all frames from those at some: cubic, the root's quaternion made one again."""
    r, own, out = unknowns.roots[0][0], unknowns.addresses, qpos.copy()
    found[:, r + 3 : r + 7] = continuous(found[:, r + 3 : r + 7])
    out[:, own] = CubicSpline(knots, found[:, own])(np.arange(len(qpos)))
    out[:, r + 3 : r + 7] /= np.linalg.norm(out[:, r + 3 : r + 7], axis=1, keepdims=True)
    return out


def _brought_together(
    m: mujoco.MjModel,
    data: mujoco.MjData,
    qpos: np.ndarray,
    persons: list[Person],
    alone: list[Unknowns],
    meetings: list[Meeting],
) -> tuple[list[Person], np.ndarray]:
    """Shift persons on the ground, halfway each, so that on the mean what touches is at one place: skeletons are fits."""
    if not meetings:
        return persons, qpos
    shifts = np.zeros((len(persons), 2))
    counts = np.zeros(len(persons))
    kinetics = kinetics_of(m, data, qpos)
    for meeting in meetings:
        a, b = (surface_points(kinetics, persons[k].body.surfaces[s]) for k, s in meeting.sides)
        gap = (b - a)[meeting.frames, :2].mean(0)
        for (k, _), sign in zip(meeting.sides, (0.5, -0.5), strict=True):
            shifts[k] += sign * gap * len(meeting.frames)
            counts[k] += len(meeting.frames)
    shifts /= np.maximum(counts, 1)[:, None]
    size = np.linalg.norm(shifts, axis=1, keepdims=True)
    shifts *= np.minimum(1.0, _FARTHEST_SHIFT / np.maximum(size, 1e-9))
    out = []
    for person, unknowns, shift in zip(persons, alone, shifts, strict=True):
        whole = np.array([*shift, 0.0])
        out.append(person._replace(places={part: p + whole for part, p in person.places.items()}))
        root = unknowns.roots[0][0]
        qpos[:, root : root + 2] += shift
    return out, qpos
