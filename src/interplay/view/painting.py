"""Pictures: frames and film strips through MuJoCo's renderer, headless by EGL or OSMesa."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import mujoco
import numpy as np

from interplay.errors import InterplayError
from interplay.view.camera import Camera
from interplay.view.fingers import Fingers, Grip

_HINT = "install libegl1, libgl1-mesa-dri and libgles2 (or libosmesa6); everything else works without"


class GraphicsError(InterplayError):
    """No OpenGL is to be had."""


class Painter:
    """Renders configurations of one scene."""

    def __init__(self, model: mujoco.MjModel, width: int, height: int, shadows: bool = True):
        """Open an off-screen renderer [pixels] of a model; it is copied, as fingers move in what is drawn."""
        self._model = model = copy.copy(model)
        self._data, self._fingers = mujoco.MjData(model), Fingers(model)
        model.vis.global_.offwidth, model.vis.global_.offheight = max(width, 640), max(height, 480)
        model.vis.quality.offsamples = 4
        try:
            self._renderer = mujoco.Renderer(model, height, width)
        except Exception as error:  # the GL bindings raise errors of many kinds
            raise GraphicsError(f"OpenGL failed ({error}): {_HINT}") from None
        self._renderer.scene.flags[mujoco.mjtRndFlag.mjRND_SHADOW] = shadows
        self._option = mujoco.MjvOption()
        self._option.geomgroup[:] = 0
        self._option.geomgroup[[0, 2]] = 1
        self._option.sitegroup[:] = 0

    def frame(self, qpos: np.ndarray, camera: Camera, grips: Iterable[Grip] = ()) -> np.ndarray:
        """Return an image (height, width, 3) of a configuration, and of what hands hold in it."""
        self._fingers.show(grips)
        self._data.qpos[:] = qpos
        mujoco.mj_kinematics(self._model, self._data)
        mujoco.mj_comPos(self._model, self._data)
        mujoco.mj_camlight(self._model, self._data)
        view = mujoco.MjvCamera()
        view.lookat[:] = camera.lookat
        if camera.follow is not None:
            view.lookat[:2] += self._data.xpos[self._model.body(camera.follow).id][:2]
        view.distance, view.azimuth, view.elevation = camera.distance, camera.azimuth, camera.elevation
        self._renderer.update_scene(self._data, view, self._option)
        return self._renderer.render().copy()

    def close(self) -> None:
        """Free the renderer."""
        self._renderer.close()


@contextmanager
def painter(model: mujoco.MjModel, width: int, height: int, shadows: bool = True) -> Iterator[Painter]:
    """Open a painter and close it again."""
    artist = Painter(model, width, height, shadows)
    try:
        yield artist
    finally:
        artist.close()
