"""The look that pictures, pages and the stage share: a bright studio whose ground runs into its backdrop.

Colours are sRGB, 0 to 1, as they are seen.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

BACKDROP_TOP = (0.800, 0.838, 0.884)
"""What is behind everything, at the upper edge of a picture …"""

BACKDROP = (0.925, 0.937, 0.950)
"""… and from the middle of it down, where the ground runs into it."""

GROUND = (0.905, 0.915, 0.927)
LINES = (0.800, 0.822, 0.848)
"""Of the ground, and of the lines on it, one metre apart."""

HALF_LINES = (0.868, 0.880, 0.896)
"""Of the fainter ones halfway between."""

SHADE = (0.40, 0.44, 0.52)
"""What is left of the ground's light where shade is deepest: shade is cool, never black."""

FADE = 15.0
"""How far from what is looked at the ground has become one with the backdrop [m]."""


class Light(NamedTuple):
    """Light from far away: where it comes from, its colour, and how much of it shines on smooth surfaces."""

    source: tuple[float, float, float]
    color: tuple[float, float, float]
    shine: float = 0.0


KEY = (2.5, -1.5, 5.0)
"""Where the key light comes from."""

BOUNCE = (0.77, 0.745, 0.72)
KEY_STRENGTH, SKY_STRENGTH, REFLECTIONS = 0.95, 0.40, 0.20
"""On the stage, whose light adds up as light does: the ground's colour in what it throws back, and how bright it all is."""


class Shaded(NamedTuple):
    """Light whose way to the ground bodies stand in."""

    source: tuple[float, float, float]
    depth: float
    """How much of the light on the ground comes from it, 0 to 1."""
    edge: float
    """Width of a shade's edge where a body stands on the ground [m] …"""
    softness: float
    """… and how much wider it is per metre above it: how large the light is."""
    fading: float
    """How quickly a shade gets fainter with height [1/m]: light comes in from the sides."""


SHADED = (
    Shaded(KEY, depth=0.70, edge=0.018, softness=0.11, fading=0.25),
    Shaded((0.0, 0.0, 1.0), depth=0.90, edge=0.035, softness=0.40, fading=0.9),
)
"""The key, which throws a shadow, and the sky, which leaves contact dark."""

FOLDS = 2.6
"""How dark it gets in folds and between bodies that touch."""

AMBIENT = (0.50, 0.50, 0.50)
"""Light from everywhere."""

LIGHTS = (
    Light(KEY, (0.46, 0.45, 0.43), 0.16),
    Light((-0.4, 0.6, 1.0), (0.13, 0.135, 0.14)),
    Light((-3.0, 2.0, 1.5), (0.24, 0.245, 0.25), 0.08),
    Light((2.0, -4.0, 0.8), (0.24, 0.235, 0.23)),
    Light((0.0, 0.0, -1.0), (0.16, 0.157, 0.15)),
)
"""Key, sky, a rim opposite the key, and what the bright ground throws back."""


def backdrop(height: int) -> np.ndarray:
    """Return the backdrop's colours (height, 3) from the upper edge of a picture to the lower one."""
    down = np.clip(np.linspace(0.0, 1.0, height) / 0.55, 0.0, 1.0)[:, None]
    ease = down * down * (3.0 - 2.0 * down)
    return np.array(BACKDROP_TOP) * (1.0 - ease) + np.array(BACKDROP) * ease
