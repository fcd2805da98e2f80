"""What took long to make and depends on nothing but its name, kept on disk: written whole or not at all, read only if undamaged."""

from __future__ import annotations

import logging
import os
import tempfile
import zipfile
import zlib
from pathlib import Path

import numpy as np

MOST = 100
"""How many are kept: the oldest go first."""

_log = logging.getLogger(__name__)


def folder() -> Path:
    """Return where: in the user's cache."""
    home = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA") or Path.home() / ".cache"
    return Path(home) / "interplay" / "spacetime"


def kept(name: str) -> dict[str, np.ndarray] | None:
    """Return the arrays of a name; None: there are none, or they are damaged (each has a checksum)."""
    try:
        with np.load(folder() / f"{name}.npz", allow_pickle=False) as file:
            return {key: file[key] for key in file.files}
    except FileNotFoundError:
        return None
    except (OSError, ValueError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        _log.info("%s.npz cannot be read and is made anew: %s", name, error)
        return None


def keep(name: str, arrays: dict[str, np.ndarray]) -> None:
    """Keep arrays under a name, if the disk can be written: others see them whole, whoever else writes them at the same time."""
    try:
        place = folder()
        place.mkdir(parents=True, exist_ok=True)
        handle, new = tempfile.mkstemp(suffix=".new", dir=place)
        try:
            with os.fdopen(handle, "wb") as file:
                np.savez_compressed(file, **arrays)  # pyright: ignore[reportArgumentType]
            os.replace(new, place / f"{name}.npz")
        except BaseException:
            Path(new).unlink(missing_ok=True)
            raise
        found = sorted(place.glob("*.npz"), key=lambda path: path.stat().st_mtime)
        for old in found[:-MOST]:
            old.unlink(missing_ok=True)
    except OSError as error:
        _log.info("%s.npz is not kept: %s", name, error)
