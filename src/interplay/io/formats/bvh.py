"""Motion alone, as BVH: a skeleton's offsets in its rest pose and the angles of its joints; one file for each character."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Literal

import numpy as np
import pydantic
from scipy.spatial.transform import Rotation

from interplay.errors import InputError
from interplay.io.formats.base import Format, Progress
from interplay.io.formats.exchange import STILL, Motion, performance_of
from interplay.io.formats.gltf import Y_UP
from interplay.io.recording import Recording
from interplay.io.skeletons import Armature, local
from interplay.io.take import Poses

_TURNS = ("Zrotation", "Xrotation", "Yrotation")
_PLACES = ("Xposition", "Yposition", "Zposition")


class BvhOptions(Motion):
    """Of motion as BVH."""

    unit: Literal["m", "cm"] = pydantic.Field("m", description="of lengths: m (as Blender reads it) or cm")


def write(recording: Recording, out: Path, options: BvhOptions, progress: Progress) -> list[Path]:
    """Write ``OUT.bvh``, or of several characters ``OUT_alice.bvh`` and so on; y is up, the rest pose looks along z."""
    play = performance_of(recording, options)
    if not play.armatures:
        raise InputError(".bvh: expected a recording with a character, got one that has none")
    scale, written = {"m": 1.0, "cm": 100.0}[options.unit], []
    for n, (armature, poses) in enumerate(zip(play.armatures, play.poses, strict=True)):
        progress(n / len(play.armatures))
        suffix = f"_{armature.rig.name.replace('/', '_')}" if len(play.armatures) > 1 else ""
        written.append(out.with_name(f"{out.stem}{suffix}{out.suffix}"))
        written[-1].write_text(_bvh(armature, poses, options.fps, scale), encoding="utf-8")
    return written


def _bvh(armature: Armature, poses: Poses, fps: int, scale: float) -> str:
    """Return the file's text. The root's offset is 0, so that it does not matter whether readers add it to its position."""
    axes = np.broadcast_to(Y_UP.T, (len(armature.names), 3, 3))  # bones at rest have the axes of the file
    motion, rest = local(armature, poses, axes), local(armature, armature.rest_pose(), axes).positions[0]
    rest[0] = 0.0
    turn = motion.rotations.copy()
    at, turn[:, 0] = motion.positions * scale, Y_UP @ turn[:, 0]
    at[:, 0] = at[:, 0] @ Y_UP.T
    shifting = np.abs(motion.positions - rest).max(axis=(0, 2)) > STILL
    shifting[0] = True
    columns = []
    for k in range(len(armature.names)):
        columns += [at[:, k]] if shifting[k] else []
        columns.append(_angles(turn[:, k]))
    table = np.hstack(columns)
    lines = ["HIERARCHY", *_joint(armature, rest * scale, shifting, scale, 0, 0)]
    lines += ["MOTION", f"Frames: {len(table)}", f"Frame Time: {1 / fps:.9f}"]
    lines += [" ".join(f"{value:.6f}" for value in row) for row in table]
    return "\n".join(lines) + "\n"


def _angles(rotations: np.ndarray) -> np.ndarray:
    """Return angles [deg] about z, then the new x, then the new y (n, 3), without jumps by whole turns."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # where an angle is free, any will do
        return np.unwrap(Rotation.from_matrix(rotations).as_euler("ZXY", degrees=True), period=360.0, axis=0)


def _joint(
    armature: Armature, rest: np.ndarray, shifting: np.ndarray, scale: float, bone: int, depth: int
) -> list[str]:
    """Return the lines about a bone and all that hang on it, in the order of its channels."""
    channels = (*(_PLACES if shifting[bone] else ()), *_TURNS)
    inner = [f"OFFSET {_numbers(rest[bone])}", f"CHANNELS {len(channels)} {' '.join(channels)}"]
    following = [k for k, parent in enumerate(armature.parents) if parent == bone]
    for k in following:
        inner += _joint(armature, rest, shifting, scale, k, depth + 1)
    if not following:
        tip = (armature.ends()[bone] - armature.rest[bone]) @ Y_UP.T * scale
        inner += ["End Site", "{", f"  OFFSET {_numbers(tip)}", "}"]
    kind = "ROOT" if bone == 0 else "JOINT"
    name = armature.names[bone].replace(" ", "_")
    return [f"{kind} {name}", "{", *("  " + line for line in inner), "}"]


def _numbers(vector: np.ndarray) -> str:
    return " ".join(f"{value:.6f}" for value in vector)


FORMAT = Format((".bvh",), "motion of skeletons, one file for each character (docs/exchange.md)", write, BvhOptions)
