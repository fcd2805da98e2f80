"""What retargeting must know of a body of ours: its parts, where its limbs point when it stands, its soles and palms."""

from __future__ import annotations

from typing import NamedTuple

import mujoco
import numpy as np

from interplay.errors import InputError
from interplay.io.clips.capture import LIMBS
from interplay.io.clips.names import PARTS
from interplay.scene.scene import Scene

_ABOVE = {"hand": "forearm", "forearm": "upper_arm"}
_SHORTEST = 0.01
"""Length of a bone [m] below which its direction says nothing."""


class Sole(NamedTuple):
    """A sole in the frame of its foot: corners (4, 3) [m] (heel, heel, toes, toes), its rotation (z up, x to the toes).

    Of a ball, the corners are its middle, which is a ``radius`` [m] over the ground however the foot is turned; else that is 0.
    """

    body: int
    corners: np.ndarray
    rotation: np.ndarray
    radius: float = 0.0


class Palm(NamedTuple):
    """A surface of a body in its frame: middle (3,) [m] and outward normal (3,)."""

    body: int
    point: np.ndarray
    normal: np.ndarray


class Body(NamedTuple):
    """One character of a scene as it stands in its zero posture, facing +x.

    ``turns`` (3, 3) are the orientations of its parts' bodies there, ``bones`` (3,) the directions of its limbs; ``ids`` its parts'
    bodies; ``dofs`` its degrees of freedom, the six of its root first; ``hips`` the middle between its hip joints in its pelvis.
    """

    name: str
    ids: dict[str, int]
    turns: dict[str, np.ndarray]
    bones: dict[str, np.ndarray]
    lengths: dict[str, float]
    dofs: np.ndarray
    hips: np.ndarray
    soles: dict[str, Sole]
    surfaces: dict[str, Palm]
    ankle: float
    """Height of the ankles over the soles [m]."""

    @property
    def leg(self) -> float:
        """Length of its legs, from hip to ankle [m]."""
        return sum(self.lengths[f"left_{part}"] for part in ("thigh", "shank"))


def measure_body(scene: Scene, name: str) -> Body:
    """Return what a character of a scene is like."""
    m = scene.model
    d = mujoco.MjData(m)
    d.qpos[:] = m.qpos0
    for joint in range(m.njnt):
        if m.jnt_limited[joint] and m.jnt_type[joint] != mujoco.mjtJoint.mjJNT_FREE:
            adr = m.jnt_qposadr[joint]
            d.qpos[adr] = np.clip(d.qpos[adr], *m.jnt_range[joint])
    mujoco.mj_kinematics(m, d)
    ids = {part: mujoco.mj_name2id(m, mujoco.mjtObj.mjOBJ_BODY, f"{name}/{part}") for part in PARTS}
    ids = {part: body for part, body in ids.items() if body >= 0}
    lacking = [
        p for p in ("pelvis", "left_thigh", "left_shank", "left_foot", "right_thigh", "right_foot") if p not in ids
    ]
    if lacking:
        raise InputError(
            f"{name!r} cannot play a clip: it has no {', '.join(lacking)}; name them under 'bodies' of its sidecar"
        )
    turns = {part: d.xmat[body].reshape(3, 3).copy() for part, body in ids.items()}
    surfaces = {}
    for site in range(m.nsite):
        owner, _, own = m.site(site).name.partition("/")
        if owner == name and m.site_type[site] == mujoco.mjtGeom.mjGEOM_BOX:
            surfaces[own] = Palm(int(m.site_bodyid[site]), m.site_pos[site].copy(), _matrix(m.site_quat[site])[:, 2])
    bones, lengths = {}, {}
    for part in ids:
        bone = _bone(d, ids, surfaces, part)
        length = float(np.linalg.norm(bone))
        side, _, plain = part.partition("_")
        if length > _SHORTEST:
            bones[part], lengths[part] = bone / length, length
        elif f"{side}_{_ABOVE.get(plain)}" in bones:  # a hand, or joints of a wrist that meet in a point
            bones[part] = bones[f"{side}_{_ABOVE[plain]}"]
    root = int(m.body_rootid[ids["pelvis"]])
    tree = int(m.body_treeid[root])
    dofs = np.arange(m.tree_dofadr[tree], m.tree_dofadr[tree] + m.tree_dofnum[tree])
    if m.jnt_type[m.body_jntadr[root]] != mujoco.mjtJoint.mjJNT_FREE:
        raise InputError(f"{name!r} cannot play a clip: its root is not free to move")
    middle = (d.xpos[ids["left_thigh"]] + d.xpos[ids["right_thigh"]]) / 2
    hips = turns["pelvis"].T @ (middle - d.xpos[ids["pelvis"]])
    soles = {side: _sole(m, d, name, side, ids[f"{side}_foot"]) for side in ("left", "right")}
    ankle = float(np.mean([_ankle(m, d, sole, ids[f"{s}_foot"]) for s, sole in soles.items()]))
    return Body(name, ids, turns, bones, lengths, dofs, hips, soles, surfaces, ankle)


