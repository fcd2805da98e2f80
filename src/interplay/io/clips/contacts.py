"""Who touches whom: hands that stay near a hand or shoulder of someone else and go along with it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from interplay.errors import unknown_name
from interplay.io.clips.footing import SIDES, around, lasting, runs, speed
from interplay.io.clips.persons import Person
from interplay.motion.clip import Touch

_NEAR = {"palm": 0.42, "shoulder": 0.22}
"""How near [m] the joints of a hand come to those of what it touches: skeletons are fits, and joints lie inside of bodies."""
_SURE = 0.2
"""So near [m], hands touch though nobody moves."""
_DRIFT, _TOGETHER = 0.4, 0.35
"""Relative speed that passes for none [m/s], and as a share of how fast both go."""
_LEAVING = 1.4
"""How much more of either ends a contact."""
_SHORTEST, _GAP = 0.2, 0.1


class Meeting(NamedTuple):
    """Surfaces of two persons that touch: (person, surface) twice, and in which frames."""

    sides: tuple[tuple[int, str], tuple[int, str]]
    frames: np.ndarray


def find_meetings(
    persons: Sequence[Person], names: Sequence[str], time: np.ndarray, contacts: Sequence[Touch] | None = None
) -> list[Meeting]:
    """Return which hands touch others, and when: as is found, or as given contacts say."""
    if contacts is not None:
        return _given(persons, names, time, contacts)
    fps = 1.0 / float(np.median(np.diff(time)))
    found: dict[tuple[tuple[int, str], tuple[int, str]], np.ndarray] = {}
    nearness: dict[tuple[tuple[int, str], tuple[int, str]], np.ndarray] = {}
    for a in range(len(persons)):
        for b in range(len(persons)):
            for mine in SIDES:
                for theirs in SIDES:
                    for kind in ("palm", "shoulder") if a != b else ():
                        if (kind == "palm" and a > b) or not _have(persons, a, f"{mine}_palm", b, f"{theirs}_{kind}"):
                            continue
                        key = ((a, f"{mine}_palm"), (b, f"{theirs}_{kind}"))
                        one, two = (
                            _place(persons[a], mine, "palm", len(time)),
                            _place(persons[b], theirs, kind, len(time)),
                        )
                        found[key], nearness[key] = (
                            _touching(one, two, _NEAR[kind], fps),
                            np.linalg.norm(two - one, axis=1),
                        )
    _one_each(found, nearness)
    out = []
    for key, mask in found.items():
        for begin, end in runs(lasting(mask, fps, _SHORTEST, _GAP)):
            out.append(Meeting(key, np.arange(begin, end)))
    return out


def _given(
    persons: Sequence[Person], names: Sequence[str], time: np.ndarray, contacts: Sequence[Touch]
) -> list[Meeting]:
    out = []
    for touch in contacts:
        sides = [side.partition("/") for side in (touch.first, touch.second)]
        if not all(owner in names for owner, _, _ in sides):
            continue
        for owner, _, own in sides:
            surfaces = persons[names.index(owner)].body.surfaces
            if own not in surfaces:
                raise unknown_name("surface", f"{owner}/{own}", [f"{owner}/{s}" for s in surfaces])
        frames = np.flatnonzero((time >= touch.begin - 1e-6) & (time <= touch.end + 1e-6))
        if len(frames):
            first, second = ((names.index(owner), own) for owner, _, own in sides)
            out.append(Meeting((first, second), frames))
    return out


def touches_of(meetings: Sequence[Meeting], names: Sequence[str], time: np.ndarray) -> list[Touch]:
    """Return meetings as contacts of a clip."""
    out = []
    for (first, second), frames in meetings:
        sides = [f"{names[k]}/{surface}" for k, surface in (first, second)]
        out.append(Touch(sides[0], sides[1], float(time[frames[0]]), float(time[frames[-1]])))
    return out


def _have(persons: Sequence[Person], a: int, mine: str, b: int, theirs: str) -> bool:
    hand = f"{mine.partition('_')[0]}_hand"
    return mine in persons[a].body.surfaces and theirs in persons[b].body.surfaces and hand in persons[a].capture.points


def _place(person: Person, side: str, kind: str, T: int) -> np.ndarray:
    """Return where a captured palm or shoulder is (T, 3), in the person's own size."""
    points = person.capture.points
    if kind == "shoulder":
        return points[f"{side}_upper_arm"][:T]
    hand = points[f"{side}_hand"][:T]
    if f"{side}_fingers" in points:
        return 0.5 * (hand + points[f"{side}_fingers"][:T])
    return hand


def _touching(one: np.ndarray, two: np.ndarray, near: float, fps: float) -> np.ndarray:
    """Return when (T,) two points stay near each other and go together."""
    apart, drift = np.linalg.norm(two - one, axis=1), speed(two - one, fps)
    both = 0.5 * (speed(one, fps) + speed(two, fps))
    slow = _DRIFT + _TOGETHER * both
    mask = around((apart < near) & (drift < slow), (apart < _LEAVING * near) & (drift < _LEAVING * slow))
    for begin, end in runs(mask):
        # Hands that hang side by side are near, too: unless they are very near, they must move, and together.
        going = float(both[begin:end].mean()) > 1.2 * float(drift[begin:end].mean())
        if not going and float(np.median(apart[begin:end])) > _SURE:
            mask[begin:end] = False
    return mask


def _one_each(found: dict, nearness: dict) -> None:
    """Let each surface touch only what is nearest to it."""
    surfaces = {side for key in found for side in key}
    for surface in surfaces:
        keys = [key for key in found if surface in key]
        best = np.min([np.where(found[key], nearness[key], np.inf) for key in keys], axis=0)
        for key in keys:
            found[key] &= nearness[key] <= best
