"""A film strip, or with one frame a still."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pydantic
from PIL import Image, ImageDraw, ImageFont

from interplay.io.formats.base import Format, Progress, whole_file
from interplay.io.formats.palette import palette_of, reduced
from interplay.io.formats.pictures import Pictures
from interplay.io.moments import Moments
from interplay.io.recording import Recording
from interplay.view.painting import painter


class Strip(Pictures):
    """Of a film strip."""

    frames: int = pydantic.Field(12, ge=1, le=1000, description="how many, evenly spread; 1: a still, of the first")
    columns: int = pydantic.Field(6, ge=1, le=1000, description="how many frames stand side by side")
    size: str | None = pydantic.Field(None, description="of a frame [pixels], such as 1280x720")
    width: int = pydantic.Field(360, ge=16, le=4096, description="of a frame [pixels], where --size is not given")
    height: int = pydantic.Field(400, ge=16, le=4096, description="of a frame [pixels], where --size is not given")
    captions: bool = pydantic.Field(True, description="whether frames tell their time and phase")


def write(recording: Recording, out: Path, options: Strip, progress: Progress) -> None:
    """Write frames side by side, each with its time and phase."""
    moments, tiles = Moments(recording), []
    begin, end = options.span(recording)
    times = np.linspace(begin, min(end, float(recording["time"][-1])), options.frames).tolist()
    width, height = size = options.pixels((options.width, options.height))
    shots = options.shots(moments, times, size)
    with painter(recording.model, width, height) as artist:
        for n, (time, shot) in enumerate(zip(times, shots, strict=True)):
            progress(n / len(times))
            image = Image.fromarray(artist.frame(moments.qpos(time), shot, moments.grips(time)))
            if options.captions:
                _caption(image, f"{time:.2f} s   {moments.phase(time)}")
            tiles.append(image)
    columns = min(options.columns, options.frames)
    rows = -(-options.frames // columns)
    sheet = Image.new("RGB", (columns * width, rows * height), (255, 255, 255))
    for k, tile in enumerate(tiles):
        sheet.paste(tile, ((k % columns) * width, (k // columns) * height))
    if options.frames > 1:
        sheet = reduced(sheet, palette_of([sheet]))
    with whole_file(out) as unfinished:
        sheet.save(unfinished, format="PNG", optimize=True)


def _caption(image: Image.Image, text: str) -> None:
    draw = ImageDraw.Draw(image, "RGBA")
    draw.rectangle((0, image.height - 24, image.width, image.height), fill=(255, 255, 255, 170))
    draw.text((8, image.height - 19), text, fill=(30, 34, 40), font=ImageFont.load_default(14))


FORMAT = Format((".png",), "a film strip; with --frames 1 a still", write, Strip)
