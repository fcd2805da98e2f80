"""Characters as rigs: which bones a kinematic tree has, and where they lie in the pose in which a skin is bound to them.

In the rest pose every bone has the axes of the world, so that a bone's rotation is how it has turned since then: what
formats without rest rotations (BVH) need, and what others read most easily. The pose stands on the ground at the origin
and looks along −y, its left at +x: so it faces forward in every tool, once its axes are converted (+z in glTF).
"""

from __future__ import annotations

from typing import NamedTuple

import mujoco
import numpy as np

from interplay.models.base import VISUAL_GROUP
from interplay.models.fingers import hand_of
from interplay.models.hand import FINGERS, Hand
from interplay.view.meshes import geom_mesh

_FREE = 3
"""A tree whose root has fewer DOFs than this cannot go anywhere: it is a mechanism."""

_STUB = 0.05
"""Length of a bone that nothing is drawn for [m]."""


class Bone(NamedTuple):
    """A bone: a body of the scene, or a finger's segment, which is no body."""

    name: str
    """Without the character's: ``left_thigh``, ``left_index_1``."""
    parent: int
    """Its place among the bones; −1: none."""
    body: int
    """The body whose frame it is; of a finger's segment, its hand."""
    finger: tuple[str, int] | None = None
    """Of a finger's segment: which finger, and which segment of it, from the palm outward."""


class Frame(NamedTuple):
    """Where a body is: position (3,) [m] and rotation matrix (3, 3)."""

    position: np.ndarray
    rotation: np.ndarray


class Rig(NamedTuple):
    """One character's bones, parents before children, and their rest pose."""

    name: str
    bones: tuple[Bone, ...]
    pose: str
    """``T``: arms to the sides, palms down, thumbs forward, legs straight; ``reference``: as the body's file has it."""
    rest: np.ndarray
    """Where bones begin in the rest pose (n, 3) [m]."""
    ends: np.ndarray
    """Where they end (n, 3): where the next one begins (a hand: the middle finger), of the last in a row where its shape ends."""
    bodies: dict[int, Frame]
    """The frames of its bodies in the rest pose."""
    hands: dict[int, Hand]
    """Hands with fingers that bend, by their bodies."""
    geoms: dict[int, int]
    """The bone of each geom that is seen."""

    def place(self, name: str) -> int:
        """Return which bone has a name; −1: none."""
        return next((k for k, bone in enumerate(self.bones) if bone.name == name), -1)

    def rest_points(self, m: mujoco.MjModel, geom: int) -> tuple[np.ndarray, np.ndarray]:
        """Return vertices (n, 3) and triangles (k, 3) of a geom in the rest pose, where fingers are flat as in the model."""
        vertices, faces = geom_mesh(m, geom)
        position, rotation = self.bodies[int(m.geom_bodyid[geom])]
        turn = np.empty(9)
        mujoco.mju_quat2Mat(turn, m.geom_quat[geom])
        local = m.geom_pos[geom] + vertices.astype(float) @ turn.reshape(3, 3).T
        return position + local @ rotation.T, faces


def rigs_of(m: mujoco.MjModel) -> list[Rig]:
    """Return the rig of every character of a scene: of every tree of several bodies that is free to move about."""
    trees = [np.flatnonzero(m.body_treeid == tree).tolist() for tree in range(m.ntree)]
    return [_rig(m, bodies) for bodies in trees if len(bodies) > 2 and m.body_dofnum[bodies[0]] >= _FREE]


def _rig(m: mujoco.MjModel, bodies: list[int]) -> Rig:
    owner = m.body(bodies[0]).name.rpartition("/")[0]
    hands = {b: hand for b in bodies if (hand := hand_of(m, b)) is not None}
    bones: list[Bone] = []
    places: dict[int, int] = {}
    geoms: dict[int, int] = {}
    for body in bodies:
        places[body] = len(bones)
        name = m.body(body).name.removeprefix(f"{owner}/") or f"body_{body}"
        bones.append(Bone(name, places.get(int(m.body_parentid[body]), -1), body))
        if body not in hands:
            continue
        for finger in FINGERS:
            for n, segment in enumerate(hands[body].names(finger)):
                geoms[m.geom(f"{owner}/{segment}").id] = len(bones)
                bones.append(Bone(segment, len(bones) - 1 if n else places[body], body, (finger, n)))
    for geom in np.flatnonzero((m.geom_group == VISUAL_GROUP) & np.isin(m.geom_bodyid, bodies)).tolist():
        geoms.setdefault(geom, places[int(m.geom_bodyid[geom])])
    empty = np.zeros((len(bones), 3))
    frames = _rest_frames(m, bones, bool(hands))
    rig = Rig(owner or bones[0].name, tuple(bones), "T" if hands else "reference", empty, empty, frames, hands, geoms)
    return _measured(m, _on_the_ground(m, rig))


