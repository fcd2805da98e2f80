"""Clips of the characters in a model: from configurations, with what a mirror does to each joint."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import mujoco
import numpy as np

from interplay.errors import InputError
from interplay.maths.rotations import quaternion_of
from interplay.motion.clip import Clip, motion, other_side


def characters_in(m: mujoco.MjModel) -> list[str]:
    """Return the names of what can move as a whole and has joints: the characters, but also a door that is carried."""
    out = []
    for tree in range(m.ntree):
        root = int(m.tree_bodyadr[tree])
        if m.tree_dofnum[tree] > 6 and m.jnt_type[m.body_jntadr[root]] == mujoco.mjtJoint.mjJNT_FREE:
            out.append(m.body(root).name.split("/")[0])
    return out


def clip_from_configurations(m: mujoco.MjModel, time: Any, qpos: np.ndarray, names: Iterable[str], **more: Any) -> Clip:
    """Return a clip of characters of a model, from its configurations (T, nq); ``more`` as :meth:`Clip.from_arrays` takes it."""
    motions = {}
    for name in names:
        owned = [j for j in range(m.njnt) if m.joint(j).name.split("/")[0] == name]
        if not owned or m.jnt_type[owned[0]] != mujoco.mjtJoint.mjJNT_FREE:
            raise InputError(
                f"{name!r}: expected a character that is free to move, such as {', '.join(characters_in(m)) or 'none'}"
            )
        start, joints = int(m.jnt_qposadr[owned[0]]), owned[1:]
        names_ = [m.joint(j).name.split("/", 1)[1] for j in joints]
        stand = standing(m, int(m.jnt_bodyid[owned[0]]))
        upright = quaternion_of(stand.T @ _matrix(m.qpos0[start + 3 : start + 7]))
        signs = _mirror_signs(m, joints, names_, stand)
        motions[name] = motion(names_, qpos[:, m.jnt_qposadr[joints]], qpos[:, start : start + 7], signs, upright)
    return Clip.from_arrays(time, motions, **more)


def standing(m: mujoco.MjModel, root: int) -> np.ndarray:
    """Return where a character faces as it is placed: a rotation (3, 3) about z, from its left and right bodies."""
    d = _zero(m)
    names = {m.body(b).name: b for b in range(m.nbody) if m.body_rootid[b] == root}
    across = np.zeros(3)
    for name, body in names.items():
        twin = names.get(other_side(name))
        if twin is not None and "left" in name:
            across += d.xpos[body] - d.xpos[twin]
    across[2] = 0.0
    size = float(np.linalg.norm(across))
    if size < 1e-6:
        return np.eye(3)
    y = across / size
    return np.column_stack([[y[1], -y[0], 0.0], y, [0.0, 0.0, 1.0]])


def _mirror_signs(m: mujoco.MjModel, joints: Sequence[int], names: Sequence[str], stand: np.ndarray) -> np.ndarray:
    """Return the sign (n,) of each joint in the mirror, by its axis and that of its twin in the zero posture."""
    d, twin = _zero(m), dict(zip(names, joints, strict=True))
    out = np.ones(len(joints))
    for k, (name, joint) in enumerate(zip(names, joints, strict=True)):
        mine, theirs = stand.T @ d.xaxis[joint], stand.T @ d.xaxis[twin.get(other_side(name), joint)]
        # A turn about an axis is mirrored to a turn about (−x, y, −z), a slide along it to one along (x, −y, z).
        slide = m.jnt_type[joint] == mujoco.mjtJoint.mjJNT_SLIDE
        out[k] = -1.0 if (mine * ([1, -1, 1] if slide else [-1, 1, -1])) @ theirs < 0 else 1.0
    return out


def _zero(m: mujoco.MjModel) -> mujoco.MjData:
    d = mujoco.MjData(m)
    d.qpos[:] = m.qpos0
    mujoco.mj_kinematics(m, d)
    return d


def _matrix(quat: np.ndarray) -> np.ndarray:
    out = np.empty(9)
    mujoco.mju_quat2Mat(out, quat)
    return out.reshape(3, 3)