def _bone(d: mujoco.MjData, ids: dict[str, int], surfaces: dict[str, Palm], part: str) -> np.ndarray:
    """Return the way (3,) from a part's joint to the next one's; nothing where there is none.

    An arm may have but one part below its elbow, which is its hand, too: that leads to the palm.
    """
    side, _, plain = part.partition("_")
    here, turn = d.xpos[ids[part]], d.xmat[ids[part]].reshape(3, 3)
    following, palm = LIMBS.get(plain, ""), surfaces.get(f"{side}_palm")
    for name in (following, LIMBS.get(following, "")):
        if f"{side}_{name}" in ids:
            return d.xpos[ids[f"{side}_{name}"]] - here
    if plain == "hand" and f"{side}_forearm" not in ids and palm is not None and palm.body == ids[part]:
        return turn @ palm.point
    return np.zeros(3)


def _ankle(m: mujoco.MjModel, d: mujoco.MjData, sole: Sole, foot: int) -> float:
    """Return the height of an ankle over its sole when that is flat on the ground."""
    to_ankle = sole.rotation.T @ (_in_body(m, d, sole.body, d.xpos[foot]) - sole.corners.mean(0))
    return float(to_ankle[2]) + sole.radius


def _in_body(m: mujoco.MjModel, d: mujoco.MjData, body: int, point: np.ndarray) -> np.ndarray:
    return d.xmat[body].reshape(3, 3).T @ (point - d.xpos[body])


def _sole(m: mujoco.MjModel, d: mujoco.MjData, name: str, side: str, foot: int) -> Sole:
    """Return the sole of a side: a patch as it is; a ball's middle, as one point four times."""
    site = mujoco.mj_name2id(m, mujoco.mjtObj.mjOBJ_SITE, f"{name}/{side}_sole")
    if site < 0:
        raise InputError(f"{name!r} cannot play a clip: it has no surface {side}_sole")
    body = int(m.site_bodyid[site])
    middle, frame = m.site_pos[site], _matrix(m.site_quat[site])
    if m.site_type[site] != mujoco.mjtGeom.mjGEOM_BOX:
        up = d.xmat[body].reshape(3, 3).T @ [0, 0, 1.0]
        ahead = d.xmat[body].reshape(3, 3).T @ [1.0, 0, 0]
        frame = np.column_stack([ahead, np.cross(up, ahead), up])
        return Sole(body, np.repeat(middle[None], 4, axis=0), frame, float(m.site_size[site, 0]))
    # The patch's z looks out of the sole, down; x along the foot, to whichever end is farther from the ankle.
    up, along, half = -frame[:, 2], frame[:, 0], m.site_size[site, :2]
    if half[1] > half[0]:
        along, half = frame[:, 1], half[::-1]
    to_front = d.xmat[body].reshape(3, 3) @ along
    along = along if to_front[0] >= 0 else -along
    across = np.cross(up, along)
    corners = [middle + a * half[0] * along + b * half[1] * across for a in (-1, 1) for b in (-1, 1)]
    return Sole(body, np.array(corners), np.column_stack([along, across, up]))


def _matrix(quat: np.ndarray) -> np.ndarray:
    out = np.empty(9)
    mujoco.mju_quat2Mat(out, quat)
    return out.reshape(3, 3)
