"""Several characters at one real time: their clocks, the ways of their points, and bonds that hold between them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from interplay.spacetime.blocks import Block, Kernel
from interplay.spacetime.body import Body, Point
from interplay.spacetime.ends import Knots, again
from interplay.spacetime.part import Part
from interplay.spacetime.problem import Law, Stage
from interplay.spacetime.sharing import Clock, Curve

SPACING = 0.07
"""Between the knots of what is shared [s]."""


class Meeting:
    """A stage in which characters meet: the duration, clocks of the parts that are free, and how far a full cycle comes."""

    def __init__(self, stage: Stage, seconds: float | None, cycle: bool):
        """Take the stage; ``seconds``: a duration that is given; ``cycle``: all parts are full cycles, along x."""
        self.stage, unknowns = stage, stage.unknowns
        roles = stage.problem.roles
        begins = {who: _seconds(roles[who].phases[: window.first]) for who, window in stage.windows.items()}
        known = [_seconds(role.phases) for who, role in roles.items() if who not in stage.parts]
        if seconds is None and known:
            seconds = max(known)  # who is not free has planned to be there then, or will
        span = max(_seconds(role.phases) for role in roles.values()) if seconds is None else seconds
        low, high = (0.1, 100.0) if seconds is None else (seconds, seconds)
        self.duration = unknowns.add("duration", np.array([span]), low, high)
        for who, part in stage.parts.items():
            self._hurry(part, (span - begins[who]) / float(part.times(unknowns.guess)[-1]))
        self.clocks = {who: Clock(part, begins[who]) for who, part in stage.parts.items()}
        self.blocks = [clock.block() for clock in self.clocks.values()]
        ends = np.array([[clock.times[-1], self.duration[0]] for clock in self.clocks.values()])
        self.blocks.append(_equal("duration", ends))
        self.travel: np.ndarray | None = None
        if cycle:
            first = next(iter(stage.parts.values()))
            far = float(unknowns.guess[first.q[-1, 0]] - unknowns.guess[first.q[0, 0]])
            self.travel = unknowns.add("travel", np.array([far]), 0.1, 100.0)
            for part in stage.parts.values():
                self.blocks += [*again(part), self._comes(part, self.travel)]

    def _hurry(self, part: Part, factor: float) -> None:
        """Guess that a part takes so many times as long: moments read what is shared near where they are guessed to be."""
        unknowns = self.stage.unknowns
        for where, by in ((part.rate, factor), (part.v, 1.0 / factor)):
            unknowns.guess[where] = np.clip(by * unknowns.guess[where], unknowns.low[where], unknowns.high[where])

    def _comes(self, part: Part, travel: np.ndarray) -> Block:
        """A full cycle ends so far ahead, and heads as before."""
        where = np.concatenate([part.q[[0, -1]][:, [0, 1, 3]].ravel(), travel])[None]
        kernel = Kernel("comes", 7, 0, lambda y, c: (0, y[3:6] - y[:3] - ca.vertcat(y[6], 0, 0)))
        zero = np.zeros((1, 3))
        return Block(kernel, where, np.zeros((1, 0)), zero, zero, lambda p, r: f"way of {part.body.name}")

    def curve(self, times: np.ndarray, values: np.ndarray, along: tuple[int, ...] = ()) -> Curve:
        """Return a curve of values (T, d) at real times (T,)."""
        unknowns = self.stage.unknowns
        span = float(unknowns.guess[self.duration[0]])
        count = max(int(np.ceil(span / SPACING)), 6)
        return Curve(unknowns, self.duration, times / span, values, count, self.travel, along)

    def guessed(self, who: str, points: Sequence[Point]) -> tuple[np.ndarray, np.ndarray]:
        """Return real times of a character's knots (T,), and where its points are guessed or known to be (T, 3 N)."""
        role, part = self.stage.problem.roles[who], self.stage.parts.get(who)
        guess = self.stage.unknowns.guess
        if part is not None:
            return guess[self.clocks[who].times], places(role.body, points, guess[part.q])
        course = self.known(who).course(role.phases)
        return course.time, places(role.body, points, course.q)

    def known(self, who: str) -> Knots:
        """Return what is known of who is not free."""
        knots = self.stage.problem.roles[who].knots
        if knots is None:
            raise RuntimeError(f"{who} neither moves nor has moved")
        return knots

    def keeps(self, who: str, point: Point, curve: Curve, knots: np.ndarray) -> Block:
        """Return what keeps a point of a character on a way, at some knots.

        But at those that are given, or follow from others, as the end of a cycle does: rows that say nothing new have no
        multipliers, and the solver goes astray.
        """
        part = self.stage.parts[who]
        body, n = part.body, part.body.n
        free = np.array([k for k in knots if k not in part.given], int)
        read, constants = curve.window(self.clocks[who].knots().some(free))

        def outer(z: Any, c: Any) -> Any:
            value, place = curve.value(z[n:], c)
            return ca.vertcat(_places(body, [point], z[:n]) - value, place)

        low, high = (np.concatenate([np.zeros((len(read), 3)), b], axis=1) for b in curve.within(constants))
        kernel = Kernel("keeps", n + curve.width, 2, lambda y, c: (0, y), outer)
        where = np.concatenate([part.q[free], read], axis=1)
        return Block(kernel, where, constants, low, high, lambda p, r: f"way of {who} at knot {free[p]}")


Bond = Callable[[Meeting], "list[Block]"]
"""What holds between characters that meet."""


class Meet(NamedTuple):
    """The law of a meeting, of its bonds; ``seconds``: its duration, if given; ``cycle``: all parts are full cycles along x."""

    bonds: tuple[Bond, ...]
    seconds: float | None = None
    cycle: bool = False

    def __call__(self, stage: Stage) -> list[Block]:
        """Return what holds between them."""
        meeting = Meeting(stage, self.seconds, self.cycle)
        return [*meeting.blocks, *(block for bond in self.bonds for block in bond(meeting))]


def meet(*bonds: Bond, seconds: float | None = None, cycle: bool = False) -> Meet:
    """Return the law of a meeting."""
    return Meet(bonds, seconds, cycle)


def bonds_of(laws: Sequence[Law]) -> list[Bond]:
    """Return the bonds of all meetings among some laws."""
    return [bond for law in laws if isinstance(law, Meet) for bond in law.bonds]


def places(body: Body, points: Sequence[Point], q: np.ndarray) -> np.ndarray:
    """Return where points of a character are (T, 3 N) in some coordinates (T, n)."""
    symbol = ca.SX.sym("q", body.n)
    found = ca.Function("places", [symbol], [_places(body, points, symbol)])
    return np.asarray(found.map(len(q))(q.T)).T


def _places(body: Body, points: Sequence[Point], q: Any) -> Any:
    frames = body.frames(q)
    return ca.vertcat(*(frames[point.link][1] + frames[point.link][0] @ ca.DM(point.place) for point in points))


def place_of(body: Body, point: Point, q: Any) -> Any:
    """Return where a point of a character is, as symbols."""
    return _places(body, [point], q)


def _seconds(phases: Sequence[Any]) -> float:
    return float(sum(phase.seconds for phase in phases))


def _equal(what: str, where: np.ndarray) -> Block:
    zero = np.zeros((len(where), 1))
    kernel = Kernel("equal", 2, 0, lambda y, c: (0, y[0] - y[1]))
    return Block(kernel, where, np.zeros((len(where), 0)), zero, zero, lambda p, r: what)
