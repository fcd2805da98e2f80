"""The time of a walk, which waits where a phase does."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from interplay.objectives.reference import Reference, Sample

if TYPE_CHECKING:
    from interplay.motion.machine import Entry

_PATIENCE = 0.08
"""Seconds a phase may take longer before the clock of a walk stands still."""


@dataclass
class Clock:
    """The time of a walk. A phase may end a little late; one that waits longer (for a foot to land) makes the clock wait."""

    begun: float = 0.0
    """When the walk began, in simulated time."""
    waited: float = 0.0
    """How long the clock has stood still."""
    end: float = math.inf
    """Where the clock stands still in the present phase."""

    def enter(self, begun: Entry, starts: Mapping[str, float], end: float) -> None:
        """Begin a phase that ends at ``end``; ``starts`` says for when each phase of the walk was planned."""
        late = [time - begun.time - starts[phase] for phase, time in begun.since_then.items()]
        self.begun, self.waited = begun.time, max(0.0, max(late, default=0.0) - _PATIENCE)
        self.end = end + _PATIENCE

    def now(self, time: float) -> float:
        """Return the walk's time."""
        return min(self.elapsed(time), self.end)

    def elapsed(self, time: float) -> float:
        """Return what the walk's time would be if it did not wait in this phase."""
        return time - self.begun - self.waited

    def of(self, reference: Reference) -> Reference:
        """Return a reference in simulated time from one in the walk's time."""
        return _Clocked(self, reference)


class _Clocked:
    """A reference of a walk in simulated time; several objectives may ask it for the same time."""

    def __init__(self, clock: Clock, reference: Reference):
        self._clock, self._reference, self.full = clock, reference, getattr(reference, "full", False)
        self._now, self._sample = math.nan, Sample(np.zeros(0))

    def at(self, time: float) -> Sample:
        now = self._clock.now(time)
        if now >= self._clock.end:
            value, *rates = self._reference.at(now)
            return Sample(value, *(0.0 * rate for rate in rates))
        if now != self._now:
            self._now, self._sample = now, self._reference.at(now)
        return self._sample
