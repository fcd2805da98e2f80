"""What happens in a recording, for engines that play sounds, put dust under feet and things into hands."""

from __future__ import annotations

import json
from pathlib import Path

import pydantic

from interplay.io.events import events_of
from interplay.io.formats.base import Format, Options, Progress, whole_file
from interplay.io.recording import Recording


class EventOptions(Options):
    """Of events."""

    fps: float = pydantic.Field(30.0, ge=1, le=1000, description="at which forces of contacts are sampled")


def write(recording: Recording, out: Path, options: EventOptions, progress: Progress) -> None:
    """Write phases, feet, hands and contacts with their forces, as :func:`interplay.io.events.events_of` describes them."""
    with whole_file(out) as unfinished:
        unfinished.write_text(json.dumps(events_of(recording, options.fps)), encoding="utf-8")


FORMAT = Format(
    (".events.json", "events.json"),
    "phases, feet down and up, grasps, releases, forces of contacts",
    write,
    EventOptions,
)
