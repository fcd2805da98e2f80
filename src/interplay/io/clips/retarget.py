"""Retargeting: captured persons move bodies of ours. Proportions are fitted, contacts kept, joints in range, limbs out of each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import mujoco
import numpy as np

from interplay.io.clips.aligning import align, part_targets
from interplay.io.clips.body import Body, measure_body
from interplay.io.clips.capture import Capture
from interplay.io.clips.closeness import Closeness
from interplay.io.clips.contacts import Meeting, find_meetings
from interplay.io.clips.footing import SIDES, Footing, above, find_footing
from interplay.io.clips.footprints import Pins, find_pins
from interplay.io.clips.solving import (
    NOTHING_NEAR,
    Character,
    Item,
    Kinetics,
    Tasks,
    kinetics_of,
    new_kinetics,
    update_kinetics,
)
from interplay.scene.scene import Scene

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
_KNOTS = 15.0
"""Frames per second of the first guess."""
_SWEEPS, _SETTLED, _AROUND = 12, 4e-3, 0.1
"""Most steps over a clip; a frame that changes by less [rad, m] is settled, unless one so near [s] is not."""
_FARTHEST_SHIFT = 0.5

Progress = Callable[[float], None]


class Person(NamedTuple):
    """A captured person and the body that plays it: scale, footing, targets of its parts (T, 3, 3) and joints (T, 3)."""

    capture: Capture
    body: Body
    scale: float
    footing: Footing
    turns: dict[str, np.ndarray]
    places: dict[str, np.ndarray]


class Retargeted(NamedTuple):
    """Configurations (T, nq) of a scene, its persons, where feet stand, and who touches whom."""

    qpos: np.ndarray
    persons: list[Person]
    pins: list[Pins]
    meetings: list[Meeting]


def prepare(captures: Sequence[Capture], scene: Scene, names: Sequence[str]) -> list[Person]:
    """Return persons in one common frame, each scaled to the body that plays it.

    Each is scaled about the way that all take together, and that way by the mean of their scales: who meets still meets, and
    who walks hand in hand keeps pace.
    """
    found = []
    for capture, name in zip(captures, names, strict=True):
        body = measure_body(scene, name)
        scale = body.leg / _leg(capture)
        turns = part_targets(capture, align(capture, body))
        soles = {side: turns[f"{side}_foot"] @ body.soles[side].rotation for side in SIDES}
        footing = find_footing(capture, body, soles, scale)
        for side in SIDES:
            sole = body.soles[side].rotation
            turns[f"{side}_foot"] = soles[side] @ footing.flat[side] @ sole.T
        points = {part: np.column_stack([p[:, :2], above(footing.floor, p)]) for part, p in capture.points.items()}
        found.append((capture, body, scale, footing, turns, points))
    T = min(len(capture.time) for capture in captures)
    middles = [0.5 * (f[5]["left_thigh"][:T] + f[5]["right_thigh"][:T]) for f in found]
    way = np.mean(middles, axis=0) * [1, 1, 0]
    common = float(np.exp(np.mean([np.log(f[2]) for f in found])))
    out = []
    for capture, body, scale, footing, turns, points in found:
        places = {part: common * way + scale * (p[:T] - way) for part, p in points.items()}
        out.append(Person(capture, body, scale, footing, {p: t[:T] for p, t in turns.items()}, places))
    return out


def _leg(capture: Capture) -> float:
    """Return the length of a person's legs, from hip to ankle [m]."""
    p = capture.points
    pairs = [(f"{s}_{a}", f"{s}_{b}") for s in SIDES for a, b in (("thigh", "shank"), ("shank", "foot"))]
    return float(sum(np.linalg.norm(p[a] - p[b], axis=1).mean() for a, b in pairs)) / 2


