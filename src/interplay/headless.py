"""Chooses how MuJoCo renders on a machine without a screen. MuJoCo decides on import, so this comes before it."""

from __future__ import annotations

import ctypes.util
import os


def choose_backend() -> None:
    """Set ``MUJOCO_GL`` to EGL or OSMesa where there is no display and the user has not chosen."""
    if "MUJOCO_GL" in os.environ or os.environ.get("DISPLAY"):
        return
    for backend, library in (("egl", "EGL"), ("osmesa", "OSMesa")):
        if ctypes.util.find_library(library):
            os.environ["MUJOCO_GL"] = backend
            return


choose_backend()
