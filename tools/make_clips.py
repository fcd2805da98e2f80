"""Makes the clips that come with Interplay: runs each scenario of src/interplay/clips and keeps its motion beside it; composes gaits and turns.

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
COMPOSED = {
    "walk_slow": ("walk", {"speed": 0.8, "steps": 6}),
    "walk": ("walk", {"speed": 1.3, "steps": 6}),
    "walk_fast": ("walk", {"speed": 1.8, "steps": 6}),
    "run_slow": ("run", {"speed": 2.0, "steps": 6}),
    "run": ("run", {"speed": 3.0, "steps": 6}),
    "run_fast": ("run", {"speed": 4.0, "steps": 6}),
    "child_walk": ("child_walk", {"speed": 0.9, "steps": 6}),
    "turn_and_pivot": ("turn_and_pivot", {"speed": 1.2, "turn": 45.0, "pivot": -90.0}),
}
"""The composition of each clip that is one, and its settings."""


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
    """Return the motion of a composition."""
    from interplay.compositions import composition  # CasADi is an extra

    kind, settings = COMPOSED[name]
    found = composition(kind)(settings).compose()
    if not found.solutions[-1].solved:
        sys.exit(f"{name}: {found.solutions[-1].status}: {', '.join(found.solutions[-1].worst)}")
    return kept(name, found.clip())


def kept(name: str, clip: ip.Clip) -> ip.Clip:
    """Return the clip of a composition as it is kept."""
    kind, settings = COMPOSED[name]
    said = ", ".join(f"{key} {value:g}" for key, value in settings.items())
    clip = clip.resampled(FPS)
    (moved,) = clip.motions.values()
    return replace(
        clip,
        motions={"she": moved},
        touches=tuple(t._replace(first="she/" + t.first.partition("/")[2]) for t in clip.touches),
        title=name,
        source=f"{kind.replace('_', ' ')} of least effort: {said} (interplay compose {kind})",
    )


def main() -> None:
    """Make all clips, or those named."""
    for name in sys.argv[1:] or sorted([*COMPOSED, *(path.stem for path in SHIPPED.glob("*.yaml"))]):
        clip = composed(name) if name in COMPOSED else performed(SHIPPED / f"{name}.yaml")
        path = clip.save(SHIPPED / f"{name}.clip")
        print(f"{path.name}: {clip.duration:.2f} s, {len(clip.time)} frames, {path.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
