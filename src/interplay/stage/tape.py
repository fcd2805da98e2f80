"""The tape: what has been shown, and checkpoints from which the performance can go on."""

from __future__ import annotations

import pickle
import zlib
from bisect import bisect_left, bisect_right
from typing import Any, Generic, NamedTuple, TypeVar

from interplay.io.writer import Place
from interplay.motion.targets import Target
from interplay.stage.messages import Moment

FRAMES, MARKS = 18_000, 1_200
"""How many frames and checkpoints are kept (10 minutes at 30 Hz and at one in half a second). When there are more, every second
one of the older half is dropped: the past becomes coarser, but stays."""

Thing = TypeVar("Thing")


class Mark(NamedTuple):
    """A moment to go on from: its checkpoint, the targets that were still to come, and where the record stood."""

    checkpoint: dict[str, Any]
    targets: list[Target]
    place: Place


class _Track(Generic[Thing]):
    """Things by ascending time, pickled and packed: they are never changed, and rarely looked at."""

    def __init__(self, most: int):
        self.times: list[float] = []
        self._things: list[bytes] = []
        self._most = most

    def add(self, time: float, thing: bytes) -> None:
        """Keep something of a later time."""
        self.times.append(time)
        self._things.append(zlib.compress(thing, 1))
        if len(self.times) > self._most:
            half = len(self.times) // 2
            self.times[:half], self._things[:half] = self.times[:half:2], self._things[:half:2]

    def get(self, index: int) -> Thing:
        """Return what is kept."""
        return pickle.loads(zlib.decompress(self._things[index]))

    def cut(self, count: int) -> None:
        """Keep only the first ones."""
        del self.times[count:], self._things[count:]

    @property
    def size(self) -> int:
        """Memory [bytes]."""
        return sum(map(len, self._things))


class Tape:
    """Frames and checkpoints of one performance."""

    def __init__(self) -> None:
        """Begin empty."""
        self._frames: _Track[Moment] = _Track(FRAMES)
        self._marks: _Track[Mark] = _Track(MARKS)

    @property
    def span(self) -> tuple[float, float]:
        """First and last moment [s] that is kept."""
        times = self._frames.times
        return (times[0], times[-1]) if times else (0.0, 0.0)

    @property
    def size(self) -> int:
        """Memory [bytes] of frames and checkpoints."""
        return self._frames.size + self._marks.size

    def add(self, time: float, frame: bytes) -> None:
        """Keep a pickled frame, unless that moment is kept already."""
        if not self._frames.times or time > self._frames.times[-1] + 1e-9:
            self._frames.add(time, frame)

    def frame(self, time: float) -> Moment:
        """Return the frame next to a time."""
        return self._frames.get(self._next_to(time))

    def moment(self, time: float) -> float:
        """Return the time of the frame next to a time."""
        return self._frames.times[self._next_to(time)]

    def _next_to(self, time: float) -> int:
        times = self._frames.times
        after = min(bisect_left(times, time), len(times) - 1)
        return after - (after > 0 and time - times[after - 1] < times[after] - time)

    def mark(self, time: float, mark: Mark) -> None:
        """Keep a checkpoint."""
        self._marks.add(time, pickle.dumps(mark, pickle.HIGHEST_PROTOCOL))

    def last_mark(self, time: float) -> Mark:
        """Return the last checkpoint that is not later than a time."""
        return self._marks.get(max(bisect_right(self._marks.times, time + 1e-9) - 1, 0))

    def cut(self, time: float) -> None:
        """Forget what came after a time."""
        for track in (self._frames, self._marks):
            track.cut(bisect_right(track.times, time + 1e-9))
