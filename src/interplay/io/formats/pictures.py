"""What pictures and films share: the part of a recording that is shown, and from where."""

from __future__ import annotations

from typing import Literal

import mujoco
import numpy as np
import pydantic

from interplay.errors import InputError, unknown_name
from interplay.io.formats.base import Options
from interplay.io.recording import Recording
from interplay.view.camera import Camera

_AZIMUTHS = {"front": 180.0, "side": 90.0, "top": 90.0}
"""Directions [deg] in which cameras look: someone who faces x is seen from the front, and from the right-hand side."""


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

    def steps(self, recording: Recording) -> tuple[int, int]:
        """Return the first and the last step that are shown."""
        time = recording["time"]
        last = len(time) - 1
        begin = 0 if self.begin is None else int(np.searchsorted(time, self.begin))
        end = last if self.end is None else int(np.searchsorted(time, self.end))
        return min(begin, last), min(end, last)

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
