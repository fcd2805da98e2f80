"""A recording as frames of one common time line: where every body and every bone is in each of them.

Frames are evenly spread from 0 on.
"""

from __future__ import annotations

import copy
from typing import NamedTuple

import mujoco
import numpy as np

from interplay.io.moments import Moments
from interplay.io.recording import Recording
from interplay.io.rig import Rig
from interplay.view.camera import Shot, first_shot
from interplay.view.fingers import Fingers


class Poses(NamedTuple):
    """Bones over time: where they begin (frames, n, 3) [m], how they have turned since the rest pose (frames, n, 3, 3)."""

    positions: np.ndarray
    rotations: np.ndarray


class Take(NamedTuple):
    """All frames of a recording."""

    fps: int
    times: np.ndarray
    """Of the frames [s], from 0 on."""
    positions: np.ndarray
    """Of the bodies (frames, nbody, 3) [m]."""
    rotations: np.ndarray
    """Of the bodies (frames, nbody, 3, 3)."""
    poses: tuple[Poses, ...]
    """Of the rigs' bones."""
    shots: tuple[Shot, ...]
    """Of the camera."""


def take_of(recording: Recording, rigs: list[Rig], fps: int, root_motion: bool = True) -> Take:
    """Return the frames of a recording; without root motion every character stays over the point where it begins."""
    m, times = recording.model, frame_times(recording, fps)
    positions, rotations = np.empty((len(times), m.nbody, 3)), np.empty((len(times), m.nbody, 3, 3))
    d, shots, moments = mujoco.MjData(m), [], Moments(recording)
    clock = float(recording["time"][0]) + times
    for n, time in enumerate(clock):
        d.qpos[:] = moments.qpos(time)
        mujoco.mj_kinematics(m, d)
        positions[n], rotations[n] = d.xpos, d.xmat.reshape(-1, 3, 3)
        shots.append(first_shot(recording.camera, m, d))
    fingers, poses = Fingers(copy.copy(m)), []
    for rig in rigs:
        pose = _bone_poses(rig, positions, rotations, lambda hand: _angles(fingers, moments, clock, m.body(hand).name))
        if not root_motion:
            drift = pose.positions[:, :1] - pose.positions[:1, :1]
            pose = pose._replace(positions=pose.positions - drift * [1.0, 1.0, 0.0])
        poses.append(pose)
    return Take(fps, times, positions, rotations, tuple(poses), tuple(shots))


def frame_times(recording: Recording, fps: float) -> np.ndarray:
    """Return the times of frames [s], counted from the recording's first step."""
    time = recording["time"]
    return np.arange(int((time[-1] - time[0]) * fps + 1e-6) + 1) / fps


def _angles(fingers: Fingers, moments: Moments, clock: np.ndarray, hand: str) -> list:
    """Return the angles of a hand's fingers at some times."""
    return [fingers.angles(hand, moments.grips(float(time))) for time in clock]


def _bone_poses(rig: Rig, positions: np.ndarray, rotations: np.ndarray, angles_of) -> Poses:
    """Return the bones of a rig by the poses of all bodies, and by the angles of its hands' fingers over time."""
    bodies = [bone.body for bone in rig.bones]
    at, turn = positions[:, bodies].copy(), rotations[:, bodies]
    turn = turn @ np.array([rig.bodies[body].rotation.T for body in bodies])
    for body, hand in rig.hands.items():
        angles, rest = angles_of(body), rig.bodies[body].rotation
        for k, bone in enumerate(rig.bones):
            if bone.body == body and bone.finger is not None and bone.finger[1] == 0:
                finger = bone.finger[0]
                frames = [hand.frames(finger, np.asarray(a[finger])) for a in angles]
                joints, turns = np.array([f[0][:-1] for f in frames]), np.array([f[1] for f in frames])
                own = slice(k, k + turns.shape[1])  # a finger's segments follow each other
                at[:, own] += np.einsum("tij,tnj->tni", rotations[:, body], joints)
                turn[:, own] = rotations[:, None, body] @ turns @ rest.T
    return Poses(at, turn)
