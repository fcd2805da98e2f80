"""A captured person: a file's skeleton as parts of a body, z up, in metres. Units, axes and names are guessed, and said."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from interplay.errors import InputError
from interplay.io.clips.bvh import Poses, Skeleton, Take, poses, read_bvh, rest_pose
from interplay.io.clips.names import check_parts, guess_parts

UNITS = {"m": 1.0, "cm": 0.01, "mm": 0.001, "inch": 0.0254, "CMU (1/0.45 inch)": 0.0254 / 0.45, "foot": 0.3048}
"""Lengths in use, most usual first."""

_STATURE_OF_LEGS = 1 / 0.49
"""How much longer than hip to ankle a person is."""
_STATURES = 0.9, 2.2
_USUAL_STATURE = 1.7

LIMBS = {
    "upper_arm": "forearm",
    "forearm": "hand",
    "hand": "fingers",
    "thigh": "shank",
    "shank": "foot",
    "foot": "toes",
}
"""Parts whose bone leads to another part."""


class Capture(NamedTuple):
    """One person over T frames.

    ``points`` (T, 3) are the joints of parts [m]; ``turns`` (T, 3, 3) how each part is turned from the person who stands and faces
    +x; ``bones`` (3,) where the limbs of that person point, unit vectors; ``said`` is what was guessed, in words.
    """

    name: str
    time: np.ndarray
    points: dict[str, np.ndarray]
    turns: dict[str, np.ndarray]
    bones: dict[str, np.ndarray]
    parts: dict[str, str]
    skeleton: Skeleton
    unit: float
    said: tuple[str, ...]


def read_capture(
    path: str | Path,
    table: Mapping[str, str | None] | None = None,
    unit: float | None = None,
    up: str | None = None,
) -> Capture:
    """Read a BVH file as a person.

    Args:
        path: the file.
        table: joints of parts that differ from the guess; None: the file has no such part.
        unit: length of one unit [m]; guessed from the legs by default.
        up: axis that points up, such as ``y`` or ``z``; guessed from head and feet by default.
    """
    path = Path(path)
    take = read_bvh(path)
    parts = {**guess_parts(take.skeleton), **(table or {})}
    given = {part: joint for part, joint in parts.items() if joint}
    index = check_parts(take.skeleton, given, path.name)
    said = [] if table is not None else [f"{len(given)} parts by the names of joints"]
    first = int(_begins_apart(take, index))
    if first:
        said.append("the first frame is no part of the motion")
    found = poses(take.skeleton, take.values[first:])
    rest, rest_turns = _reference(take, index, found)
    axes, axis = _axes(rest, index, up)
    said += [f"{axis} is up"] if up is None else []
    length, name = (unit, "") if unit else _unit(rest, index)
    if not unit:
        said.append(f"one unit is {name}, {length:.4g} m")
    rest, place = length * rest @ axes.T, length * found.positions @ axes.T
    forward = _forward(rest, index)
    facing = np.array([[forward[0], -forward[1], 0], [forward[1], forward[0], 0], [0, 0, 1.0]])
    points = {part: place[:, joint] for part, joint in index.items()}
    turns = {
        part: axes @ found.rotations[:, joint] @ rest_turns[joint].T @ axes.T @ facing for part, joint in index.items()
    }
    bones = _bones(take.skeleton, rest @ facing, index)
    _add_ends(take.skeleton, place, index, points)
    time = np.arange(len(place)) * take.frame_time
    return Capture(path.stem, time, points, turns, bones, given, take.skeleton, length, tuple(said))


def _begins_apart(take: Take, index: Mapping[str, int]) -> bool:
    """Return whether the first frame is a pose of its own, from which joints jump into the motion."""
    if len(take.values) < 8:
        return False
    few = poses(take.skeleton, take.values[:400]).positions[:, list(index.values())]
    local = few - few[:, :1]
    steps = np.linalg.norm(np.diff(local, axis=0), axis=2).mean(1)
    size = float(np.ptp(local[1], axis=0).max())
    return bool(steps[0] > 0.03 * size and steps[0] > 4 * np.percentile(steps[1:], 98))


def _reference(take: Take, index: Mapping[str, int], found: Poses) -> tuple[np.ndarray, np.ndarray]:
    """Return where joints are (n, 3), and how they are turned (n, 3, 3), in a pose in which the person stands.

    That is the skeleton as its offsets draw it; where these only give lengths, the first frame is the best guess.
    """
    rest = rest_pose(take.skeleton)
    first = poses(take.skeleton, take.values[:1])
    for place, turn in (
        (rest, np.repeat(np.eye(3)[None], len(rest), axis=0)),
        (first.positions[0], first.rotations[0]),
        (found.positions[0], found.rotations[0]),
    ):
        if _stands(place, index):
            return place, turn
    raise InputError(
        "nobody stands upright in the skeleton or in its first frame: expected hips over feet and a chest over hips; "
        "check which joints are which parts (--map)"
    )


def _stands(place: np.ndarray, index: Mapping[str, int]) -> bool:
    up, legs = _spine(place, index)
    across = place[index["left_thigh"]] - place[index["right_thigh"]]
    size = np.linalg.norm(up) * np.linalg.norm(legs)
    return bool(size > 0 and up @ legs > 0.8 * size and np.linalg.norm(across) > 1e-3 * np.linalg.norm(legs))


def _spine(place: np.ndarray, index: Mapping[str, int]) -> tuple[np.ndarray, np.ndarray]:
    """Return the way from hips to shoulders, and from feet to hips."""
    hips, arms, feet = (
        (place[index[f"left_{part}"]] + place[index[f"right_{part}"]]) / 2 for part in ("thigh", "upper_arm", "foot")
    )
    return arms - hips, hips - feet


def _axes(rest: np.ndarray, index: Mapping[str, int], up: str | None) -> tuple[np.ndarray, str]:
    """Return the rotation from a file's axes to ours (z up, x where it faces most), and the name of the axis that is up."""
    trunk, legs = _spine(rest, index)
    column = trunk + legs
    if up is None:
        axis = int(np.abs(column).argmax())
        sign = 1.0 if column[axis] > 0 else -1.0
    else:
        if up.lower().lstrip("+-") not in ("x", "y", "z"):
            raise InputError(f"up: expected x, y, z, -x, -y or -z, got {up!r}")
        axis, sign = "xyz".index(up.lower().lstrip("+-")), -1.0 if up.startswith("-") else 1.0
    z = np.zeros(3)
    z[axis] = sign
    x = np.zeros(3)
    x[(axis + 1) % 3] = 1.0  # y up: z becomes forward; z up: x stays forward
    name = ("−" if sign < 0 else "") + "xyz"[axis]
    return np.array([x, np.cross(z, x), z]), name


