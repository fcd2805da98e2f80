"""Files into a folder that plays and exports like a recording, and holds the clip: what ``interplay import`` does."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from interplay.errors import InputError, cannot_write
from interplay.io.arrays import write_recording
from interplay.io.clips.capture import Capture, read_capture
from interplay.io.clips.contacts import touches_of
from interplay.io.clips.measuring import Quality, measure
from interplay.io.clips.names import write_table
from interplay.io.clips.retarget import retarget
from interplay.models.base import Model
from interplay.models.humanoid import Humanoid
from interplay.motion.clip import Clip, Touch
from interplay.motion.clip_file import CLIP_FILE, write_touches
from interplay.motion.clip_model import clip_from_configurations
from interplay.scene.scene import Scene
from interplay.view.camera import Camera

NAMES = ("ann", "bob", "cleo", "dan", "eve", "finn", "gwen", "hugo")
"""What characters are called, in the order of files."""
CONTACTS_FILE, PARTS_FILE = "contacts.csv", "parts.yaml"
_CHILD = 1.3
"""Below this height [m], a body has a child's proportions."""


class Imported(NamedTuple):
    """A clip, the scene it plays in, the captures it is from, and how good it is."""

    clip: Clip
    scene: Scene
    captures: list[Capture]
    quality: Quality


def body_of_height(height: float, mass: float | None = None, **options: Any) -> Humanoid:
    """Return a human of a height [m] and mass [kg] (by default that of people of that height): a child where that is a child's."""
    return (Humanoid.child if height < _CHILD else Humanoid)(height, mass, **options)


def import_files(
    files: Sequence[str | Path],
    bodies: Sequence[Model] = (),
    *,
    table: Mapping[str, str | None] | None = None,
    unit: float | None = None,
    up: str | None = None,
    fps: float | None = None,
    contacts: Sequence[Touch] | None = None,
    progress: Callable[[float], None] = lambda done: None,
) -> Imported:
    """Read captured motion and bring it to bodies of ours.

    Args:
        files: BVH files; several are persons in one common frame.
        bodies: who plays each file; by default adults.
        table: joints of parts of the body that differ from the guess.
        unit: length of one unit [m]; by default guessed.
        up: axis that points up; by default guessed.
        fps: frames per second of the clip; by default those of the files.
        contacts: to be kept in place of those that are found.
        progress: is told how much is done, 0 to 1.
    """
    if not 1 <= len(files) <= len(NAMES):
        raise InputError(f"import: expected 1 to {len(NAMES)} files, got {len(files)}")
    if len(bodies) > len(files):
        raise InputError(f"import: {len(bodies)} bodies for {len(files)} files; expected at most one for each")
    captures = [read_capture(file, table, unit, up) for file in files]
    _check_common(captures)
    names = list(NAMES[: len(files)])
    scene = Scene()
    for k, name in enumerate(names):
        scene.add(bodies[k] if k < len(bodies) else Humanoid(), name, (0.0, 1.0 * k))
    found = retarget(captures, scene, names, contacts, progress)
    time = captures[0].time[: len(found.qpos)]
    touches = [t for pins in found.pins for t in pins.touches] + touches_of(found.meetings, names, time)
    source = "; ".join(f"{c.name}.bvh ({', '.join(c.said)})" for c in captures)
    title = " and ".join(c.name for c in captures)
    clip = clip_from_configurations(scene.model, time, found.qpos, names, touches=touches, title=title, source=source)
    quality = measure(scene.model, found)
    return Imported(clip if fps is None else clip.resampled(fps), scene, captures, quality)


def _check_common(captures: Sequence[Capture]) -> None:
    """Refuse files that cannot be of one scene: other frame rates, or other units."""
    first = captures[0]
    for other in captures[1:]:
        if abs((other.time[1] - other.time[0]) / (first.time[1] - first.time[0]) - 1) > 1e-3:
            raise InputError(
                f"{other.name} and {first.name} have different frame times; expected captures of one scene"
            )
        if abs(other.unit / first.unit - 1) > 1e-6:
            raise InputError(
                f"{other.name} seems to be in units of {other.unit:.4g} m and {first.name} of {first.unit:.4g} m; say --unit"
            )


def write_import(folder: str | Path, imported: Imported) -> Path:
    """Write recording, scene, clip, contacts and the table of parts into a folder, and return it."""
    folder, clip = Path(folder), imported.clip
    qpos = clip.configurations(imported.scene)
    first, *others = clip.motions
    off = [np.abs(clip.motions[name].root[:, :2] - clip.motions[first].root[:, :2]).max() for name in others]
    camera = Camera(follow=f"{first}/pelvis", distance=3.2 + 0.8 * float(max(off, default=0.0)))
    write_recording(folder, imported.scene, clip.time, qpos, name=clip.title, camera=camera, phases=_phases(clip))
    clip.save(folder / CLIP_FILE)
    write_touches(folder / CONTACTS_FILE, clip.touches)
    try:
        write_table(folder / PARTS_FILE, imported.captures[0].skeleton, imported.captures[0].parts)
    except OSError as error:
        raise cannot_write(folder, error) from None
    return folder


def _phases(clip: Clip) -> list[str]:
    """Return for each frame who touches whom, in words; feet are seen."""
    out = [""] * len(clip.time)
    for touch in clip.touches:
        if "/" in touch.second:
            for t in np.flatnonzero((clip.time >= touch.begin - 1e-6) & (clip.time <= touch.end + 1e-6)):
                out[t] = f"{touch.first} touches {touch.second}".replace("_", " ")
    return [phase or clip.title for phase in out]
