"""What libraries decide when they are loaded, so that it is settled before: how MuJoCo renders, how many threads NumPy takes.

And of the command, which takes seconds to load, what Ctrl-C does meanwhile.
"""

from __future__ import annotations

import ctypes.util
import os
import signal
import sys
from multiprocessing import parent_process
from pathlib import Path
from typing import Any


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


def end_quietly() -> None:
    """Let an interrupt end the command ``interplay`` while it loads, without the traceback of an import, until it is ``loaded()``."""
    command = Path(sys.argv[0]).stem == "interplay" or (sys.argv[0] == "-m" and "interplay" in sys.orig_argv)
    if command and parent_process() is None and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _ended)


def _ended(*_: Any) -> None:
    os.write(2, b"interrupted before anything began\n")
    os._exit(130)  # as cli.main says of interrupts


def loaded() -> None:
    """Let interrupts be exceptions again, which the command hears."""
    if signal.getsignal(signal.SIGINT) is _ended:
        signal.signal(signal.SIGINT, signal.default_int_handler)


end_quietly()
choose_backend()
use_one_thread()
