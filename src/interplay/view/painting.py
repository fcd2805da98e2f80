"""Pictures: bodies through MuJoCo's renderer, headless by EGL or OSMesa, in the studio of :mod:`.look`."""

from __future__ import annotations

import copy
import importlib
import os
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import mujoco
import numpy as np

from interplay.errors import InterplayError
from interplay.models.base import VISUAL_GROUP
from interplay.view import look
from interplay.view.camera import Camera, Shot, axes_of, corners, first_shot
from interplay.view.developing import Exposure, FromBelow, develop
from interplay.view.fingers import Fingers, Grip

_HINT = "install libegl1, libgl1-mesa-dri and libgles2 (or libosmesa6); everything else works without"
_NEAR, _FAR = 0.1, 200.0  # what is nearer or farther than this [m] is not drawn
_MAP = 384  # pixels of the map of a shade in each direction
_ROOM = 0.5  # how far shade may spread beyond bodies [m]
_WIDEST = 8.0  # how far from what is looked at shade is found [m]
_ROUND, _MOST_CORNERS = 0.001, 64  # how far circles are from what is drawn of them [m], and how many corners they have
_SMALL, _TINY, _HIDDEN = (
    0.035,
    4,
    5,
)  # geoms of that radius [m], as of fingers, throw no shade: their group, and of what is not drawn


class GraphicsError(InterplayError):
    """No OpenGL is to be had."""