def _forward(rest: np.ndarray, index: Mapping[str, int]) -> np.ndarray:
    """Return the horizontal direction (2,) in which a standing person faces: to the right of the way from right to left."""
    left, right = (rest[[index[f"{side}_thigh"], index[f"{side}_upper_arm"]]].sum(0) for side in ("left", "right"))
    across = left - right
    forward = np.array([across[1], -across[0]])
    return forward / np.linalg.norm(forward)


def _unit(rest: np.ndarray, index: Mapping[str, int]) -> tuple[float, str]:
    """Guess the length of a unit: the most usual one in which the person has the size of a person."""
    legs = [
        np.linalg.norm(rest[index[f"{s}_{a}"]] - rest[index[f"{s}_{b}"]])
        for s in ("left", "right")
        for a, b in (("thigh", "shank"), ("shank", "foot"))
    ]
    stature = float(sum(legs)) / 2 * _STATURE_OF_LEGS
    for name, length in UNITS.items():
        if _STATURES[0] <= stature * length <= _STATURES[1]:
            return length, name
    if not stature > 0:
        raise InputError("the skeleton has legs of no length")
    return _USUAL_STATURE / stature, f"taken so that the person is {_USUAL_STATURE} m tall"


def _bones(skeleton: Skeleton, rest: np.ndarray, index: Mapping[str, int]) -> dict[str, np.ndarray]:
    """Return the directions of limbs in the standing pose."""
    out = {}
    for part, joint in index.items():
        side, _, plain = part.partition("_")
        if plain not in LIMBS:
            continue
        ends = _ends(skeleton, index, f"{side}_{LIMBS[plain]}", joint)
        if ends:
            bone = rest[ends].mean(0) - rest[joint]
            size = float(np.linalg.norm(bone))
            if size > 1e-6:
                out[part] = bone / size
    return out


def _ends(skeleton: Skeleton, index: Mapping[str, int], target: str, joint: int) -> list[int]:
    """Return the joints at the end of a bone: that of the next part, or what hangs on it."""
    if target in index:
        return [index[target]]
    return np.flatnonzero(skeleton.parents == joint).tolist()


def _add_ends(skeleton: Skeleton, place: np.ndarray, index: Mapping[str, int], points: dict[str, np.ndarray]) -> None:
    """Add the ends of hands and feet, where the skeleton has them: ``left_fingers``, and the tips of feet, ``left_toes``."""
    for side in ("left", "right"):
        for part, end in (("hand", "fingers"), ("foot", "toes")):
            joint = index.get(f"{side}_{end}", index.get(f"{side}_{part}"))
            below = [] if joint is None else np.flatnonzero(skeleton.parents == joint).tolist()
            if below and (end == "toes" or f"{side}_{end}" not in points):
                points[f"{side}_{end}"] = place[:, below].mean(1)
