"""Schedules: in which turns a problem is solved (liu2006, section 6). Values that a problem is given; a new one is one more class."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from interplay.spacetime.problem import Joint, Problem, Schedule, Turn, Window

__all__ = ["Joint", "Layered", "Schedule"]


class Layered(NamedTuple):
    """Time-layered (liu2006, 6.1): what is before a seam, what is after it, then what is across it, from a phase until before another.

    The pose at the seam, of which the first two know nothing better, is what the row begins with there: the average of both.
    """

    who: str
    seam: int
    first: int
    end: int

    def turns(self, problem: Problem) -> Iterable[Turn]:
        """Return A, B and C."""
        return [
            Turn((Window(self.who, 0, self.seam, loose=True),)),
            Turn((Window(self.who, self.seam),)),
            Turn((Window(self.who, self.first, self.end, loose=True),)),
        ]
