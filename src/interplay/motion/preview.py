"""Preview of the centre of mass: how it should move, knowing where the feet will press.

A body whose centre of mass x stays at one height presses on the ground at p = x − ẍ/ω², ω² = g/height (the linear inverted
pendulum). Given where it shall press, p_ref(t), the motion is found for the whole walk at once: least squares of p − p_ref and
of the jerk, from the present position and velocity. Far ahead of a step the centre of mass already leans toward it.
"""

from __future__ import annotations

from typing import ClassVar

import numba
import numpy as np
from scipy.interpolate import CubicSpline
from scipy.linalg import solveh_banded

from interplay.objectives.reference import Sample

GRID = 0.01
"""Seconds between the points of a preview."""

_JERK = 3e-6
"""Weight of the jerk [m²s⁶/m²]: how much p may leave p_ref for a smooth motion."""


def preview(
    pressed: np.ndarray, position: np.ndarray, velocity: np.ndarray, height: float, gravity: float
) -> np.ndarray:
    """Return the horizontal motion (n, 2) of a centre of mass, every ``GRID`` seconds.

    Args:
        pressed: p_ref (n, 2) [m] every ``GRID`` seconds.
        position, velocity: at the beginning (2,) [m, m/s].
        height: of the centre of mass over the ground [m].
        gravity: [m/s²]
    """
    n, k = len(pressed), height / (gravity * GRID**2)
    # Unknowns x_3 … x_{n+2}; x_0, x_1, x_2 are given by the beginning, without acceleration: nothing jerks then.
    # p_i = x_i − k (x_{i+1} − 2 x_i + x_{i−1}).
    known = 3
    begin = position + GRID * np.arange(known)[:, None] * velocity
    goal = np.vstack([pressed[1:], pressed[-1:], pressed[-1:]])
    equations = [
        (np.array([-k, 1 + 2 * k, -k]), goal, 1.0),
        (np.array([-1.0, 3.0, -3.0, 1.0]), 0.0 * goal, _JERK / GRID**6),
    ]
    bands, right = np.zeros((4, n)), np.zeros((n, pressed.shape[1]))
    for stencil, value, weight in equations:  # the e-th one is over x_e … x_{e + width − 1}
        width = len(stencil)
        count = n + known + 1 - width
        value = value[:count].copy()
        for e in range(known):
            value[e] -= stencil[: known - e] @ begin[e : e + width]
        for i in range(width):
            skip = max(0, known - i)  # equations in which x_{e + i} is given
            at = slice(skip + i - known, count + i - known)
            right[at] += weight * stencil[i] * value[skip:]
            for j in range(i, width):
                bands[j - i, at] += weight * stencil[i] * stencil[j]
    return np.vstack([begin, solveh_banded(bands, right, lower=True)])[:n]


class Track:
    """A smooth reference through values (n, d) every ``GRID`` seconds from time 0; at rest after the last one."""

    full: ClassVar[bool] = True

    def __init__(self, values: np.ndarray):
        """Lay a cubic spline through the values."""
        spline = CubicSpline(GRID * np.arange(len(values)), values, axis=0, bc_type="clamped")
        self._pieces = np.ascontiguousarray(np.moveaxis(spline.c, 0, 1))
        last = np.array(values[-1], float)
        self._rest = Sample(last, 0.0 * last, 0.0 * last)

    def at(self, time: float) -> Sample:
        """Return value, velocity and acceleration."""
        time = max(time, 0.0)
        k = int(time / GRID)
        if k >= len(self._pieces):
            return self._rest
        return Sample(*_piece(self._pieces[k], time - k * GRID))


@numba.njit(cache=True)
def _piece(c, u):
    """Return value, velocity and acceleration of a cubic (4, d), highest power first."""
    value, velocity, acceleration = np.empty(c.shape[1]), np.empty(c.shape[1]), np.empty(c.shape[1])
    for i in range(c.shape[1]):
        value[i] = ((c[0, i] * u + c[1, i]) * u + c[2, i]) * u + c[3, i]
        velocity[i] = (3.0 * c[0, i] * u + 2.0 * c[1, i]) * u + c[2, i]
        acceleration[i] = 6.0 * c[0, i] * u + 2.0 * c[1, i]
    return value, velocity, acceleration
