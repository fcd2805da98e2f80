"""Cameras: where pictures are taken from, and the first shot of a page."""

from __future__ import annotations

from typing import NamedTuple

import mujoco
import numpy as np
import pydantic

_FOV = 0.7  # vertical field of view [rad]: a longer lens than MuJoCo's 45°, for which scenarios give their distances
_FARTHER = np.tan(np.radians(45.0) / 2) / np.tan(_FOV / 2)


class Camera(pydantic.BaseModel):
    """Where a picture is taken from: point looked at [m], distance [m], azimuth and elevation [deg].

    With the name of a body to ``follow``, x and y of the point are counted from that body.
    """

    lookat: tuple[float, float, float] = (0.0, 0.0, 0.9)
    distance: float = 3.0
    azimuth: float = 135.0
    elevation: float = -12.0
    follow: str | None = None


class Shot(NamedTuple):
    """A camera: where it is and what it looks at (3) [m], its vertical field of view [rad]."""

    position: np.ndarray
    look_at: np.ndarray
    fov: float = _FOV


def first_shot(camera: Camera, m: mujoco.MjModel, d: mujoco.MjData) -> Shot:
    """Return the shot a scenario's camera asks for, the body it follows as it is now."""
    azimuth, elevation = np.radians([camera.azimuth, camera.elevation])
    forward = np.array([np.cos(elevation) * np.cos(azimuth), np.cos(elevation) * np.sin(azimuth), np.sin(elevation)])
    look_at = np.array(camera.lookat, float)
    if camera.follow is not None:
        look_at[:2] += d.xpos[m.body(camera.follow).id][:2]
    return Shot(look_at - _FARTHER * camera.distance * forward, look_at)


def axes_of(shot: Shot) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return where a shot's forward, right and up point (3 each)."""
    forward = np.asarray(shot.look_at, float) - shot.position
    forward /= np.linalg.norm(forward)
    right = np.cross(forward, [0.0, 0.0, 1.0])
    right /= np.linalg.norm(right)
    return forward, right, np.cross(right, forward)
