"""What is asked of bodies that follow captured persons, and the optimum of it over a whole clip."""

from __future__ import annotations

from collections.abc import Callable

import mujoco
import numpy as np

from interplay.io.clips.body import Palm
from interplay.io.clips.closeness import Closeness
from interplay.io.clips.contacts import Meeting
from interplay.io.clips.footing import SIDES
from interplay.io.clips.footprints import Pins
from interplay.io.clips.persons import Person
from interplay.io.clips.solving import Character, Item, Kinetics, Tasks, new_kinetics, update_kinetics

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
_TWISTING = ("upper_arm", "forearm", "thigh", "shank")
_HIPS, _ANKLES = 300.0, 150.0
"""Weights of places [1/m²]."""
_PIN, _MEET, _FACE = 1e6, 1e5, 0.5
"""Weights of what stands [1/m²], of hands that touch, and of palms that face each other [1/rad²]."""
_SMOOTH = 0.004
"""Weight [s²] of the acceleration of what is changed."""
_SWEEPS, _SETTLED, _AROUND = 12, 4e-3, 0.1
"""Most steps over a clip; a frame that changes by less [rad, m] is settled, unless one so near [s] is not."""

Progress = Callable[[float], None]


def free_items(person: Person) -> list[Item]:
    """Return what is asked of a body where nothing touches: orientations of its parts, places of hips and ankles."""
    T, body = len(person.places["left_foot"]), person.body
    one, none, no_turn = np.ones(T), np.zeros(T), np.zeros((T, 3, 3))
    items = []
    for part, turn in person.turns.items():
        weight = _TURN.get(part.removeprefix("left_").removeprefix("right_"), 1.0)
        bone = np.zeros(3)
        if part.endswith(_TWISTING) and part in body.bones:
            bone = body.turns[part].T @ body.bones[part]
        items.append(Item(body.ids[part], np.zeros(3), np.zeros((T, 3)), turn, none, weight * one, bone))
    hips = 0.5 * (person.places["left_thigh"] + person.places["right_thigh"])
    items.append(Item(body.ids["pelvis"], body.hips, hips, no_turn, _HIPS * one, none))
    for side in SIDES:
        ankle = Item(body.ids[f"{side}_foot"], np.zeros(3), person.places[f"{side}_foot"], no_turn, _ANKLES * one, none)
        items.append(ankle)
    return items


def surface_points(kinetics: Kinetics, surface: Palm) -> np.ndarray:
    """Return where the middle of a surface is (T, 3)."""
    return kinetics.xpos[:, surface.body] + kinetics.xmat[:, surface.body] @ surface.point


def optimise(
    m: mujoco.MjModel,
    data: mujoco.MjData,
    qpos: np.ndarray,
    persons: list[Person],
    characters: list[Character],
    pins: list[Pins],
    meetings: list[Meeting],
    fps: float,
    progress: Progress,
) -> np.ndarray:
    """Return the optimum over all frames: feet stand, hands meet, joints are in range, limbs apart, changes smooth."""
    T, start = len(qpos), qpos
    changes = [np.zeros((T, len(c.dofs))) for c in characters]
    fixed = [Tasks.of(free_items(p) + _pin_items(p, pin)) for p, pin in zip(persons, pins, strict=True)]
    smooth = (_SMOOTH * fps**2) ** 2
    touching = []
    for meeting in meetings:
        one, two = (persons[k].body.surfaces[surface].body for k, surface in meeting.sides)
        touching.append((one, two, meeting.frames))
    closeness = Closeness(m, data, touching)
    found = new_kinetics(m, characters, T)
    moving, damping, last = np.ones(T, bool), [np.zeros_like(c) for c in changes], [np.zeros_like(c) for c in changes]
    for sweep in range(_SWEEPS):
        frames = np.flatnonzero(moving)
        closeness.forget(moving)
        update_kinetics(m, data, qpos, characters, found, frames.tolist(), closeness.look if sweep else None)
        near, largest = closeness.near(), np.zeros(T)
        for k, character in enumerate(characters):
            tasks = fixed[k]
            mine = [item for meeting in meetings for item in _meeting_items(meeting, k, persons, found[0], T)]
            if mine:
                tasks = Tasks(*(np.concatenate(pair) for pair in zip(tasks, Tasks.of(mine), strict=True)))
            step = character.steps(found[k], tasks, qpos, changes[k], near, smooth, damping[k], moving)
            # Back and forth (a knee that is almost straight, an arm on either side of a leg): slower there.
            swings = (step * last[k] < 0) & (np.abs(step) > 0.4 * np.abs(last[k])) & (np.abs(step) > _SETTLED)
            damping[k] = np.where(swings, np.maximum(2.0 * damping[k], 0.5), 0.7 * damping[k])
            last[k], changes[k] = step, changes[k] + step
            largest = np.maximum(largest, np.abs(step).max(1))
        qpos = start
        for character, change in zip(characters, changes, strict=True):
            qpos = character.moved(qpos, change)
        if sweep > 0:  # the first knows nothing of limbs
            moving &= _around(largest > _SETTLED, round(_AROUND * fps))
        progress(0.15 + 0.85 * (sweep + 1) / _SWEEPS)
        if not moving.any():
            break
    for character in characters:
        qpos = character.clipped(qpos)
    return qpos


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


def _meeting_items(meeting: Meeting, person: int, persons: list[Person], kinetics: Kinetics, T: int) -> list[Item]:
    """Return what brings a surface of a person to the one it touches: halfway, and face to face."""
    out = []
    for mine, theirs in (meeting.sides, meeting.sides[::-1]):
        if mine[0] != person:
            continue
        own, other = persons[mine[0]].body.surfaces[mine[1]], persons[theirs[0]].body.surfaces[theirs[1]]
        here, there = surface_points(kinetics, own), surface_points(kinetics, other)
        facing = kinetics.xmat[:, own.body] @ own.normal
        wanted = facing - kinetics.xmat[:, other.body] @ other.normal
        size = np.linalg.norm(wanted, axis=1, keepdims=True)
        wanted = np.where(size > 1e-3, wanted / np.maximum(size, 1e-3), facing)
        turns = _least_turns(facing, wanted) @ kinetics.xmat[:, own.body]
        weight = np.zeros(T)
        weight[meeting.frames] = 1.0
        out.append(Item(own.body, own.point, 0.5 * (here + there), turns, _MEET * weight, _FACE * weight))
    return out


def _least_turns(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the smallest rotations (T, 3, 3) from unit vectors to others."""
    v, c = np.cross(a, b), (a * b).sum(1)
    K = np.zeros((len(a), 3, 3))
    K[:, 0, 1], K[:, 0, 2], K[:, 1, 2] = -v[:, 2], v[:, 1], -v[:, 0]
    K -= K.transpose(0, 2, 1)
    return np.eye(3) + K + K @ K / np.maximum(1 + c, 1e-3)[:, None, None]
