"""Makes the clips that come with Interplay: runs each scenario of src/interplay/clips and keeps its motion beside it; composes gaits.

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
GAITS = {
    "walk_slow": ("walk", 0.8),
    "walk": ("walk", 1.3),
    "walk_fast": ("walk", 1.8),
    "run_slow": ("run", 2.0),
    "run": ("run", 3.0),
    "run_fast": ("run", 4.0),
    "child_walk": ("child_walk", 0.9),
}
"""The composition and the speed [m/s] of each clip of a gait."""
STEPS = 6


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


def composed(name: str) -> ip.Clip:
    """Return the motion of a gait."""
    from interplay.compositions import composition  # CasADi is an extra

    kind, speed = GAITS[name]
    found = composition(kind)({"speed": speed, "steps": STEPS}).compose()
    if not found.solutions[-1].solved:
        sys.exit(f"{name}: {found.solutions[-1].status}: {', '.join(found.solutions[-1].worst)}")
    return kept(name, found.clip())


def kept(name: str, clip: ip.Clip) -> ip.Clip:
    """Return the clip of a gait as it is kept."""
    kind, speed = GAITS[name]
    clip = clip.resampled(FPS)
    (moved,) = clip.motions.values()
    return replace(
        clip,
        motions={"she": moved},
        touches=tuple(t._replace(first="she/" + t.first.partition("/")[2]) for t in clip.touches),
        title=name,
        source=f"{kind.replace('_', ' ')} of least effort at {speed:g} m/s, {STEPS} steps (interplay compose {kind})",
    )


def main() -> None:
    """Make all clips, or those named."""
    for name in sys.argv[1:] or sorted([*GAITS, *(path.stem for path in SHIPPED.glob("*.yaml"))]):
        clip = composed(name) if name in GAITS else performed(SHIPPED / f"{name}.yaml")
        path = clip.save(SHIPPED / f"{name}.clip")
        print(f"{path.name}: {clip.duration:.2f} s, {len(clip.time)} frames, {path.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
