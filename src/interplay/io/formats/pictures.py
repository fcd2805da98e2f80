"""What pictures and films share: the part of a recording that is shown, how large, and from where."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

import mujoco
import numpy as np
import pydantic
from scipy.ndimage import gaussian_filter1d

from interplay.errors import InputError, unknown_name
from interplay.io.formats.base import Options
from interplay.io.moments import Moments
from interplay.io.recording import Recording
from interplay.view.camera import Camera, Shot, axes_of, corners, shot_about
from interplay.view.cast import seen

_AZIMUTHS = {"front": 180.0, "side": 90.0, "top": 90.0}
"""Directions [deg] in which cameras look: someone who faces x is seen from the front, and from the right-hand side."""

_CALM = 0.5
"""How calmly a camera follows: it goes along with the mean over about this time [s] before and after."""

_MARGIN = 0.88
"""Part of a picture that bodies may fill where the camera comes closer than its scenario wants."""

_CLOSEST = 0.6
"""How close it may come then, as a part of the scenario's distance."""

LARGEST = 4096
"""Pixels of a picture in one direction."""


class Pictures(Options):
    """Of pictures."""

    camera: Literal["own", "front", "side", "top", "follow", "orbit"] | Camera = pydantic.Field(
        "own", description="the scenario's own; or front, side, top, follow (see --follow), orbit (once around)"
    )
    follow: str | None = pydantic.Field(None, description="model or body that the camera follows")
    azimuth: float | None = pydantic.Field(None, description="direction in which the camera looks [deg]")
    elevation: float | None = pydantic.Field(None, ge=-90, le=90, description="of the camera's look [deg], down: < 0")
    distance: float | None = pydantic.Field(None, gt=0, le=1e3, description="of the camera [m]")
    begin: float | None = pydantic.Field(None, description="first second that is shown")
    end: float | None = pydantic.Field(None, description="last second that is shown")
    seconds: float | None = pydantic.Field(None, gt=0, description="how many are shown, instead of --end")
    size: str | None = pydantic.Field(None, description="of a picture [pixels], such as 1280x720")

    @pydantic.field_validator("size")
    @classmethod
    def _has_two_sides(cls, size: str | None) -> str | None:
        sides = re.fullmatch(r"(\d{1,5})[x×](\d{1,5})", size.strip().lower()) if size else None
        if size is not None and (sides is None or not all(16 <= int(side) <= LARGEST for side in sides.groups())):
            raise ValueError(f"expected WIDTHxHEIGHT of 16 to {LARGEST} pixels, such as 1280x720")
        return size

    def pixels(self, otherwise: tuple[int, int]) -> tuple[int, int]:
        """Return width and height of a picture."""
        if self.size is None:
            return otherwise
        width, height = re.findall(r"\d+", self.size)
        return int(width), int(height)

    def span(self, recording: Recording) -> tuple[float, float]:
        """Return when what is shown begins and ends [s]."""
        time = recording["time"]
        first, last = float(time[0]), float(time[-1]) + float(recording.header["dt"])
        begin = first if self.begin is None else max(self.begin, first)
        if begin >= last:
            raise InputError(f"begin: expected a time before the recording's end at {last:.2f} s, got {begin:g}")
        if self.end is not None and self.seconds is not None:
            raise InputError("end and seconds: expected one of the two")
        end = begin + self.seconds if self.seconds is not None else last if self.end is None else self.end
        if end < begin:
            raise InputError(f"end: expected a time after the beginning at {begin:g} s, got {end:g}")
        return begin, min(end, last)

    def view(self, recording: Recording, share: float = 0.0) -> Camera:
        """Return the camera when some share of what is shown is over (an orbit turns)."""
        own, kind = recording.camera, self.camera
        if isinstance(kind, Camera):
            own, kind = kind, "own"
        change: dict[str, object] = {}
        if self.follow is not None or kind == "follow":
            change["follow"] = _followed(recording.model, self.follow, own.follow)
            change["lookat"] = (0.0, 0.0, own.lookat[2])
        if kind in _AZIMUTHS:
            change |= {"azimuth": _AZIMUTHS[kind], "elevation": -89.9 if kind == "top" else -8.0}
        for key in ("azimuth", "elevation", "distance"):
            if (given := getattr(self, key)) is not None:
                change[key] = given
        view = own.model_copy(update=change)
        return view.model_copy(update={"azimuth": view.azimuth + 360.0 * share}) if kind == "orbit" else view

    def shots(self, moments: Moments, times: Sequence[float], size: tuple[int, int]) -> list[Shot]:
        """Return from where each of the pictures at some times is taken."""
        recording = moments.recording
        views = [self.view(recording, n / len(times)) for n in range(len(times))]
        way = _way(moments, views[0].follow, times)
        shots = [shot_about(view, origin) for view, origin in zip(views, way, strict=True)]
        if self.distance is None and size[0] > size[1]:
            closer = _closer(moments, times, shots, size)
            nearer = [view.model_copy(update={"distance": closer * view.distance}) for view in views]
            shots = [shot_about(view, origin) for view, origin in zip(nearer, way, strict=True)]
        return shots


def _way(moments: Moments, body: str | None, times: Sequence[float]) -> np.ndarray:
    """Return the way (n, 2) [m] of a camera that follows a body without swaying as it does."""
    way = np.zeros((len(times), 2))
    if body is None:
        return way
    m = moments.recording.model
    d, followed = mujoco.MjData(m), m.body(body).id
    for n, time in enumerate(times):
        d.qpos[:] = moments.qpos(time)
        mujoco.mj_kinematics(m, d)
        way[n] = d.xpos[followed][:2]
    pace = (times[-1] - times[0]) / max(len(times) - 1, 1)
    if 0 < pace < _CALM:  # otherwise these are stills
        way = gaussian_filter1d(way, _CALM / pace, axis=0, mode="nearest")
    return way


def _closer(moments: Moments, times: Sequence[float], shots: list[Shot], size: tuple[int, int]) -> float:
    """Return how much closer cameras may come: scenarios' are for pictures that are not wide. What moves stays in them."""
    m = moments.recording.model
    geoms, d = np.array([g for g in seen(m) if m.body_treeid[m.geom_bodyid[g]] >= 0], int), mujoco.MjData(m)
    if not len(geoms):
        return 1.0
    share = _CLOSEST
    for n in range(0, len(times), 1 + len(times) // 40):
        d.qpos[:] = moments.qpos(times[n])
        mujoco.mj_kinematics(m, d)
        shot = shots[n]
        forward, right, up = axes_of(shot)
        offset, away = corners(m, d, geoms) - shot.look_at, float(np.linalg.norm(shot.look_at - shot.position))
        height = _MARGIN * np.tan(shot.fov / 2)
        for axis, half in ((right, height * size[0] / size[1]), (up, height)):
            needed = np.abs(offset @ axis) / half - offset @ forward  # as far away as the camera must be to see a point
            share = max(share, float(needed.max()) / away)
    return min(share, 1.0)


def _followed(m: mujoco.MjModel, name: str | None, own: str | None) -> str:
    """Return the body that is meant by the name of a body or of a model, or by nothing: the one of the scenario's camera."""
    bodies = [m.body(b).name for b in range(1, m.nbody)]
    if name is None:
        if own is None:
            raise InputError("camera: follow needs the name of a model or body, such as --follow alice")
        return own
    found = next((b for b in bodies if b == name or b.partition("/")[0] == name), None)
    if found is None:
        raise unknown_name("model or body to follow", name, {*bodies, *(b.partition("/")[0] for b in bodies)})
    return found
