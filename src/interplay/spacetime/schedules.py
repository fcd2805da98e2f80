"""Schedules: in which turns a problem is solved (liu2006, section 6). Values that a problem is given; a new one is one more class."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from interplay.spacetime.problem import Joint, Problem, Schedule, Turn, Window

__all__ = ["Joint", "Layered", "Schedule"]


class Layered(NamedTuple):
    """Time-layered (liu2006, 6.1): what is across a seam, from a phase until before another, then what is before it and after it.

    In the paper each side is solved alone before, up to a pose that nobody knows yet; here both are gaits already, which are optimal but
    for what must hold along them.
    """

    who: str
    first: int
    end: int

    def turns(self, problem: Problem) -> Iterable[Turn]:
        """Return the three."""
        return [
            Turn((Window(self.who, self.first, self.end, loose=True),)),
            Turn((Window(self.who, 0, self.first, loose=True),), near=True),
            Turn((Window(self.who, self.end),), near=True),
        ]
