"""What formats for other tools share: their options, and a recording laid out for them."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
import pydantic
from scipy.spatial.transform import Rotation

from interplay.errors import InterplayError
from interplay.io.formats.base import Options
from interplay.io.props import Prop, props_of
from interplay.io.recording import Recording
from interplay.io.rig import rigs_of
from interplay.io.skeletons import Armature, armature_of
from interplay.io.take import Poses, Take, take_of

STILL = 1e-6
"""What moves and turns by less than this [m, rad] does not move."""


class Motion(Options):
    """Of motion for other tools."""

    fps: Annotated[Literal[24, 30, 60, 120], pydantic.BeforeValidator(lambda v: int(v) if str(v).isdigit() else v)] = (
        pydantic.Field(30, description="frames a second: 24, 30, 60 or 120")
    )
    skeleton: Literal["interplay", "mixamo", "unreal", "vrm"] = pydantic.Field(
        "interplay", description="names and hierarchy of bones: interplay, mixamo, unreal or vrm"
    )
    root_motion: bool = pydantic.Field(
        True, description="whether characters move through the world, or stay in place over where they begin"
    )


class Performance(NamedTuple):
    """A recording laid out for other tools."""

    take: Take
    armatures: tuple[Armature, ...]
    poses: tuple[Poses, ...]
    """Of the armatures' bones, in the world."""
    props: list[Prop]


def performance_of(recording: Recording, options: Motion) -> Performance:
    """Lay a recording out as options ask."""
    rigs = rigs_of(recording.model)
    take = take_of(recording, rigs, options.fps, options.root_motion)
    armatures = tuple(armature_of(rig, options.skeleton) for rig in rigs)
    poses = tuple(a.poses(p) for a, p in zip(armatures, take.poses, strict=True))
    return Performance(take, armatures, poses, props_of(recording.model, rigs))


def quaternions(rotations: np.ndarray) -> np.ndarray:
    """Return matrices (…, 3, 3) as quaternions (…, 4), w last; along the first axis none jumps to its opposite."""
    quats = Rotation.from_matrix(rotations.reshape(-1, 3, 3)).as_quat().reshape(*rotations.shape[:-2], 4)
    flips = np.where((quats[1:] * quats[:-1]).sum(axis=-1, keepdims=True) < 0, -1.0, 1.0)
    quats[1:] *= np.cumprod(flips, axis=0)
    return quats


def moves(track: np.ndarray) -> bool:
    """Return whether anything of a track (frames, …) ever changes."""
    return bool(np.ptp(track, axis=0).max() > STILL)


def camera_poses(take: Take) -> Poses:
    """Return the camera over time as the only member of poses: it looks along its −z, y is up."""
    back = np.array([shot.position - shot.look_at for shot in take.shots])
    z = back / np.linalg.norm(back, axis=1, keepdims=True)
    x = np.cross([0.0, 0.0, 1.0], z)
    x /= np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-9)
    turn = np.stack([x, np.cross(z, x), z], axis=-1)
    return Poses(np.array([shot.position for shot in take.shots])[:, None], turn[:, None])


def needed(module: str, ending: str) -> Any:
    """Return a library that a format needs, or say how to get it."""
    try:
        return importlib.import_module(module)
    except ImportError:
        library: ModuleType | str = module.partition(".")[0]
        raise InterplayError(
            f"{ending} needs {library}, which is not installed: pip install 'interplay[exchange]'"
        ) from None
