"""From what MuJoCo has rendered to a picture: shade, ground and backdrop, and bodies laid over them.

It needs no OpenGL and lets other threads run, so that the next frame can be rendered meanwhile.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from interplay.view import look
from interplay.view.camera import Shot, axes_of
from interplay.view.occlusion import measure, occlude
from interplay.view.shade import soft_shade
from interplay.view.studio import ground_and_backdrop, lay_over


class FromBelow(NamedTuple):
    """Bodies as seen from below the ground, towards a light."""

    light: look.Shaded
    heights: np.ndarray
    """Above the ground (n, n) [m]; infinite where nothing is."""
    pixel: float
    """How large a pixel is [m]."""
    place: np.ndarray
    """Where a point (x, y, 1) of the ground is in it (2, 3) [pixels]."""


class Exposure(NamedTuple):
    """All that a picture is made of."""

    size: tuple[int, int]
    shot: Shot
    ground: bool
    below: list[FromBelow]
    part: tuple[int, int, int, int]
    """In which bodies are: first column and row, last ones."""
    bodies: np.ndarray
    """In that part, upside down, four samples for each pixel (2h, 2w, 4): colour, and whether there is a body …"""
    depth: np.ndarray
    """… and how deep (2h, 2w): 1 at the nearest distance, 0 at the farthest."""
    near: float
    far: float

    @property
    def pixel(self) -> float:
        """Width of a pixel at a distance of one metre [m]."""
        return 2 * float(np.tan(self.shot.fov / 2)) / self.size[1]


def develop(exposed: Exposure) -> np.ndarray:
    """Return the picture (height, width, 3)."""
    behind = _behind(exposed)
    out = (255 * behind + 0.5).astype(np.uint8)
    (w, h), (left, top, right, bottom) = exposed.size, exposed.part
    if left < right and top < bottom:
        distances, rough, light = np.empty((3, bottom - top, right - left), np.float32)
        measure(exposed.depth, exposed.near, exposed.far, distances)
        occlude(distances, exposed.pixel, w / 2 - left, h / 2 - top, look.FOLDS, rough, light)
        here, bodies = (slice(top, bottom), slice(left, right)), exposed.bodies
        lay_over(bodies, bodies.view(np.uint32)[:, :, 0], light, behind[here], out[here])
    return out


def _behind(exposed: Exposure) -> np.ndarray:
    """Return what is behind bodies (height, width, 3), 0 to 1."""
    (w, h), shot, pixel = exposed.size, exposed.shot, exposed.pixel
    forward, right, up = axes_of(shot)
    count, side = len(exposed.below), len(exposed.below[0].heights) if exposed.below else 2
    maps, shades = np.zeros((count, 2, 3)), np.zeros((count, side, side), np.float32)
    for k, seen in enumerate(exposed.below):
        maps[k], shades[k] = seen.place, soft_shade(seen.heights, seen.pixel, seen.light)
    out = np.empty((h, w, 3), np.float32)
    ground_and_backdrop(
        np.asarray(shot.position, float),
        np.array([forward, pixel * right, -pixel * up]),
        np.asarray(shot.look_at[:2], float),
        look.FADE * exposed.ground,
        look.backdrop(h),
        np.array([look.GROUND, look.LINES, look.HALF_LINES, look.SHADE]),
        maps,
        shades,
        np.array([seen.light.depth for seen in exposed.below], float),
        out,
    )
    return out
