"""Exports of a recording, in the form that the ending of a file names; see :mod:`interplay.io.formats`."""

from __future__ import annotations

import functools
import pkgutil
import warnings
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from interplay.errors import cannot_write, checked, unknown_name
from interplay.io import formats
from interplay.io.formats.base import Format, Progress
from interplay.io.recording import Recording


@functools.cache
def all_formats() -> dict[str, Format]:
    """Return every format by the endings of its files."""
    modules = [import_module(f"{formats.__name__}.{m.name}") for m in pkgutil.iter_modules(formats.__path__)]
    found = [m.FORMAT for m in modules if hasattr(m, "FORMAT")]
    return {ending: f for f in found for ending in f.endings}


def format_of(out: str | Path) -> Format:
    """Return the format that the ending of a file names."""
    known, name = all_formats(), Path(out).name.lower()
    fitting = [ending for ending in known if name.endswith(ending)]
    if not fitting:
        raise unknown_name("export format", Path(out).suffix.lower() or Path(out).name, known)
    return known[max(fitting, key=len)]


def export(
    folder: str | Path,
    out: str | Path,
    tell: Callable[[str], None] = warnings.warn,
    progress: Progress = lambda done: None,
    **options: Any,
) -> list[Path]:
    """Write a recording's folder in the form that the ending of ``out`` names, and ``tell`` what could not be read of it.

    Returns the files that were written.
    """
    out, form = Path(out), format_of(out)
    chosen = checked(form.options, f"options of {form.endings[0]}", options)
    recording = Recording(folder)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        written = form.write(recording, out, chosen, progress) or [out]
    except OSError as error:
        raise cannot_write(out, error) from None
    for gap in recording.missing:
        tell(str(gap))
    return written
