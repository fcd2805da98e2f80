"""A film strip, or with one frame a still."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pydantic
from PIL import Image, ImageDraw, ImageFont

from interplay.io.formats.base import Format, Progress
from interplay.io.formats.pictures import Pictures
from interplay.io.grips import recorded_grips
from interplay.io.recording import Recording
from interplay.view.painting import painter


class Strip(Pictures):
    """Of a film strip."""

    frames: int = pydantic.Field(12, ge=1, le=1000, description="how many, evenly spread; 1: a still, of the first")
    columns: int = pydantic.Field(6, ge=1, le=1000, description="how many frames stand side by side")
    width: int = pydantic.Field(360, ge=16, le=4096, description="of a frame [pixels]")
    height: int = pydantic.Field(400, ge=16, le=4096, description="of a frame [pixels]")
    captions: bool = pydantic.Field(True, description="whether frames tell their time and phase")


def write(recording: Recording, out: Path, options: Strip, progress: Progress) -> None:
    """Write frames side by side, each with its time and phase."""
    time, grips, tiles = recording["time"], recorded_grips(recording), []
    picks = np.linspace(*options.steps(recording), options.frames).round().astype(int)
    with painter(recording.model, options.width, options.height) as artist:
        for n, t in enumerate(picks):
            progress(n / len(picks))
            view = options.view(recording, n / len(picks))
            image = Image.fromarray(artist.frame(recording["qpos"][t], view, grips.at(float(time[t]))))
            if options.captions:
                _caption(image, f"{time[t]:.2f} s   {recording.phases[t]}")
            tiles.append(image)
    columns = min(options.columns, options.frames)
    rows = -(-options.frames // columns)
    sheet = Image.new("RGB", (columns * options.width, rows * options.height), (255, 255, 255))
    for k, tile in enumerate(tiles):
        sheet.paste(tile, ((k % columns) * options.width, (k // columns) * options.height))
    if options.frames > 1:
        sheet = sheet.quantize(128, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
    sheet.save(out, optimize=True)


def _caption(image: Image.Image, text: str) -> None:
    draw = ImageDraw.Draw(image, "RGBA")
    draw.rectangle((0, image.height - 24, image.width, image.height), fill=(255, 255, 255, 170))
    draw.text((8, image.height - 19), text, fill=(30, 34, 40), font=ImageFont.load_default(14))


FORMAT = Format((".png",), "a film strip; with --frames 1 a still", write, Strip)
