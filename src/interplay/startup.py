"""What libraries decide when they are loaded, so that it is settled before: how MuJoCo renders, how many threads NumPy takes."""

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


def use_one_thread() -> None:
    """Let NumPy take one thread unless the user has chosen: matrices are small, and threads that wait for a busy core cost tenfold."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


choose_backend()
use_one_thread()
