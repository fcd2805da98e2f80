"""Skeletons as other tools name and arrange them: our own, Mixamo's, Unreal's mannequin and VRM's humanoid.

Every bone of a rig is in each of them; what a convention has no name for keeps its own (a robot's links, for instance). Bones
that a convention has and a rig lacks are put in: they ride on the bone before them and never turn by themselves. Left out are
Mixamo's end markers, Unreal's twist and IK bones, and VRM's eyes, jaw and upper chest.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from interplay.errors import pick
from interplay.io.rig import Rig
from interplay.io.take import Poses
from interplay.models.hand import FINGERS

GROUND = -1
"""What a root bone rides on, which is no bone of a rig: the ground below the character."""


_UP, _FRONT = np.array([0.0, 0.0, 1.0]), np.array([0.0, -1.0, 0.0])


class Armature(NamedTuple):
    """A rig in a convention: its bones, parents before children, in the rig's rest pose."""

    rig: Rig
    names: tuple[str, ...]
    parents: tuple[int, ...]
    """Places among the bones; −1: none."""
    rest: np.ndarray
    """Where bones begin in the rest pose (n, 3) [m]."""
    carriers: tuple[int, ...]
    """Places among the rig's bones: the bone that each is, or rides on; ``GROUND``."""
    own: tuple[int, ...]
    """Of each of the rig's bones, its place here."""

    def axes(self) -> np.ndarray:
        """Return axes of bones in the rest pose (n, 3, 3), as columns: y along the bone, z to the front (feet: up)."""
        out = np.empty((len(self.names), 3, 3))
        for k, carrier in enumerate(self.carriers):
            following = [n for n, parent in enumerate(self.parents) if parent == k]
            if carrier == GROUND:
                end = self.rest[k] + _UP
            elif k == self.own[carrier] or not following:
                end = self.rig.ends[carrier]
            else:
                end = self.rest[following[0]]
            out[k] = _axes(end - self.rest[k])
        return out

    def rest_pose(self) -> Poses:
        """Return its rest pose as the only moment of a motion."""
        return Poses(self.rest[None], np.broadcast_to(np.eye(3), (1, len(self.names), 3, 3)))

    def ends(self) -> dict[int, np.ndarray]:
        """Return where the bones end that none follows, in the rest pose [m]."""
        return {k: self.rig.ends[c] for k, c in enumerate(self.carriers) if k not in self.parents}

    def poses(self, poses: Poses) -> Poses:
        """Return its bones over time by those of the rig."""
        at, turn = np.empty((len(poses.positions), len(self.names), 3)), poses.rotations[:, list(self.carriers)].copy()
        for k, carrier in enumerate(self.carriers):
            if carrier == GROUND:
                at[:, k], turn[:, k] = poses.positions[:, 0] * [1.0, 1.0, 0.0], _headings(poses.rotations[:, 0])
            else:
                arm = self.rest[k] - self.rig.rest[carrier]
                at[:, k] = poses.positions[:, carrier] + poses.rotations[:, carrier] @ arm
        return Poses(at, turn)


def local(armature: Armature, poses: Poses, axes: np.ndarray) -> Poses:
    """Return an armature's bones over time, each with its own axes of the rest pose (n, 3, 3) and in the frame of its parent."""
    turned = poses.rotations @ axes
    at, turn = poses.positions.copy(), turned.copy()
    for k, parent in enumerate(armature.parents):
        if parent >= 0:
            back = turned[:, parent].transpose(0, 2, 1)
            at[:, k] = np.einsum("tij,tj->ti", back, poses.positions[:, k] - poses.positions[:, parent])
            turn[:, k] = back @ turned[:, k]
    return Poses(at, turn)


def _axes(way: np.ndarray) -> np.ndarray:
    """Return a frame with y along a way."""
    size = float(np.linalg.norm(way))
    y = way / size if size > 1e-6 else _UP
    hint = _FRONT if abs(y @ _FRONT) < 0.8 else _UP
    z = hint - y * (hint @ y)
    z /= np.linalg.norm(z)
    return np.column_stack([np.cross(y, z), y, z])


