"""Where feet stand: one footprint for each time a foot is down, on which its heel, then all of it, then its toes are kept."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from interplay.io.clips.footing import SIDES, runs
from interplay.io.clips.persons import Person
from interplay.motion.clip import Touch

GROUND = "ground"
_HEEL, _SOLE, _TOES = "heel", "sole", "toes"
_BETWEEN = 0.012
"""Room between two feet [m]."""
_RAISED = 0.06
"""A foot that stands higher than this over the floor [m] stands on something: it stays at its height."""
_MOVED, _TURNED = 0.03, 0.2
"""How far a foot may have gone [m], [rad] from one time it is flat to the next and still be on one footprint."""


class Pins(NamedTuple):
    """Where the corners of soles are kept, for each side: places (T, 4, 3) and weights (T, 4), 0 or 1; and the same as contacts."""

    places: dict[str, np.ndarray]
    weights: dict[str, np.ndarray]
    touches: list[Touch]


def find_pins(person: Person, time: np.ndarray, contacts: Sequence[Touch] | None) -> Pins:
    """Return where a person's feet stand: as was found, or as given contacts say."""
    T, name = len(time), person.body.name
    places, weights, touches, prints = {}, {}, [], []
    for side in SIDES:
        heel, toes = person.footing.heels[side][:T].copy(), person.footing.toes[side][:T].copy()
        if contacts is not None:
            heel = _when(contacts, time, [f"{name}/{side}_{part}" for part in (_HEEL, _SOLE)])
            toes = _when(contacts, time, [f"{name}/{side}_{part}" for part in (_SOLE, _TOES)])
        places[side], weights[side] = np.zeros((T, 4, 3)), np.zeros((T, 4))
        for begin, end in _stances(person, side, heel, toes):
            frames = np.arange(begin, end)
            corners = _corners(person, side, frames, heel[frames], toes[frames])
            prints.append(Footprint(side, begin, end, corners, person.body.soles[side].radius))
        weights[side][:, :2], weights[side][:, 2:] = heel[:, None], toes[:, None]
        for part, mask in ((_SOLE, heel & toes), (_HEEL, heel & ~toes), (_TOES, toes & ~heel)):
            for begin, end in runs(mask):
                if end - begin > 1:
                    touches.append(Touch(f"{name}/{side}_{part}", GROUND, float(time[begin]), float(time[end - 1])))
    _keep_apart(prints)
    for side, begin, end, corners, _ in prints:
        places[side][begin:end] = corners
    return Pins(places, weights, touches)


class Footprint(NamedTuple):
    """Where a foot stands: its side, first frame, frame after the last, the corners (4, 3) of its sole, and its radius if a ball."""

    side: str
    begin: int
    end: int
    corners: np.ndarray
    radius: float


def _keep_apart(prints: Sequence[Footprint]) -> None:
    """Move footprints so that no foot stands on the other: ours are as wide as shoes, and captured ones are lines."""
    pairs = [
        (a, b)
        for k, a in enumerate(prints)
        for b in prints[k + 1 :]
        if a.side != b.side and min(a.end, b.end) > max(a.begin, b.begin)
    ]
    for _ in range(5):
        for a, b in pairs:
            way = _way_of_balls(a, b) if a.radius and b.radius else _way_apart(a.corners[:, :2], b.corners[:, :2])
            a.corners[:, :2] -= 0.5 * way
            b.corners[:, :2] += 0.5 * way


def _way_of_balls(a: Footprint, b: Footprint) -> np.ndarray:
    """Return the shortest way (2,) that the second of two balls must go to be beside the first."""
    between = (b.corners - a.corners).mean(0)[:2]
    apart = float(np.linalg.norm(between))
    return between / max(apart, 1e-9) * max(a.radius + b.radius + _BETWEEN - apart, 0.0)


def _way_apart(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the shortest way (2,) that the second of two rectangles must go to be beside the first: across the feet."""
    across = [corners[1] - corners[0] for corners in (a, b)]
    best, shortest = np.zeros(2), np.inf
    for edge in across:
        axis = edge / float(np.linalg.norm(edge))
        axis = axis if (b.mean(0) - a.mean(0)) @ axis >= 0 else -axis
        inside = float((a @ axis).max() - (b @ axis).min()) + _BETWEEN
        if inside <= 0:
            return np.zeros(2)
        if inside < shortest:
            best, shortest = inside * axis, inside
    ahead = [corners[2] - corners[0] for corners in (a, b)]
    for edge in ahead:  # one before the other is no matter
        size = float(np.linalg.norm(edge))
        axis = edge / max(size, 1e-9)
        if (a @ axis).max() < (b @ axis).min() or (b @ axis).max() < (a @ axis).min():
            return np.zeros(2)
    return best


def _when(contacts: Sequence[Touch], time: np.ndarray, surfaces: Sequence[str]) -> np.ndarray:
    out = np.zeros(len(time), bool)
    for touch in contacts:
        if touch.first in surfaces or touch.second in surfaces:
            out |= (time >= touch.begin - 1e-6) & (time <= touch.end + 1e-6)
    return out


def _stances(person: Person, side: str, heel: np.ndarray, toes: np.ndarray) -> list[tuple[int, int]]:
    """Return the times a foot is down, as (first frame, frame after the last).

    A foot that turns on its heel or toes, or is dragged, from one place where it is flat to another, is lifted for a moment in
    between: heel and toes are changed so.
    """
    for begin, end in runs(heel | toes):
        flats = [(begin + a, begin + b) for a, b in runs((heel & toes)[begin:end])]
        for (a, b), (c, d) in itertools.pairwise(flats):
            before, after = _ankle_and_yaw(person, side, np.arange(a, b)), _ankle_and_yaw(person, side, np.arange(c, d))
            turn = abs((after[1] - before[1] + np.pi) % (2 * np.pi) - np.pi)
            if np.linalg.norm(after[0] - before[0]) > _MOVED or turn > _TURNED:
                heel[b:c] = toes[b:c] = False
    return runs(heel | toes)


def _ankle_and_yaw(person: Person, side: str, frames: np.ndarray) -> tuple[np.ndarray, float]:
    """Return where a foot's ankle is on the mean (3,), and where its sole points [rad]."""
    sole = person.turns[f"{side}_foot"][frames] @ person.body.soles[side].rotation
    ahead = sole[:, :, 0].mean(0)
    return np.median(person.places[f"{side}_foot"][frames], axis=0), float(np.arctan2(ahead[1], ahead[0]))


def _corners(person: Person, side: str, frames: np.ndarray, heel: np.ndarray, toes: np.ndarray) -> np.ndarray:
    """Return the corners (4, 3) of a sole on the ground, where it is when it is flat; else where its heel or toes are."""
    sole = person.body.soles[side]
    flat = frames[heel & toes]
    chosen = flat if len(flat) else frames
    ankle, yaw = _ankle_and_yaw(person, side, chosen)
    corners = sole.corners @ sole.rotation
    c, s = np.cos(yaw), np.sin(yaw)
    turn = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1.0]])
    out = corners @ turn.T + ankle
    height = ankle[2] - person.body.ankle
    if not len(flat):  # on its toes or heel all the time: that edge is where the sole is
        part = slice(2, 4) if toes.any() else slice(0, 2)
        turns = person.turns[f"{side}_foot"][chosen] @ sole.rotation
        edge = np.median(person.places[f"{side}_foot"][chosen] + turns @ corners[part].mean(0), axis=0)
        out += (edge - out[part].mean(0)) * [1, 1, 0]
        height = edge[2] - sole.radius
    out[:, 2] = sole.radius + (0.0 if abs(height) < _RAISED else height)
    return out
