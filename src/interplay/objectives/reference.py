"""References: the value a feature should have at a time, with its feed-forward velocity and acceleration."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from interplay.errors import InputError, number, vector


class Sample(NamedTuple):
    """Reference value, velocity and acceleration at one time."""

    value: np.ndarray
    velocity: np.ndarray | float = 0.0
    acceleration: np.ndarray | float = 0.0


@runtime_checkable
class Reference(Protocol):
    """Anything that can be sampled at a time [s]."""

    def at(self, time: float) -> Sample:
        """Return the sample at a time."""
        ...


class Constant:
    """A fixed value."""

    def __init__(self, value: np.ndarray):
        """Keep the value."""
        self._sample = Sample(value)

    def at(self, time: float) -> Sample:
        """Return the value, at rest."""
        return self._sample


def minimum_jerk(s: float) -> tuple[float, float, float]:
    """Return the minimum-jerk way from 0 to 1 at s in [0, 1] (at rest before and after), with two derivatives by s."""
    s = min(max(s, 0.0), 1.0)
    return s**3 * (10 - 15 * s + 6 * s * s), s * s * (30 - 60 * s + 30 * s * s), s * (60 - 180 * s + 120 * s * s)


def arch(s: float) -> tuple[float, float, float]:
    """Return 64 s³(1 − s)³, out to 1 and back, at rest and without acceleration at both ends, with two derivatives by s."""
    s = min(max(s, 0.0), 1.0)
    r = 1 - s
    return 64 * (s * r) ** 3, 192 * (s * r) ** 2 * (r - s), 384 * s * r * ((r - s) ** 2 - s * r)


class MinimumJerk:
    """From one value to another along a straight line in minimum-jerk time, at rest before and after."""

    def __init__(self, start: Any, end: Any, begin: float, seconds: float):
        """Take both values, the time it begins and how long it takes [s]."""
        self.start, self.end = np.atleast_1d(np.asarray(start, float)), np.atleast_1d(np.asarray(end, float))
        self.begin, self.seconds = number("begin", begin), number("seconds", seconds, 1e-3)

    def at(self, time: float) -> Sample:
        """Return the sample at a time."""
        T, way = self.seconds, self.end - self.start
        f, df, ddf = minimum_jerk((time - self.begin) / T)
        return Sample(self.start + f * way, df / T * way, ddf / T**2 * way)


class Part:
    """Some components of another reference: of its value, and of its velocity and acceleration."""

    def __init__(self, whole: Reference, value: slice, rate: slice):
        """Take the reference and which components of it."""
        self._whole, self._value, self._rate = whole, value, rate

    def at(self, time: float) -> Sample:
        """Return the components at a time."""
        x, *rates = self._whole.at(time)
        return Sample(x[self._value], *(r[self._rate] if isinstance(r, np.ndarray) else r for r in rates))


class Path:
    """A function of time that returns a value, (value, velocity, acceleration), or a :class:`Sample`.

    A plain value is differentiated numerically over 1 ms; ``difference(a, b)`` says how values differ in tangent space.
    """

    def __init__(
        self, function: Callable[[float], Any], difference: Callable[[np.ndarray, np.ndarray], np.ndarray] = np.subtract
    ):
        """Keep the function."""
        self._function, self._difference = function, difference

    def at(self, time: float) -> Sample:
        """Return what the function gives."""
        given = self._function(time)
        if isinstance(given, tuple) and len(given) == 3 and np.ndim(given[0]) == 1:
            return Sample(*(np.asarray(part, float) for part in given))
        h = 1e-3
        before, now, after = (
            np.atleast_1d(np.asarray(self._function(t) if t != time else given, float))
            for t in (time - h, time, time + h)
        )
        forward, backward = self._difference(after, now), self._difference(now, before)
        return Sample(now, (forward + backward) / (2 * h), (forward - backward) / h**2)


def as_reference(
    what: str,
    given: Any,
    size: int,
    rate: int | None = None,
    difference: Callable[[np.ndarray, np.ndarray], np.ndarray] = np.subtract,
) -> Reference:
    """Return a reference from numbers, a function of time, or a reference; its first sample must fit.

    ``size`` is the number of values, ``rate`` that of their velocities (fewer for quaternions).
    """
    if given is None:
        raise InputError(f"{what}: expected a reference value, got None")
    if isinstance(given, Reference):
        reference: Reference = given
    elif callable(given):
        reference = Path(given, difference)
    else:
        return Constant(vector(what, given, size))
    try:
        value, velocity, acceleration = reference.at(0.0)
    except InputError:
        raise
    except Exception as error:
        raise InputError(f"{what}: the reference cannot be sampled at t = 0: {error}") from None
    vector(what, value, size)
    for name, part in (("velocity", velocity), ("acceleration", acceleration)):
        if np.ndim(part):
            vector(f"{what} ({name})", part, size if rate is None else rate)
    return reference