def _headings(rotations: np.ndarray) -> np.ndarray:
    """Return of each rotation (n, 3, 3) its turn about z."""
    s, c = rotations[:, 1, 0] - rotations[:, 0, 1], rotations[:, 0, 0] + rotations[:, 1, 1]
    size = np.maximum(np.hypot(s, c), 1e-12)
    s, c, out = s / size, c / size, np.zeros_like(rotations)
    out[:, 0, 0], out[:, 0, 1], out[:, 1, 0], out[:, 1, 1], out[:, 2, 2] = c, -s, s, c, 1.0
    return out


SKELETONS = {"interplay": 0, "mixamo": 1, "unreal": 2, "vrm": 3}
"""The conventions, and their columns in the table of names."""

_ROOTS = {"unreal": "root"}
"""Conventions with a bone on the ground that moves all others."""

_NAMES = {
    # ours               Mixamo              Unreal            VRM
    "pelvis": ("Hips", "pelvis", "hips"),
    "abdomen": ("Spine", "spine_01", "spine"),
    "waist": ("Spine1", "spine_02", None),
    "chest": ("Spine2", "spine_03", "chest"),
    "neck": ("Neck", "neck_01", "neck"),
    "head": ("Head", "head", "head"),
    "{side}_clavicle": ("{Side}Shoulder", "clavicle_{s}", "{side}Shoulder"),
    "{side}_upper_arm": ("{Side}Arm", "upperarm_{s}", "{side}UpperArm"),
    "{side}_forearm": ("{Side}ForeArm", "lowerarm_{s}", "{side}LowerArm"),
    "{side}_hand": ("{Side}Hand", "hand_{s}", "{side}Hand"),
    "{side}_thigh": ("{Side}UpLeg", "thigh_{s}", "{side}UpperLeg"),
    "{side}_shank": ("{Side}Leg", "calf_{s}", "{side}LowerLeg"),
    "{side}_foot": ("{Side}Foot", "foot_{s}", "{side}Foot"),
    "{side}_toes": ("{Side}ToeBase", "ball_{s}", "{side}Toes"),
}
_FINGERS = {
    "index": ("Index", "index", "Index"),
    "middle": ("Middle", "middle", "Middle"),
    "ring": ("Ring", "ring", "Ring"),
    "little": ("Pinky", "pinky", "Little"),
    "thumb": ("Thumb", "thumb", "Thumb"),
}
_SEGMENTS = ("Proximal", "Intermediate", "Distal")
_THUMB_SEGMENTS = ("Metacarpal", "Proximal", "Distal")


def names_of(skeleton: str) -> dict[str, str]:
    """Return what a convention calls the bones that it knows, by our names."""
    column = pick("skeleton", skeleton, SKELETONS) - 1
    if column < 0:
        return {}
    rows = {part: names for part, names in _NAMES.items() if names[column] is not None}
    for finger in FINGERS:
        mixamo, unreal, vrm = _FINGERS[finger]
        for n, segment in enumerate(_THUMB_SEGMENTS if finger == "thumb" else _SEGMENTS, 1):
            rows[f"{{side}}_{finger}_{n}"] = (
                f"{{Side}}Hand{mixamo}{n}",
                f"{unreal}_0{n}_{{s}}",
                f"{{side}}{vrm}{segment}",
            )
    out = {}
    for part, names in rows.items():
        for side in ("left", "right") if "{side}" in part else ("",):
            words = {"side": side, "Side": side.capitalize(), "s": side[:1]}
            out[part.format(**words)] = ("mixamorig:" if skeleton == "mixamo" else "") + str(names[column]).format(
                **words
            )
    return out


class _Missing(NamedTuple):
    """A bone that conventions have between two bones (or behind the last one) and a rig may lack."""

    part: str
    after: str
    before: str | None
    share: tuple[float, float, float]
    """Where it lies on the way from the one to the other (the last one: to its end), along x, y and z of the rest pose."""