def _rest_frames(m: mujoco.MjModel, bones: list[Bone], arms_out: bool) -> dict[int, Frame]:
    """Return the frames of bodies in the rest pose, its root at the origin."""
    d = mujoco.MjData(m)
    mujoco.mj_kinematics(m, d)
    at, turn = d.xpos.copy(), d.xmat.reshape(-1, 3, 3).copy()
    bodies = [bone.body for bone in bones if bone.finger is None]
    for arm in [bone.body for bone in bones if arms_out and bone.name.endswith("_upper_arm")]:
        # From hanging to horizontal as an abduction turns it: then the palm looks down and the thumb forward.
        side = 1.0 if turn[bodies[0]][:, 1] @ (at[arm] - at[bodies[0]]) > 0 else -1.0
        forward, start = turn[bodies[0]], at[arm].copy()
        lift = forward @ np.array([[1.0, 0, 0], [0, 0, -side], [0, side, 0]]) @ forward.T
        for body in bodies:
            if _hangs_on(m, body, arm):
                at[body], turn[body] = start + lift @ (at[body] - start), lift @ turn[body]
    face, origin = _face_forward({bone.name: at[bone.body] for bone in bones}), at[bodies[0]].copy()
    return {body: Frame(face @ (at[body] - origin), face @ turn[body]) for body in bodies}


def _hangs_on(m: mujoco.MjModel, body: int, ancestor: int) -> bool:
    while body and body != ancestor:
        body = int(m.body_parentid[body])
    return body == ancestor


def _face_forward(at: dict[str, np.ndarray]) -> np.ndarray:
    """Return the turn about z after which the left is at +x; without a left and a right, x becomes −y."""
    left = np.array([0.0, 1.0])
    for part in ("thigh", "foot", "upper_arm"):
        if f"left_{part}" in at and f"right_{part}" in at:
            way = (at[f"left_{part}"] - at[f"right_{part}"])[:2]
            if np.linalg.norm(way) > 1e-3:
                left = way / np.linalg.norm(way)
                break
    c, s = left
    return np.array([[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]])


def _on_the_ground(m: mujoco.MjModel, rig: Rig) -> Rig:
    """Return a rig lifted so that the lowest point of what is seen of it is at height 0."""
    lowest = min((rig.rest_points(m, geom)[0][:, 2].min() for geom in rig.geoms), default=0.0)
    lift = np.array([0.0, 0.0, -lowest])
    return rig._replace(bodies={b: Frame(f.position + lift, f.rotation) for b, f in rig.bodies.items()})


def _measured(m: mujoco.MjModel, rig: Rig) -> Rig:
    """Return a rig with the beginnings and ends of its bones."""
    rest, ends = np.zeros((len(rig.bones), 3)), np.zeros((len(rig.bones), 3))
    for k, bone in enumerate(rig.bones):
        position, rotation = rig.bodies[bone.body]
        rest[k] = position
        if bone.finger is not None:
            finger, n = bone.finger
            joints = rig.hands[bone.body].joints(finger, np.zeros(len(FINGERS[finger].lengths)))
            rest[k], ends[k] = position + rotation @ joints[n], position + rotation @ joints[n + 1]
    for k, bone in enumerate(rig.bones):
        following = [c for c, other in enumerate(rig.bones) if other.parent == k]
        if following:
            middle = (c for c in following if rig.bones[c].finger == ("middle", 0))
            ends[k] = rest[next(middle, following[0])]
        elif bone.finger is None:
            ends[k] = _tip(m, rig, k, rest[k])
    return rig._replace(rest=rest, ends=ends)


def _tip(m: mujoco.MjModel, rig: Rig, bone: int, start: np.ndarray) -> np.ndarray:
    """Return where the last bone of a row ends: in the middle of what is seen farthest from its beginning."""
    shapes = [rig.rest_points(m, geom)[0] for geom, owner in rig.geoms.items() if owner == bone]
    if not shapes:
        return start + [0.0, 0.0, _STUB]
    points = np.concatenate(shapes)
    far = np.linalg.norm(points - start, axis=1)
    return points[far > 0.97 * far.max()].mean(axis=0)
