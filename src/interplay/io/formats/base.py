"""What an export format is: the endings of its files, its options, and what writes it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pydantic

from interplay.io.recording import Recording

Progress = Callable[[float], None]
"""Takes how much is done, 0 to 1."""


class Options(pydantic.BaseModel):
    """Options of a format: fields with a default and a description. This one has none."""

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Format(NamedTuple):
    """A format of recordings."""

    endings: tuple[str, ...]
    """Of its files; the longest that fits a name decides."""
    what: str
    """What it is, in a few words."""
    write: Callable[[Recording, Path, Any, Progress], list[Path] | None]
    """Writes a recording into a file, with options of the class below, and tells how far it is; returns other files if those were
    written instead."""
    options: type[Options] = Options


@contextmanager
def whole_file(out: Path) -> Iterator[Path]:
    """Give a path beside a file to write to; it becomes the file when all is done, and nothing is left when it is not."""
    unfinished = out.with_name(f".{out.name}.unfinished")
    try:
        yield unfinished
        os.replace(unfinished, out)
    finally:
        unfinished.unlink(missing_ok=True)
