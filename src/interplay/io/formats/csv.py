"""Joints over time, as a table that any program reads."""

from __future__ import annotations

import csv
from pathlib import Path

import mujoco
import numpy as np
import pydantic

from interplay.io.formats.base import Format, Options, Progress, whole_file
from interplay.io.moments import Moments
from interplay.io.recording import Recording

_PLACE, _TURN = ("x [m]", "y [m]", "z [m]"), ("qw", "qx", "qy", "qz")
_PARTS = {
    int(mujoco.mjtJoint.mjJNT_FREE): (*(f" {p}" for p in _PLACE), *(f" {q}" for q in _TURN)),
    int(mujoco.mjtJoint.mjJNT_BALL): tuple(f" {q}" for q in _TURN),
    int(mujoco.mjtJoint.mjJNT_SLIDE): (" [m]",),
    int(mujoco.mjtJoint.mjJNT_HINGE): (" [rad]",),
}
"""What a joint's columns are called after its name, in the order of its values."""


class TableOptions(Options):
    """Of a table."""

    fps: float | None = pydantic.Field(None, ge=0.1, le=1e4, description="rows a second; otherwise one for each step")


def write(recording: Recording, out: Path, options: TableOptions, progress: Progress) -> None:
    """Write time, phase, and where all roots and joints are, in one row after another; numbers in full."""
    moments, time = Moments(recording), recording["time"]
    times = time if options.fps is None else np.arange(time[0], time[-1] + 1e-9, 1.0 / options.fps)
    m = recording.model
    header = ["time [s]", "phase", *(m.joint(j).name + part for j in range(m.njnt) for part in _PARTS[m.jnt_type[j]])]
    with whole_file(out) as unfinished, unfinished.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(header)
        for n, t in enumerate(times.tolist()):
            if n % 100 == 0:
                progress(n / len(times))
            table.writerow([t, moments.phase(t), *moments.qpos(t).tolist()])


FORMAT = Format((".csv",), "where all roots and joints are over time, as a table", write, TableOptions)
