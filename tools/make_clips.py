"""Makes the clips that come with Interplay: runs each scenario of src/interplay/clips and keeps its motion beside it.

    make clips

A phase called ``settle`` at the beginning brings the body to where the clip begins, and is no part of it.
"""

import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import yaml

import interplay as ip
from interplay.motion.clip_file import SHIPPED

FPS = 60


def performed(scenario: Path) -> ip.Clip:
    """Return the motion of a scenario file."""
    with tempfile.TemporaryDirectory() as folder:
        report = ip.run(str(scenario), folder)
        if report["failure"] is not None:
            sys.exit(f"{scenario.name}: {report['failure']}")
        recording = ip.Recording(folder)
        settling = [time for time, phase in zip(recording["time"], recording.phases, strict=True) if phase == "settle"]
        clip = ip.clip_from_recording(recording)
    begin = settling[-1] if settling else 0.0
    clip = clip.cut(begin, clip.time[-1]).resampled(FPS)
    happens = yaml.safe_load(scenario.read_text())["title"]
    return replace(clip, title=scenario.stem, source=f"{happens} (performed by {scenario.name})")


def main() -> None:
    """Make all clips, or those named."""
    for name in sys.argv[1:] or sorted(path.stem for path in SHIPPED.glob("*.yaml")):
        clip = performed(SHIPPED / f"{name}.yaml")
        path = clip.save(SHIPPED / f"{name}.clip")
        print(f"{path.name}: {clip.duration:.2f} s, {len(clip.time)} frames, {path.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
