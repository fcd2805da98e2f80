"""Our gaits beside people's: a figure (docs/images/gaits.png) and a table, of clips that `interplay compose` wrote and of captured ones.

    python tools/gait_facts.py --ours out/walk_1.3 out/run_3 … --captured clips/02_01.bvh clips/09_01.bvh --out docs/images/gaits.png

Step length and frequency, contact and flight, peak forces over speed, and angles of hip, knee and ankle over the cycle. Captured motion is
imported on our body, and is told as if all were as long as ours: lengths with those of legs, times with their roots (equal Froude numbers).
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.interpolate import CubicSpline

import interplay as ip
from interplay.io.clips.body import measure_body
from interplay.io.clips.importing import import_files
from interplay.motion.clip_file import CLIP_FILE

PEOPLE = {
    "walk": {
        "speed": [0.8, 1.3, 1.8],
        "step": [0.54, 0.70, 0.84],
        "contact": [0.87, 0.66, 0.55],
        "peak": [1.03, 1.17, 1.45],
    },
    "run": {
        "speed": [2.0, 3.0, 4.0, 5.0],
        "step": [0.76, 1.09, 1.40, 1.69],
        "contact": [0.31, 0.25, 0.21, 0.18],
        "peak": [2.1, 2.4, 2.6, 2.75],
    },
}
"""What people about 1.75 m tall do at speeds [m/s]: length of a step [m], how long a foot stands [s], peak of the vertical force over the weight.

Walks: rounded from the ranges of Winter (1991), Murray (1967) and Perry (1992); runs: from Cavagna and others (1988), Novacheck (1998), Weyand
and others (2000). As commonly quoted of these, rounded; neither digitised nor looked up anew.
"""

PERCENT = np.arange(0, 101, 10)
CURVES = {
    "walk": {
        "hip_flexion": [30, 26, 16, 6, -4, -10, -5, 13, 28, 33, 30],
        "knee_flexion": [5, 18, 13, 6, 5, 13, 38, 60, 48, 14, 5],
        "ankle_flexion": [0, -4, 4, 8, 11, 7, -17, -7, 1, 1, 0],
    },
    "run": {
        "hip_flexion": [40, 36, 22, 6, -5, -3, 14, 35, 48, 48, 40],
        "knee_flexion": [15, 40, 38, 22, 20, 45, 80, 95, 75, 28, 15],
        "ankle_flexion": [3, 16, 24, 6, -20, -16, -2, 3, 4, 3, 3],
    },
}
CURVES_AT = {"walk": 1.3, "run": 3.0}
"""Angles [deg] over a cycle that begins when the foot lands: walking at about 1.3 m/s (Winter 1991; Perry 1992), running at about 3 m/s
(Novacheck 1998), to about 5°, as commonly quoted."""


class Facts(NamedTuple):
    """Of one clip: kind, speed [m/s], step [m], how long a foot stands [s], flight [s], peak force over the weight, angles (joint: (101,)).

    ``shoes``: whether who was composed wears them.
    """

    name: str
    kind: str
    speed: float
    step: float
    contact: float
    flight: float
    peak: float | None
    angles: dict[str, np.ndarray]
    shoes: bool = False


def stances(clip: ip.Clip, who: str, side: str) -> np.ndarray:
    """Return from when to when a foot stands (k, 2)."""
    touches = sorted((t.begin, t.end) for t in clip.touches if t.first.startswith(f"{who}/{side}_"))
    out: list[list[float]] = []
    for begin, end in touches:
        if out and begin <= out[-1][1] + 0.02:
            out[-1][1] = max(out[-1][1], end)
        else:
            out.append([begin, end])
    return np.array(out)


def facts(folder: Path) -> Facts:
    """Measure what a folder holds."""
    report = json.loads((folder / "report.json").read_text())
    (worth,) = report["figures"].values()
    mine = facts_of(folder.name, ip.Clip.load(folder / CLIP_FILE), worth["peak_force"])
    return mine._replace(shoes=bool(report["parameters"].get("shoes")))


def captured_facts(file: Path) -> Facts:
    """Measure a captured walk or run, as one of somebody with legs as long as ours."""
    found = import_files([file])
    (capture,), (who,) = found.captures, found.clip.motions
    parts = (("thigh", "shank"), ("shank", "foot"))
    points = capture.points
    leg = sum(np.linalg.norm(points[f"left_{one}"] - points[f"left_{other}"], axis=1).mean() for one, other in parts)
    slower = np.sqrt(measure_body(found.scene, who).leg / leg)
    mine = facts_of(file.stem, found.clip, None)
    return mine._replace(speed=mine.speed / slower, contact=mine.contact * slower, flight=mine.flight * slower)


def facts_of(name: str, clip: ip.Clip, peak: float | None) -> Facts:
    """Measure a cycle of the left foot in the middle of a clip."""
    (who,) = clip.motions
    motion = clip.motions[who]
    left, right = stances(clip, who, "left"), stances(clip, who, "right")
    whole = left[left[:, 1] < clip.time[-1] - 1e-3]
    k = max(0, min(len(left) - 2, len(whole) // 2))
    begin, end = left[k, 0], left[k + 1, 0]
    at = np.linspace(begin, end, 101)
    place = np.stack([np.interp(at[[0, -1]], clip.time, motion.root[:, axis]) for axis in (0, 1)])
    stride, seconds = float(np.linalg.norm(place[:, 1] - place[:, 0])), end - begin
    contact = float(left[k, 1] - begin)
    other = [r for r in right if r[1] > begin and r[0] < end]
    stood = contact + sum(min(b, end) - max(a, begin) for a, b in other)
    kind = "walk" if contact > seconds / 2 else "run"
    angles = {
        joint: np.degrees(np.interp(at, clip.time, motion.angles[:, motion.joints.index(f"left_{joint}")]))
        for joint in CURVES["walk"]
    }
    flight = max(0.0, (seconds - stood) / 2) if kind == "run" else 0.0
    return Facts(name, kind, stride / seconds, stride / 2, contact, flight, peak, angles)


def curve(kind: str, joint: str) -> np.ndarray:
    """Return people's angle at each percent of a cycle (101,) [deg]."""
    return CubicSpline(PERCENT, CURVES[kind][joint])(np.arange(101))


