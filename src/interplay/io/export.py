"""Exports of a recording: the exact record (.npz), a film strip (.png), a self-contained page (.html), live input (.csv)."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from interplay.errors import cannot_write, number, pick, whole
from interplay.io.grips import recorded_grips
from interplay.io.playback import write_html
from interplay.io.recording import Recording
from interplay.io.replay import Replay
from interplay.motion.targets import targets_text
from interplay.view.camera import Camera
from interplay.view.painting import painter


def export(folder: str | Path, out: str | Path, tell: Callable[[str], None] = warnings.warn, **options: Any) -> Path:
    """Write a recording's folder in the form that the ending of ``out`` names, and ``tell`` what could not be read of it."""
    out = Path(out)
    write = pick("export format", out.suffix.lower(), FORMATS)
    recording = Recording(folder)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        write(recording, out, **options)
    except OSError as error:
        raise cannot_write(out, error) from None
    for gap in recording.missing:
        tell(str(gap))
    return out


def write_targets(recording: Recording, out: Path) -> None:
    """Write the live input, as a targets file with which the run can be repeated."""
    out.write_text(targets_text(recording.inputs))


def write_npz(recording: Recording, out: Path) -> None:
    """Write the exact record, as documented in docs/recording.md; what the recording does not know is not in it."""
    replay = Replay(recording)
    m, shape = replay.model, (recording.steps, len(recording.contacts))
    arrays: dict[str, Any] = {name: recording[name] for name in ("time", "qpos", "qvel", "qacc")}
    arrays["qfrc_applied"] = recording["applied"]
    if "tau" in recording.known:
        arrays["tau"] = recording["tau"]
    if recording.overruled:
        arrays["plan_tau"] = recording["plan_tau"]
    if "wrench" in recording.known:
        contact, active, wrench = np.zeros((recording.steps, m.nv)), np.zeros(shape, bool), np.zeros((*shape, 6))
        for step in replay.steps():
            contact[step.index], active[step.index, step.touch.columns] = step.qfrc_contact, True
            wrench[step.index, step.touch.columns] = step.site_wrenches
        fixed = m.body_treeid[m.site_bodyid[replay.sites[:, 1]]] < 0
        names = [(a, "world" if still else b) for (a, b), still in zip(recording.contacts, fixed, strict=True)]
        arrays |= {"qfrc_contact": contact, "contact_active": active, "contact_wrench": wrench}
        arrays["contact_names"] = np.array(names, dtype=str).reshape(-1, 2)
    arrays["phase"] = np.array(recording.phases, dtype=str)
    if "step_ms" in recording.known:
        arrays["step_ms"], arrays["solve_ms"] = recording["step_ms"], recording["solve_ms"]
    if recording.changing:
        arrays["body_mass"], arrays["body_inertia"] = recording["body_mass"], recording["body_inertia"]
    arrays["joint_names"] = np.array([m.joint(j).name for j in range(m.njnt)], dtype=str)
    arrays["joint_qposadr"], arrays["joint_dofadr"] = m.jnt_qposadr, m.jnt_dofadr
    arrays["body_names"] = np.array([m.body(b).name for b in range(m.nbody)], dtype=str)
    np.savez_compressed(out, **arrays)


def write_strip(
    recording: Recording,
    out: Path,
    *,
    frames: int = 12,
    columns: int = 6,
    width: int = 360,
    height: int = 400,
    begin: float | None = None,
    end: float | None = None,
    camera: Camera | None = None,
) -> None:
    """Write a film strip: frames evenly spread over [begin, end] s, each with its time and phase."""
    frames, columns = whole("film strip: frames", frames, 1, 1000), whole("film strip: columns", columns, 1, 1000)
    begin, end = (t if t is None else number(f"film strip: {w}", t) for w, t in (("begin", begin), ("end", end)))
    time = recording["time"]
    first, last = (int(np.searchsorted(time, t)) if t is not None else d for t, d in ((begin, 0), (end, len(time) - 1)))
    picks = np.linspace(min(first, len(time) - 1), min(last, len(time) - 1), frames).round().astype(int)
    view, grips = camera or recording.camera, recorded_grips(recording)
    tiles = []
    with painter(recording.model, width, height) as artist:
        for t in picks:
            image = Image.fromarray(artist.frame(recording["qpos"][t], view, grips.at(float(time[t]))))
            _caption(image, f"{time[t]:.2f} s   {recording.phases[t]}")
            tiles.append(image)
    columns = min(columns, frames)
    rows = -(-frames // columns)
    sheet = Image.new("RGB", (columns * width, rows * height), (255, 255, 255))
    for k, tile in enumerate(tiles):
        sheet.paste(tile, ((k % columns) * width, (k // columns) * height))
    sheet.quantize(128, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE).save(out, optimize=True)


def _caption(image: Image.Image, text: str) -> None:
    draw = ImageDraw.Draw(image, "RGBA")
    draw.rectangle((0, image.height - 24, image.width, image.height), fill=(255, 255, 255, 170))
    draw.text((8, image.height - 19), text, fill=(30, 34, 40), font=ImageFont.load_default(14))


FORMATS: dict[str, Callable[..., None]] = {
    ".npz": write_npz,
    ".png": write_strip,
    ".html": write_html,
    ".csv": write_targets,
}