def retarget(
    captures: Sequence[Capture],
    scene: Scene,
    names: Sequence[str],
    contacts: Sequence | None = None,
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
    characters = [Character(m, person.body.dofs) for person in persons]
    qpos = np.repeat(scene.qpos[None], len(time), axis=0)
    for k, (person, character) in enumerate(zip(persons, characters, strict=True)):
        qpos = _first_guess(m, data, qpos, person, character, fps)
        progress(0.15 * (k + 1) / len(persons))
    meetings = find_meetings(persons, names, time, contacts)
    persons, qpos = _brought_together(m, data, qpos, persons, characters, meetings)
    pins = [find_pins(person, time, contacts) for person in persons]
    qpos = _whole_clip(m, data, qpos, persons, characters, pins, meetings, fps, progress)
    return Retargeted(qpos, persons, pins, meetings)


def _free_items(person: Person) -> list[Item]:
    """Return what is asked of a body where nothing touches: orientations of its parts, places of hips and ankles."""
    T, body = len(person.places["left_foot"]), person.body
    one, none, no_turn = np.ones(T), np.zeros(T), np.zeros((T, 3, 3))
    items = []
    for part, turn in person.turns.items():
        weight = _TURN.get(part.removeprefix("left_").removeprefix("right_"), 1.0)
        bone = body.turns[part].T @ body.bones[part] if part.endswith(_TWISTING) else np.zeros(3)
        items.append(Item(body.ids[part], np.zeros(3), np.zeros((T, 3)), turn, none, weight * one, bone))
    hips = 0.5 * (person.places["left_thigh"] + person.places["right_thigh"])
    items.append(Item(body.ids["pelvis"], body.hips, hips, no_turn, _HIPS * one, none))
    for side in SIDES:
        ankle = Item(body.ids[f"{side}_foot"], np.zeros(3), person.places[f"{side}_foot"], no_turn, _ANKLES * one, none)
        items.append(ankle)
    return items


def _first_guess(
    m: mujoco.MjModel, data: mujoco.MjData, qpos: np.ndarray, person: Person, character: Character, fps: float
) -> np.ndarray:
    """Return configurations that follow a person where nothing touches: one after another at some frames, then all together."""
    tasks = Tasks.of(_free_items(person))
    T = len(qpos)
    stride = max(1, round(fps / _KNOTS))
    knots = np.unique(np.append(np.arange(0, T, stride), T - 1))
    at = qpos[:1].copy()
    r = character.root
    pelvis = person.body.ids["pelvis"]
    at[0, r : r + 3] = person.places["left_thigh"][0]
    if m.body_rootid[pelvis] == pelvis:
        mujoco.mju_mat2Quat(at[0, r + 3 : r + 7], np.ascontiguousarray(person.turns["pelvis"][0]).reshape(-1))
    change, found = np.zeros((1, len(character.dofs))), []
    for k, t in enumerate(knots):
        one = tasks.frames(np.array([t]))
        for trial in range(60 if k == 0 else 5):
            kinetics = kinetics_of(m, data, at, character)
            step = character.steps(
                kinetics,
                one,
                at,
                change,
                NOTHING_NEAR,
                0.0,
                np.full_like(change, 0.1 if k == 0 and trial < 30 else 0.0),
            )
            at = character.moved(at, step)
            if np.abs(step).max() < 2e-3:
                break
        found.append(at[0].copy())
    qpos = _between(qpos, np.array(found), knots, character)
    zero = np.zeros((T, len(character.dofs)))
    for _ in range(2):
        kinetics = kinetics_of(m, data, qpos, character)
        step = character.steps(kinetics, tasks, qpos, zero, NOTHING_NEAR, 0.0, zero)
        qpos = character.moved(qpos, step)
    return qpos


def _between(qpos: np.ndarray, found: np.ndarray, knots: np.ndarray, character: Character) -> np.ndarray:
    """Return all frames from those at some: cubic, the root's quaternion made one again."""
    from scipy.interpolate import CubicSpline

    r, out = character.root, qpos.copy()
    own = np.concatenate([np.arange(r, r + 7), character.scalars])
    quats = found[:, r + 3 : r + 7]
    flips = np.cumprod(np.where((quats[1:] * quats[:-1]).sum(1) < 0, -1.0, 1.0))
    found[1:, r + 3 : r + 7] *= flips[:, None]
    out[:, own] = CubicSpline(knots, found[:, own])(np.arange(len(qpos))) if len(knots) > 1 else found[:, own]
    out[:, r + 3 : r + 7] /= np.linalg.norm(out[:, r + 3 : r + 7], axis=1, keepdims=True)
    return out


def _brought_together(
    m: mujoco.MjModel,
    data: mujoco.MjData,
    qpos: np.ndarray,
    persons: list[Person],
    characters: list[Character],
    meetings: list[Meeting],
) -> tuple[list[Person], np.ndarray]:
    """Shift persons on the ground, halfway each, so that on the mean what touches is at one place: skeletons are fits."""
    if not meetings:
        return persons, qpos
    shifts = np.zeros((len(persons), 2))
    counts = np.zeros(len(persons))
    kinetics = kinetics_of(m, data, qpos, characters[0])
    for meeting in meetings:
        a, b = (_surface_points(kinetics, persons[k].body.surfaces[s]) for k, s in meeting.sides)
        gap = (b - a)[meeting.frames, :2].mean(0)
        for (k, _), sign in zip(meeting.sides, (0.5, -0.5), strict=True):
            shifts[k] += sign * gap * len(meeting.frames)
            counts[k] += len(meeting.frames)
    shifts /= np.maximum(counts, 1)[:, None]
    size = np.linalg.norm(shifts, axis=1, keepdims=True)
    shifts *= np.minimum(1.0, _FARTHEST_SHIFT / np.maximum(size, 1e-9))
    out = []
    for person, character, shift in zip(persons, characters, shifts, strict=True):
        whole = np.array([*shift, 0.0])
        out.append(person._replace(places={part: p + whole for part, p in person.places.items()}))
        qpos[:, character.root : character.root + 2] += shift
    return out, qpos


def _surface_points(kinetics: Kinetics, surface) -> np.ndarray:
    return kinetics.xpos[:, surface.body] + kinetics.xmat[:, surface.body] @ surface.point


def _whole_clip(
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
    fixed = [Tasks.of(_free_items(p) + _pin_items(p, pin)) for p, pin in zip(persons, pins, strict=True)]
    smooth = (_SMOOTH * fps**2) ** 2
    touching = [(*(persons[k].body.surfaces[s].body for k, s in meeting.sides), meeting.frames) for meeting in meetings]
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
        here, there = _surface_points(kinetics, own), _surface_points(kinetics, other)
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
