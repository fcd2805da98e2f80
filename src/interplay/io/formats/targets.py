"""Live input, as a targets file with which the run can be repeated."""

from __future__ import annotations

from pathlib import Path

from interplay.io.formats.base import Format, Options, Progress
from interplay.io.recording import Recording
from interplay.motion.targets import targets_text


def write(recording: Recording, out: Path, options: Options, progress: Progress) -> None:
    """Write what was done live."""
    out.write_text(targets_text(recording.inputs))


FORMAT = Format((".targets.csv",), "what was done live, to be done again with --targets", write)