class Painter:
    """Renders configurations of one scene.

    MuJoCo renders bodies alone, at twice the size and without shadows: in software, that is several times faster than its smooth
    edges and shadow maps. Ground, backdrop and shade are ours.
    """

    def __init__(self, model: mujoco.MjModel, width: int, height: int, shadows: bool = True):
        """Open an off-screen renderer [pixels] of a model; it is copied, as fingers move in what is drawn."""
        self._model = m = copy.copy(model)
        self._data, self._fingers = mujoco.MjData(m), Fingers(m)
        self._size = width, height
        m.vis.global_.offwidth, m.vis.global_.offheight = max(2 * width, _MAP), max(2 * height, _MAP)
        m.vis.quality.offsamples = m.vis.quality.shadowsize = 0
        m.vis.headlight.active = 0
        planes = m.geom_type == mujoco.mjtGeom.mjGEOM_PLANE
        drawn = np.isin(m.geom_group, (0, VISUAL_GROUP)) & ~planes
        m.geom_group[:] = np.where(drawn, np.where(m.geom_rbound < _SMALL, _TINY, VISUAL_GROUP), _HIDDEN)
        self._drawn = np.flatnonzero(drawn)
        m.vis.quality.numslices = _corners(m, drawn)
        m.vis.quality.numstacks = m.vis.quality.numslices // 2
        self._ground = bool(planes.any())
        self._shaded = shadows and self._ground and len(self._drawn) > 0
        self._open()

    def _open(self) -> None:
        m, self._window, self._context = self._model, None, None
        try:
            self._window = _window(*self._size)
            self._window.make_current()
            self._context = mujoco.MjrContext(m, mujoco.mjtFontScale.mjFONTSCALE_100.value)
            mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN.value, self._context)
        except Exception as error:  # the GL bindings raise errors of many kinds
            self.close()
            raise GraphicsError(f"OpenGL failed ({error}): {_HINT}") from None
        self._scene = mujoco.MjvScene(m, m.ngeom + 100)
        self._scene.flags[:] = 0
        self._option = mujoco.MjvOption()
        self._option.sitegroup[:] = 0

    def frame(self, qpos: np.ndarray, camera: Camera | Shot, grips: Iterable[Grip] = ()) -> np.ndarray:
        """Return an image (height, width, 3) of a configuration, and of what hands hold in it."""
        return develop(self._expose(qpos, camera, grips))

    def film(self, frames: Iterable[tuple[np.ndarray, Shot, Iterable[Grip]]]) -> Iterator[np.ndarray]:
        """Yield images of configurations, each seen from a shot of its own; one is developed while the next is rendered."""
        with ThreadPoolExecutor(1) as laboratory:
            before = None
            for qpos, shot, grips in frames:
                exposed = self._expose(qpos, shot, grips)
                if before is not None:
                    yield before.result()
                before = laboratory.submit(develop, exposed)
            if before is not None:
                yield before.result()

    def _expose(self, qpos: np.ndarray, camera: Camera | Shot, grips: Iterable[Grip]) -> Exposure:
        """Render what a picture is made of."""
        self._fingers.show(grips)
        m, d = self._model, self._data
        d.qpos[:] = qpos
        mujoco.mj_kinematics(m, d)
        shot = first_shot(camera, m, d) if isinstance(camera, Camera) else camera
        if self._window is None:
            raise GraphicsError("the painter is closed")
        self._window.make_current()
        below = self._from_below(np.asarray(shot.look_at, float)) if self._shaded else []
        nothing = np.empty((0, 0, 4), np.uint8), np.empty((0, 0), np.float32)
        empty = Exposure(self._size, shot, self._ground, below, (0, 0, 0, 0), *nothing, _NEAR, _FAR)
        part = left, top, right, bottom = self._part(shot, empty.pixel)
        if left >= right or top >= bottom:
            return empty
        self._show((VISUAL_GROUP, _TINY))
        (w, h), step = self._size, _NEAR * empty.pixel
        forward, _, up = axes_of(shot)
        window = (left - w / 2) * step, (right - w / 2) * step, (h / 2 - bottom) * step, (h / 2 - top) * step
        _aim(self._scene, shot.position, forward, up, window, _FAR, parallel=False)
        bodies, depth = self._rendered(2 * (right - left), 2 * (bottom - top))
        return empty._replace(part=part, bodies=bodies, depth=depth)

    def _show(self, groups: tuple[int, ...]) -> None:
        """Fill the scene with geoms as they lie now."""
        self._option.geomgroup[:] = [group in groups for group in range(mujoco.mjNGROUP)]
        everything, view, hand = mujoco.mjtCatBit.mjCAT_ALL.value, mujoco.MjvCamera(), mujoco.MjvPerturb()
        mujoco.mjv_updateScene(self._model, self._data, self._option, hand, view, everything, self._scene)
        _light(self._scene)

    def _part(self, shot: Shot, pixel: float) -> tuple[int, int, int, int]:
        """Return the part of the picture in which bodies are: first and last columns and rows."""
        w, h = self._size
        forward, right, up = axes_of(shot)
        offset = corners(self._model, self._data, self._drawn) - shot.position
        depth = offset @ forward
        if not len(depth) or depth.min() < 2 * _NEAR:
            return 0, 0, w, h  # something is beside the camera, or behind it
        x, y = w / 2 + offset @ right / depth / pixel, h / 2 - offset @ up / depth / pixel
        low, high = np.min([x, y], axis=1) - 2, np.max([x, y], axis=1) + 2
        left, top = np.clip(low, 0, [w, h]).astype(int)
        end, bottom = np.clip(np.ceil(high), 0, [w, h]).astype(int)
        return int(left), int(top), int(end), int(bottom)

    def _rendered(self, width: int, height: int) -> tuple[np.ndarray, np.ndarray]:
        """Return what is in the scene, upside down: colours and how much of each sample is covered (height, width, 4), and depth."""
        from OpenGL import GL  # only now: it asks for the backend that MuJoCo has chosen

        mujoco.mjr_render(mujoco.MjrRect(0, 0, width, height), self._scene, self._context)
        colors, depth = np.empty((height, width, 4), np.uint8), np.empty((height, width), np.float32)
        GL.glReadPixels(0, 0, width, height, GL.GL_RGBA, GL.GL_UNSIGNED_BYTE, colors)
        GL.glReadPixels(0, 0, width, height, GL.GL_DEPTH_COMPONENT, GL.GL_FLOAT, depth)
        return colors, depth

    def _from_below(self, look_at: np.ndarray) -> list[FromBelow]:
        """Return bodies as each light that they take from the ground would see them from behind."""
        points, culled = corners(self._model, self._data, self._drawn), mujoco.mjtRndFlag.mjRND_CULL_FACE
        self._show((VISUAL_GROUP,))
        self._scene.flags[culled] = 1  # only what is turned to the ground counts
        out = [self._towards(light, points, look_at) for light in look.SHADED]
        self._scene.flags[culled] = 0
        return out

    def _towards(self, light: look.Shaded, points: np.ndarray, look_at: np.ndarray) -> FromBelow:
        forward = np.array(light.source) / np.linalg.norm(light.source)
        right = np.cross(forward, [0.0, 1.0, 0.0])
        right /= np.linalg.norm(right)
        plane = np.array([right, np.cross(right, forward)])
        at, middle = points @ plane.T, plane @ look_at
        low, high = np.clip([at.min(axis=0), at.max(axis=0)], middle - _WIDEST, middle + _WIDEST)
        # In steps, and on a grid of whole pixels: otherwise edges would crawl when bodies move.
        half = float(np.ceil(2 * ((high - low).max() / 2 + _ROOM)) / 2)
        pixel = 2 * half / _MAP
        centre = np.round((low + high) / 2 / pixel) * pixel
        deep = float(np.abs(points @ forward).max()) + 1.0
        position = centre @ plane - (deep + _NEAR) * forward
        _aim(self._scene, position, forward, plane[1], (-half, half, -half, half), 2 * deep + _NEAR, parallel=True)
        _, depth = self._rendered(_MAP, _MAP)
        side = (np.arange(_MAP) + 0.5) * pixel - half
        nearest = position[2] + _NEAR * forward[2] + side[None, :] * plane[0, 2] + side[:, None] * plane[1, 2]
        heights = np.where(depth > 0.0, nearest + (1.0 - depth) * (2 * deep * forward[2]), np.inf)
        place = np.column_stack([plane[:, :2], half - centre]) / pixel - [0.0, 0.0, 0.5]
        return FromBelow(light, heights.astype(np.float32), pixel, place)

    def close(self) -> None:
        """Free the renderer."""
        if self._context is not None:
            self._context.free()
            self._context = None
        if self._window is not None:
            self._window.free()
            self._window = None