_HALF = (0.5, 0.5, 0.5)
_MISSING = (
    _Missing("abdomen", "pelvis", "chest", _HALF),
    _Missing("waist", "abdomen", "chest", _HALF),
    _Missing("neck", "chest", "head", (0.8, 0.8, 0.8)),
    # A collar bone begins near the breastbone, at the shoulder's height; toes bend behind the ball of the foot.
    *(_Missing(f"{side}_clavicle", "chest", f"{side}_upper_arm", (0.2, 1.0, 1.0)) for side in ("left", "right")),
    *(_Missing(f"{side}_toes", f"{side}_foot", None, (0.7, 0.7, 0.8)) for side in ("left", "right")),
)


def armature_of(rig: Rig, skeleton: str = "interplay") -> Armature:
    """Return a rig as a convention arranges it."""
    names, plan = names_of(skeleton), _Plan(rig)
    for missing in _MISSING:
        if missing.part in names:
            plan.supply(missing)
    if skeleton in _ROOTS:
        plan.put_below(_ROOTS[skeleton])
    order = plan.order()
    place = {key: n for n, key in enumerate(order)}
    return Armature(
        rig,
        _distinct([names.get(plan.parts[key], plan.parts[key]) for key in order]),
        tuple(place.get(plan.parents[key], -1) for key in order),
        np.array([plan.rest[key] for key in order]),
        tuple(plan.carriers[key] for key in order),
        tuple(place[key] for key in range(len(rig.bones))),
    )


def _distinct(names: list[str]) -> tuple[str, ...]:
    """Return names with a number behind those that came before, as a robot's own may."""
    out: list[str] = []
    for name in names:
        count, free = 1, name
        while free in out:
            count += 1
            free = f"{name}_{count}"
        out.append(free)
    return tuple(out)


class _Plan:
    """Bones while they are arranged: those of the rig by their places, others by numbers beyond."""

    def __init__(self, rig: Rig):
        self.rig, count = rig, len(rig.bones)
        self.parts = {k: bone.name for k, bone in enumerate(rig.bones)}
        self.parents = {k: bone.parent for k, bone in enumerate(rig.bones)}
        self.carriers = {k: k for k in range(count)}
        self.rest = dict(enumerate(rig.rest))

    def supply(self, missing: _Missing) -> None:
        """Give a missing bone's name to what lies where it would be, as a robot's shoulder does, or put it in."""
        keys = {part: key for key, part in self.parts.items()}
        start, end = keys.get(missing.after), keys.get(missing.before or "")
        if missing.part in keys or start is None or (missing.before and end is None):
            return
        between = self._between(start, end)
        if between is None:
            return
        if between:
            self.parts[between[0]] = missing.part
            return
        goal = self.rest[end] if end is not None else self.rig.ends[self.carriers[start]]
        key = len(self.parts)
        self.parts[key], self.parents[key], self.carriers[key] = missing.part, start, self.carriers[start]
        self.rest[key] = self.rest[start] + np.array(missing.share) * (goal - self.rest[start])
        if end is not None:
            self.parents[end] = key

    def _between(self, start: int, end: int | None) -> list[int] | None:
        """Return the bones between two, from the first one on (after the last: those that hang on it); None: no way leads there."""
        if end is None:
            return [key for key, parent in self.parents.items() if parent == start]
        way, key = [], self.parents[end]
        while key not in (start, -1):
            way.insert(0, key)
            key = self.parents[key]
        return way if key == start else None

    def put_below(self, name: str) -> None:
        """Put in a bone on the ground that carries all."""
        key = len(self.parts)
        self.parents |= {k: key for k, parent in self.parents.items() if parent < 0}
        self.parts[key], self.parents[key], self.carriers[key], self.rest[key] = name, -1, GROUND, np.zeros(3)

    def order(self) -> list[int]:
        """Return the bones with parents before children, each followed by all that hangs on it."""
        out, waiting = [], [key for key, parent in self.parents.items() if parent < 0]
        while waiting:
            out.append(key := waiting.pop())
            waiting += sorted((k for k, parent in self.parents.items() if parent == key), reverse=True)
        return out
