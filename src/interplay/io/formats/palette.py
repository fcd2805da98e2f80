"""Palettes of pictures with few colours."""

from __future__ import annotations

import numpy as np
from PIL import Image
from scipy.spatial import KDTree

_PIXELS = 400_000
"""So many pixels are looked at."""

_BYTES = np.array([65536, 256, 1], np.uint32)
"""Times red, green and blue: a colour as one number."""


def palette_of(pictures: list[Image.Image]) -> Image.Image:
    """Return a palette (an image that has it) of 256 colours that serves all pictures.

    A colour counts by the root of how often it is seen: backdrop and ground would otherwise leave none to bodies.
    """
    pixels = np.concatenate([np.asarray(picture.convert("RGB")).reshape(-1, 3) for picture in pictures])
    some = pixels[:: 1 + len(pixels) // _PIXELS].astype(np.uint32)
    colors, counts = np.unique(some @ _BYTES, return_counts=True)
    often = np.repeat(colors, np.ceil(np.sqrt(counts)).astype(int))
    return Image.fromarray(_channels(often).astype(np.uint8)[None]).quantize(
        256, method=Image.Quantize.MEDIANCUT, kmeans=1
    )


def reduced(picture: Image.Image, palette: Image.Image) -> Image.Image:
    """Return a picture in the nearest colours of a palette; Pillow looks at six bits of eight, which shows bands where it fades."""
    codes = np.asarray(picture.convert("RGB")).astype(np.uint32) @ _BYTES
    colors, which = np.unique(codes, return_inverse=True)
    table = palette.getpalette() or []
    nearest = np.asarray(KDTree(np.reshape(table, (-1, 3))).query(_channels(colors))[1], np.uint8)
    out = Image.frombytes("P", picture.size, nearest[which.reshape(-1)].tobytes())
    out.putpalette(table)
    return out


def _channels(codes: np.ndarray) -> np.ndarray:
    """Return the colours (n, 3) of codes."""
    return np.stack([codes >> 16, (codes >> 8) & 255, codes & 255], axis=-1)
