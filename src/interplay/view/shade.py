"""Soft shade on the ground: what stands in the light's way, the softer the higher it is.

Bodies are seen from below the ground, towards the light. What is seen is cut into layers by its height; from the highest one down,
each is laid on those above and all are blurred a little more. So a sole is dark where it stands, and a head only a breath.
"""

from __future__ import annotations

import numba
import numpy as np

from interplay.view.look import Shaded

LEVELS = np.array([0.0, 0.05, 0.15, 0.4, 0.9, 2.0])
"""Heights [m] of the layers."""


@numba.njit(cache=True, nogil=True, fastmath=True)
def cut_into_layers(heights, levels, fading, layers):
    """Cut heights (n, n) [m], infinite where nothing is, into layers (k, n, n) that overlap, so that nothing jumps."""
    n, count = heights.shape[0], levels.shape[0]
    for i in range(n):
        for j in range(n):
            h = heights[i, j]
            for k in range(count):
                layers[k, i, j] = 0.0
            if h > 50.0:
                continue
            strength = np.exp(-fading * max(h, 0.0))
            k = 0
            while k < count - 2 and h > levels[k + 1]:
                k += 1
            part = min(max((h - levels[k]) / (levels[k + 1] - levels[k]), 0.0), 1.0)
            layers[k, i, j] = strength * (1.0 - part)
            layers[k + 1, i, j] = strength * part


@numba.njit(cache=True, nogil=True, fastmath=True)
def blur(image, reach, spare):
    """Blur an image (n, n) by two moving averages of ``2 reach + 1`` pixels in each direction; ``spare`` is as large."""
    n = image.shape[0]
    share = np.float32(1.0 / (2 * reach + 1))
    sums = np.zeros(n, np.float32)
    for _ in range(2):
        for i in range(n):
            total = np.float32(0.0)
            for j in range(min(reach, n)):
                total += image[i, j]
            for j in range(n):
                if j + reach < n:
                    total += image[i, j + reach]
                if j - reach - 1 >= 0:
                    total -= image[i, j - reach - 1]
                spare[i, j] = total * share
        for j in range(n):
            sums[j] = 0.0
        for i in range(min(reach, n)):
            for j in range(n):
                sums[j] += spare[i, j]
        for i in range(n):
            if i + reach < n:
                for j in range(n):
                    sums[j] += spare[i + reach, j]
            if i - reach - 1 >= 0:
                for j in range(n):
                    sums[j] -= spare[i - reach - 1, j]
            for j in range(n):
                image[i, j] = sums[j] * share


def soft_shade(heights: np.ndarray, pixel: float, light: Shaded) -> np.ndarray:
    """Return how much light is taken away (n, n), 0 to 1, by what is seen at heights [m] from below, pixels as large as said [m]."""
    layers = np.empty((len(LEVELS), *heights.shape), np.float32)
    cut_into_layers(heights, LEVELS, light.fading, layers)
    shade, spare, wide = layers[-1], np.empty_like(layers[0]), light.softness * LEVELS + light.edge
    for k in range(len(LEVELS) - 1, -1, -1):
        if k < len(LEVELS) - 1:
            shade = shade + layers[k] - shade * layers[k]
        below = wide[k - 1] if k else 0.0
        # Averages of averages: variances add up, (r² + r)·2/3 pixels² each.
        variance = (wide[k] ** 2 - below**2) / pixel**2
        reach = round(0.5 * (np.sqrt(1.0 + 6.0 * variance) - 1.0))
        if reach:
            shade = np.ascontiguousarray(shade)
            blur(shade, reach, spare)
    return shade
