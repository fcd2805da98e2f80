"""Palettes of pictures with few colours."""

from __future__ import annotations

import numpy as np
from PIL import Image

_PIXELS = 400_000
"""So many pixels are looked at."""

_GRAIN = np.array([[-1.5, 0.5], [1.5, -0.5]])[:, :, None]
"""Added to every four pixels before they lose colours: what fades would otherwise show bands. As it repeats, files stay small."""


def palette_of(pictures: list[Image.Image]) -> Image.Image:
    """Return a palette (an image that has it) of 256 colours that serves all pictures.

    A colour counts by the root of how often it is seen: backdrop and ground would otherwise leave none to bodies.
    """
    pixels = np.concatenate([np.asarray(picture.convert("RGB")).reshape(-1, 3) for picture in pictures])
    some = pixels[:: 1 + len(pixels) // _PIXELS].astype(np.uint32)
    colors, counts = np.unique(some @ np.array([65536, 256, 1], np.uint32), return_counts=True)
    often = np.repeat(colors, np.ceil(np.sqrt(counts)).astype(int))
    row = np.stack([often >> 16, (often >> 8) & 255, often & 255], axis=-1).astype(np.uint8)[None]
    return Image.fromarray(row).quantize(256, method=Image.Quantize.MEDIANCUT, kmeans=1)


def reduced(picture: Image.Image, palette: Image.Image) -> Image.Image:
    """Return a picture in the colours of a palette."""
    pixels = np.asarray(picture.convert("RGB")).astype(float)
    height, width = pixels.shape[:2]
    grain = np.tile(_GRAIN, (-(-height // 2), -(-width // 2), 1))[:height, :width]
    grained = np.clip(pixels + grain, 0, 255).round().astype(np.uint8)
    return Image.fromarray(grained).quantize(palette=palette, dither=Image.Dither.NONE)