def table(ours: list[Facts], captured: list[Facts]) -> str:
    """Return all as a Markdown table, people's in brackets."""
    head = "| | step [m] | steps a second | a foot stands [s] | stance [%] | flight [s] | peak force |"
    rows = [head, "| --- | --- | --- | --- | --- | --- | --- |"]

    def beside(value: float, theirs: float, digits: int = 2) -> str:
        return f"{value:.{digits}f}" + (f" ({theirs:.{digits}f})" if np.isfinite(theirs) else "")

    for k, one in enumerate([*ours, *captured]):
        known = PEOPLE[one.kind]
        step, contact, peak = (
            float(np.interp(one.speed, known["speed"], known[name], left=np.nan, right=np.nan))
            for name in ("step", "contact", "peak")
        )
        theirs, span = step / one.speed, one.step / one.speed
        cells = [
            f"{one.kind} {one.speed:.2g}{' (captured)' if k >= len(ours) else ' in shoes' if one.shoes else ''}",
            beside(one.step, step),
            beside(1 / span, 1 / theirs),
            beside(one.contact, contact),
            beside(50 * one.contact / span, 50 * contact / theirs, 0),
            beside(one.flight, max(0.0, theirs - contact)) if one.kind == "run" else "–",
            beside(one.peak, peak) if one.peak else "–",
        ]
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)


def draw(ours: list[Facts], captured: list[Facts], out: Path) -> None:
    """Draw the figure."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    fig, axes = plt.subplots(3, 4, figsize=(13, 8.5))
    panels = (
        ("step", "length of a step [m]"),
        ("freq", "steps a second"),
        ("contact", "a foot stands [s]"),
        ("peak", "peak force / weight"),
    )
    for ax, (what, title) in zip(axes[0], panels, strict=True):
        for kind, marker in (("walk", "o"), ("run", "s")):
            known = PEOPLE[kind]
            speeds = np.array(known["speed"])
            values = speeds / known["step"] if what == "freq" else np.array(known[what])
            ax.plot(
                speeds,
                values,
                color="0.6",
                lw=5,
                alpha=0.6,
                solid_capstyle="round",
                label="people" if kind == "walk" else None,
            )
            for group, colour, label in (
                ([f for f in ours if not f.shoes], "C0", "ours"),
                ([f for f in ours if f.shoes], "C2", "ours, in shoes"),
                (captured, "C1", "captured"),
            ):
                mine = sorted((f for f in group if f.kind == kind), key=lambda f: f.speed)
                seen = [(f.speed, f.speed / f.step if what == "freq" else getattr(f, what)) for f in mine]
                seen = [(s, v) for s, v in seen if v is not None]
                if seen:
                    ax.plot(
                        *np.array(seen).T,
                        marker,
                        color=colour,
                        label=label if kind == "walk" else None,
                        ls="" if group is captured else "-",
                    )
        ax.set_title(title, fontsize=10)
        ax.set_xlabel("m/s", fontsize=9)
    axes[0, 0].legend(fontsize=8)
    percent = np.arange(101)
    for row, kind in ((1, "walk"), (2, "run")):
        for ax, name in zip(axes[row], ("hip_flexion", "knee_flexion", "ankle_flexion"), strict=False):
            theirs = curve(kind, name)
            ax.fill_between(percent, theirs - 6, theirs + 6, color="0.8")
            for shoes, colours in ((False, "Blues"), (True, "Greens")):
                mine = [f for f in ours if f.kind == kind and f.shoes is shoes]
                mine = sorted(mine, key=lambda f: abs(f.speed - CURVES_AT[kind]))[: 1 if shoes else None]
                mine = sorted(mine, key=lambda f: f.speed)
                for k, f in enumerate(mine):
                    ax.plot(
                        percent,
                        f.angles[name],
                        color=plt.get_cmap(colours)(0.3 + 0.6 * (k + 1) / len(mine)),
                        label=f"{f.speed:.2g} m/s{', in shoes' if shoes else ''}",
                    )
            for f in captured:
                if f.kind == kind:
                    ax.plot(percent, f.angles[name], "C1--", label=f"captured, {f.speed:.2g} m/s")
            ax.set_title(f"{kind}: {name.replace('_', ' ')} [deg]", fontsize=10)
            ax.set_xlabel("% of the cycle", fontsize=9)
        axes[row, 3].axis("off")
        axes[row, 3].legend(*axes[row, 0].get_legend_handles_labels(), fontsize=9, loc="upper left", frameon=False)
    axes[1, 3].text(
        0,
        -0.2,
        "grey: people, as commonly quoted,\nrounded\nblue: ours; green: in shoes,\nweights fitted to people's\n"
        "orange: captured, on our body;\nnot used in fitting",
        fontsize=9,
    )
    fig.tight_layout()
    fig.savefig(out, dpi=75)


def main() -> None:
    """Measure, draw, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ours", nargs="+", type=Path, required=True)
    parser.add_argument("--captured", nargs="*", type=Path, default=[], help="BVH files of a walk or a run")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    ours, captured = [facts(folder) for folder in given.ours], [captured_facts(file) for file in given.captured]
    print(table(ours, captured))
    if given.out:
        draw(ours, captured, given.out)


if __name__ == "__main__":
    main()
