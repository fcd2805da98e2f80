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


def shot_about(camera: Camera, origin: np.ndarray) -> Shot:
    """Return the shot a camera asks for, from where x and y of its point are counted (2) [m]."""
    azimuth, elevation = np.radians([camera.azimuth, camera.elevation])
    forward = np.array([np.cos(elevation) * np.cos(azimuth), np.cos(elevation) * np.sin(azimuth), np.sin(elevation)])
    look_at = np.array(camera.lookat, float)
    look_at[:2] += origin
    return Shot(look_at - _FARTHER * camera.distance * forward, look_at)


def first_shot(camera: Camera, m: mujoco.MjModel, d: mujoco.MjData) -> Shot:
    """Return the shot a scenario's camera asks for, the body it follows as it is now."""
    followed = np.zeros(2) if camera.follow is None else d.xpos[m.body(camera.follow).id][:2]
    return shot_about(camera, followed)


def axes_of(shot: Shot) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return where a shot's forward, right and up point (3 each)."""
    forward = np.asarray(shot.look_at, float) - shot.position
    forward /= np.linalg.norm(forward)
    right = np.cross(forward, [0.0, 0.0, 1.0])
    right /= np.linalg.norm(right)
    return forward, right, np.cross(right, forward)


_CORNERS = np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], float)


def corners(m: mujoco.MjModel, d: mujoco.MjData, geoms: np.ndarray) -> np.ndarray:
    """Return the corners (8n, 3) [m] of boxes around geoms: what must be in a picture for them to be."""
    box, turn = m.geom_aabb[geoms], d.geom_xmat[geoms].reshape(-1, 3, 3)
    local = box[:, None, :3] + _CORNERS * box[:, None, 3:]
    return (d.geom_xpos[geoms][:, None] + np.einsum("gij,gcj->gci", turn, local)).reshape(-1, 3)
