"""How firmly plans may ask of contacts and limits: a world says what it can bear."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Manner(NamedTuple):
    """In an exact world, contacts are held and speeds stopped within a step; a simulated one would answer with a jolt."""

    pull: float = 1.0
    """Part of a contact's drift that a step takes back."""
    stop: float = np.inf
    """How quickly slipping is stopped [1/s]; infinite: within a step."""
    back: float = 0.0
    """How firmly a patch that has opened is asked to lie down again [1/s²]; 0: contacts do not open."""
    shrink: float = 0.0
    """By what part the regions of patches are drawn in, unless a contact says otherwise."""
    braking: float = np.inf
    """Largest acceleration [rad/s², m/s²] that limits of joints ask for."""
    foresees: bool = True
    """Whether a plan knows what will push in its step; else only what has become of earlier pushes."""
    hasty: bool = False
    """Whether work on a program without a solution is bounded, and all rows that may give way do so at once, not order by order: what
    they demand does not happen as it is planned anyway, and who falls has no time."""


EXACT = Manner()
"""What a plan asks, happens."""
