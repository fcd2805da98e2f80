"""The skin of a rig: all that is seen of a character as one mesh, bound to its bones so that it bends smoothly at joints.

A vertex follows its own bone and, near a joint, the bone beyond it: both have half of it in the plane through the joint, and a
smooth step leads from one to the other, about as wide as the limb is thick. It is a function of the place alone, so that the
shapes of two bones move alike where they meet; only neighbours count, as an arm beside a thigh has nothing to do with it. Two
things stay with their own bone: balls at joints, which fill what blending loses inside a bent limb, and all that is seen of
bodies from files: a robot's shells do not bend.
"""

from __future__ import annotations

from typing import NamedTuple

import mujoco
import numpy as np

from interplay.io.rig import Rig
from interplay.io.surfaces import Color, Surface, color_of, joined, surface

INFLUENCES = 4
"""How many bones move a vertex at most."""

_FAINT = 0.004
"""Weights below this are left out."""

_WIDTH = 0.25
"""A joint bends over no more than this part of the shorter of its two bones, to either side."""

_STRAIGHT = np.cos(np.radians(30.0))
"""Bones that leave at a larger angle than this from the way their parent goes take nothing of its skin along."""


class Skin(NamedTuple):
    """A skinned mesh in the rest pose."""

    surface: Surface
    bones: np.ndarray
    """The bones of the rig that move each vertex (n, 4) …"""
    weights: np.ndarray
    """… and how much of its motion is theirs (n, 4); the largest first, they sum to 1."""
    colors: tuple[Color, ...]
    patches: tuple[np.ndarray, ...]
    """The faces of each colour (k, 3)."""


def skin_of(m: mujoco.MjModel, rig: Rig) -> Skin | None:
    """Return the skin of a character; None if nothing of it is seen."""
    shapes = [(bone, geom, surface(*rig.rest_points(m, geom))) for geom, bone in rig.geoms.items()]
    shapes = sorted((shape for shape in shapes if len(shape[2].faces)), key=lambda shape: shape[:2])
    if not shapes:
        return None
    joints = _joints(rig, shapes) if rig.hands else {}
    bound = [
        _rigid(part, bone)
        if not rig.hands or _is_joint_ball(m, rig, geom, bone)
        else _blended(rig, joints, bone, part.vertices)
        for bone, geom, part in shapes
    ]
    colors = [color_of(m, geom) for _, geom, _ in shapes]
    whole, distinct = joined([part for *_, part in shapes]), tuple(dict.fromkeys(colors))
    owners = np.repeat([distinct.index(color) for color in colors], [len(part.faces) for *_, part in shapes])
    patches = tuple(whole.faces[owners == k] for k in range(len(distinct)))
    return Skin(whole, np.concatenate([b for b, _ in bound]), np.concatenate([w for _, w in bound]), distinct, patches)


def _is_joint_ball(m: mujoco.MjModel, rig: Rig, geom: int, bone: int) -> bool:
    """Return whether a geom is a ball about the beginning of its bone."""
    near = np.linalg.norm(m.geom_pos[geom]) < 1e-6 and rig.bones[bone].finger is None
    return bool(near and m.geom_type[geom] == int(mujoco.mjtGeom.mjGEOM_SPHERE))


def _rigid(part: Surface, bone: int) -> tuple[np.ndarray, np.ndarray]:
    bones, weights = np.zeros((len(part.vertices), INFLUENCES), int), np.zeros((len(part.vertices), INFLUENCES))
    bones[:, 0], weights[:, 0] = bone, 1.0
    return bones, weights


class _Joint(NamedTuple):
    """Where a bone begins, and how the skin passes there from its parent to it."""

    point: np.ndarray
    normal: np.ndarray
    """Of the plane that parts the two: along the parent where the bone continues it, else along the bone."""
    half: float
    """Half the width of the passage [m]."""
    thick: float
    """How thick the bone's own shape is [m]."""
    straight: bool
    """Whether the bone goes on as its parent does, and takes part of its skin along."""

    def passed(self, points: np.ndarray) -> np.ndarray:
        """Return how much of points (n, 3) is the bone's, not its parent's: 0 before the joint, 1 beyond it."""
        return _smooth(0.5 + (points - self.point) @ self.normal / (2 * self.half))

    def taken(self, points: np.ndarray) -> np.ndarray:
        """Return how much of points of the parent's shape is the bone's: nothing of what is far beside it, as shoulders of a neck."""
        if not self.straight:
            return np.zeros(len(points))
        off = points - self.point
        beside = np.linalg.norm(off - np.outer(off @ self.normal, self.normal), axis=1)
        return self.passed(points) * _smooth(2.0 - beside / (1.5 * self.thick))


def _smooth(x: np.ndarray) -> np.ndarray:
    x = np.clip(x, 0.0, 1.0)
    return x * x * (3.0 - 2.0 * x)


def _joints(rig: Rig, shapes: list[tuple[int, int, Surface]]) -> dict[int, _Joint]:
    """Return the joint at which each bone but the root begins."""
    out, ways = {}, rig.ends - rig.rest
    lengths = np.maximum(np.linalg.norm(ways, axis=1), 1e-6)
    along = ways / lengths[:, None]
    for k, bone in enumerate(rig.bones):
        if bone.parent < 0:
            continue
        points = np.concatenate([rig.rest[k : k + 1], *(part.vertices for owner, _, part in shapes if owner == k)])
        off = points - rig.rest[k]
        thick = float(np.median(np.linalg.norm(off - np.outer(off @ along[k], along[k]), axis=1)))
        continues = bool(np.allclose(rig.ends[bone.parent], rig.rest[k]))
        half = max(min(thick, _WIDTH * min(lengths[k], lengths[bone.parent])), 1e-3)
        straight = continues or bool(along[k] @ along[bone.parent] > _STRAIGHT)
        out[k] = _Joint(rig.rest[k], along[bone.parent if continues else k], half, thick, straight)
    return out


def _blended(rig: Rig, joints: dict[int, _Joint], bone: int, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the bones that move points of a bone's own shape (n, 4), and their weights."""
    following = [k for k, other in enumerate(rig.bones) if other.parent == bone]
    own = joints[bone].passed(points) if bone in joints else np.ones(len(points))
    taken = np.array([joints[k].taken(points) for k in following]).reshape(len(following), len(points))
    taken = own * taken / np.maximum(taken.sum(axis=0), 1.0)
    family = np.array([bone, max(rig.bones[bone].parent, 0), *following])
    shares = np.vstack([own - taken.sum(axis=0), 1.0 - own, taken]).T
    order = np.argsort(-shares, axis=1, kind="stable")[:, :INFLUENCES]
    best = np.take_along_axis(shares, order, axis=1)
    best[best < _FAINT] = 0.0
    bones, weights = np.zeros((len(points), INFLUENCES), int), np.zeros((len(points), INFLUENCES))
    bones[:, : best.shape[1]] = np.where(best > 0, family[order], 0)
    weights[:, : best.shape[1]] = best / best.sum(axis=1, keepdims=True)
    return bones, weights
