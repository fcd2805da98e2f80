"""Smooth steps: the minimum-jerk polynomial, with its derivatives, and quintics that come to rest."""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

FASTEST = 1.875
"""Largest rate of the minimum-jerk step, in units of way over duration."""


def _polynomial(s):
    return s * s * s * (10.0 + s * (6.0 * s - 15.0))


_ease = numba.njit(cache=True)(_polynomial)


@numba.njit(cache=True)
def smooth_step(t):
    """Return the smooth step (C²) from 0 at t = 0 to 1 at t = 1."""
    return _ease(min(max(t, 0.0), 1.0))  # also of ±inf


@numba.njit(cache=True)
def minimum_jerk(s):
    """Return the minimum-jerk way from 0 to 1 at s in [0, 1] (at rest before and after), with two derivatives by s."""
    s = min(max(s, 0.0), 1.0)
    return _ease(s), s * s * (30 - 60 * s + 30 * s * s), s * (60 - 180 * s + 120 * s * s)


def smooth_steps(time: np.ndarray, begin: float, end: float) -> np.ndarray:
    """Return the smooth step between two times, at many at once."""
    return _polynomial(np.clip((time - begin) / (end - begin), 0.0, 1.0))


@numba.njit(cache=True)
def out_and_back(s):
    """Return 64 s³(1 − s)³, out to 1 and back, at rest and without acceleration at both ends, with two derivatives by s."""
    s = min(max(s, 0.0), 1.0)
    r = 1 - s
    return 64 * (s * r) ** 3, 192 * (s * r) ** 2 * (r - s), 384 * s * r * ((r - s) ** 2 - s * r)


class QuinticToRest(NamedTuple):
    """A quintic (6, dim) over some seconds from a value, velocity and acceleration to rest at zero."""

    coefficients: np.ndarray
    seconds: float

    @classmethod
    def of(cls, value: np.ndarray, velocity: np.ndarray, acceleration: np.ndarray, seconds: float) -> QuinticToRest:
        """Return the quintic in s = t/T whose first three derivatives are given."""
        a0, a1, a2 = value, velocity * seconds, acceleration * seconds * seconds / 2
        return cls(
            np.array([a0, a1, a2, -10 * a0 - 6 * a1 - 3 * a2, 15 * a0 + 8 * a1 + 3 * a2, -6 * a0 - 3 * a1 - a2]),
            seconds,
        )

    def at(self, s: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return value, velocity and acceleration at s = t/T, s < 1."""
        k, c, T = np.arange(6.0), self.coefficients, self.seconds
        power = s**k
        return (
            power @ c,
            (k[1:] * power[:-1]) @ c[1:] / T,
            (k[2:] * k[1:-1] * power[:-2]) @ c[2:] / T**2,
        )