def _aim(
    scene: mujoco.MjvScene,
    position: np.ndarray,
    forward: np.ndarray,
    up: np.ndarray,
    window: tuple[float, float, float, float],
    far: float,
    parallel: bool,
) -> None:
    """Aim the scene's camera; what it sees at the nearest distance is the window: left, right, bottom, top [m]."""
    left, right, bottom, top = window
    for camera in scene.camera:
        camera.pos, camera.forward, camera.up = position, forward, up
        camera.frustum_center, camera.frustum_width = (left + right) / 2, (right - left) / 2
        camera.frustum_bottom, camera.frustum_top = bottom, top
        camera.frustum_near, camera.frustum_far = _NEAR, far
        camera.orthographic = int(parallel)


def _light(scene: mujoco.MjvScene) -> None:
    """Replace the scene's lights by those of the look."""
    scene.nlight = len(look.LIGHTS)
    for k, light in enumerate(look.LIGHTS):
        to = scene.lights[k]
        to.type = mujoco.mjtLightType.mjLIGHT_DIRECTIONAL.value
        to.dir = -np.array(light.source) / np.linalg.norm(light.source)
        to.diffuse, to.specular = light.color, 3 * [light.shine]
        to.ambient = look.AMBIENT if k == 0 else 3 * [0.0]
        to.headlight = to.castshadow = 0
        to.texid = -1


def _window(width: int, height: int) -> Any:
    """Return a place to draw, in the way that MUJOCO_GL says now: MuJoCo itself only looks at it while it is imported."""
    backend = os.environ.get("MUJOCO_GL", "")
    module = importlib.import_module(f"mujoco.{backend}") if backend in ("egl", "osmesa") else mujoco
    return module.GLContext(width, height)


def _corners(m: mujoco.MjModel, drawn: np.ndarray) -> int:
    """Return how many corners circles have: MuJoCo knows one number for all, so the thickest decides. Few are quick to draw."""
    round_ = (mujoco.mjtGeom.mjGEOM_SPHERE, mujoco.mjtGeom.mjGEOM_CAPSULE, mujoco.mjtGeom.mjGEOM_CYLINDER)
    thickest = m.geom_size[drawn & np.isin(m.geom_type, round_), 0].max(initial=0.05)
    return min(int(np.ceil(np.pi / np.arccos(1.0 - _ROUND / thickest))), _MOST_CORNERS)


@contextmanager
def painter(model: mujoco.MjModel, width: int, height: int, shadows: bool = True) -> Iterator[Painter]:
    """Open a painter and close it again."""
    artist = Painter(model, width, height, shadows)
    try:
        yield artist
    finally:
        artist.close()
