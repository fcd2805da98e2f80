"""References: the value a feature should have at a time, with its feed-forward velocity and acceleration."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple, Protocol, runtime_checkable

import numpy as np

from interplay.errors import InputError, number, vector
from interplay.maths.steps import minimum_jerk


class Sample(NamedTuple):
    """Reference value, velocity and acceleration at one time."""

    value: np.ndarray
    velocity: np.ndarray | float = 0.0
    acceleration: np.ndarray | float = 0.0


@runtime_checkable
class Reference(Protocol):
    """Anything that can be sampled at a time [s]. One with ``full = True`` always gives arrays of floats."""

    def at(self, time: float) -> Sample:
        """Return the sample at a time."""
        ...


class Constant:
    """A fixed value."""

    def __init__(self, value: np.ndarray, rate: int | None = None):
        """Keep the value; ``rate`` is the number of its velocities (fewer than values for quaternions)."""
        still = np.zeros(len(value) if rate is None else rate)
        self._sample = Sample(value, still, still)

    def at(self, time: float) -> Sample:
        """Return the value, at rest."""
        return self._sample


class MinimumJerk:
    """From one value to another along a straight line in minimum-jerk time, at rest before and after."""

    full: ClassVar[bool] = True

    def __init__(self, start: Any, end: Any, begin: float, seconds: float):
        """Take both values, the time it begins and how long it takes [s]."""
        self.start, self.end = np.atleast_1d(np.asarray(start, float)), np.atleast_1d(np.asarray(end, float))
        self.begin, self.seconds = number("begin", begin), number("seconds", seconds, 1e-3)
        self._way, self._still = self.end - self.start, np.zeros(np.broadcast(self.start, self.end).shape)

    def at(self, time: float) -> Sample:
        """Return the sample at a time."""
        T, s, way = self.seconds, (time - self.begin) / self.seconds, self._way
        if s <= 0.0 or s >= 1.0:
            return Sample(self.start if s <= 0.0 else self.start + way, self._still, self._still)
        f, df, ddf = minimum_jerk(s)
        return Sample(self.start + f * way, df / T * way, ddf / T**2 * way)


class _Full:
    """Another reference whose samples are made full: arrays of floats, also where it gives single numbers or lists."""

    def __init__(self, given: Reference, rate: int):
        """Take the reference and the number of its velocities."""
        self._given, self._still = given, np.zeros(rate)

    def at(self, time: float) -> Sample:
        """Return the sample at a time."""
        value, velocity, acceleration = self._given.at(time)
        return Sample(np.atleast_1d(np.asarray(value, float)), self._still + velocity, self._still + acceleration)


class Part:
    """Some components of another reference: of its value, and of its velocity and acceleration."""

    def __init__(self, whole: Reference, value: slice, rate: slice):
        """Take the reference and which components of it."""
        self._whole, self._value, self._rate = whole, value, rate
        self.full = getattr(whole, "full", False)

    def at(self, time: float) -> Sample:
        """Return the components at a time."""
        x, *rates = self._whole.at(time)
        return Sample(x[self._value], *(r[self._rate] if isinstance(r, np.ndarray) else r for r in rates))


class TimeFunction:
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

    ``size`` is the number of values, ``rate`` that of their velocities (fewer for quaternions). Its samples are arrays.
    """
    rate = size if rate is None else rate
    if given is None:
        raise InputError(f"{what}: expected a reference value, got None")
    if isinstance(given, Reference):
        reference: Reference = given
    elif callable(given):
        reference = TimeFunction(given, difference)
    else:
        return Constant(vector(what, given, size), rate)
    try:
        value, velocity, acceleration = reference.at(0.0)
    except InputError:
        raise
    except Exception as error:
        raise InputError(f"{what}: the reference cannot be sampled at t = 0: {error}") from None
    vector(what, value, size)
    for name, part in (("velocity", velocity), ("acceleration", acceleration)):
        if np.ndim(part):
            vector(f"{what} ({name})", part, rate)
    return reference if getattr(reference, "full", False) else _Full(reference, rate)
