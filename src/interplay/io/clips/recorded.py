"""Clips from recordings: what was simulated, as motion that can be cut, mirrored, looped and played by others."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from interplay.io.clips.footing import runs
from interplay.io.recording import Recording
from interplay.motion.clip import Clip, Touch
from interplay.motion.clip_model import characters_in, clip_from_configurations


def clip_from_recording(recording: Recording | str | Path, names: Sequence[str] | None = None) -> Clip:
    """Return the motion of some characters of a recording (by default of all), with their contacts."""
    recording = recording if isinstance(recording, Recording) else Recording(recording)
    names = list(names) if names is not None else characters_in(recording.model)
    time, sets = recording["time"], recording["contact_set"]
    members = [{(c["first"], c["second"]) for c in contacts} for contacts in recording.contact_sets]
    touches = []
    for first, second in recording.contacts:
        if second.split("/")[0] in names and first.split("/")[0] not in names:
            first, second, key = second, first, (first, second)
        else:
            key = (first, second)
        if first.split("/")[0] not in names:
            continue
        holding = [k for k, contacts in enumerate(members) if key in contacts]
        for begin, end in runs((sets[:, None] == holding).any(1)):
            if end - begin > 1:
                touches.append(Touch(first, second, float(time[begin]), float(time[end - 1])))
    return clip_from_configurations(
        recording.model,
        time,
        recording["qpos"],
        names,
        touches=touches,
        title=str(recording.header.get("scenario", "recording")),
        source=f"recording {recording.path.parent.name}",
    )
