"""Problems of any number of parts: characters' rows of phases, laws that bind them, and a schedule by which they are solved (liu2006, 5).

A schedule is a row of turns; in each, some windows of some roles are free and all else stays what it was found to be. Each turn is
solved, its mesh refined where plain MuJoCo disagrees between points, solved again from near, and put back where it was taken from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from interplay.spacetime.blocks import Block, Unknowns
from interplay.spacetime.body import SIDES, Body, Point
from interplay.spacetime.checking import roughest
from interplay.spacetime.ends import PLACE, Knots, hold, knots_of, moved, place_of, recall
from interplay.spacetime.interrupting import INTERRUPTED, Unfinished, asked, listening
from interplay.spacetime.part import OFF_STOPS, SWING, Course, Part, Phase, Style
from interplay.spacetime.solving import ABOUT, NEAR, Progress, Solution, solve, unsolved

ROUGH, MOST_MESHES = np.array([0.1, 0.01, 1.5e-3, OFF_STOPS]), 4
"""What may be off between points: force on the root over the weight, at worst and on the mean of all phases, slip [m], and joints [rad]; and
how many meshes are tried at most."""
STRETCHED = 0.05
"""How long an interval of a sketch may become [s]."""
COARSEST, SHORTEST_MESH = 0.05, 0.008
"""Longest and shortest interval of a mesh [s]."""


class Role(NamedTuple):
    """A character in a problem: its phases, what it minimises, a motion to begin with, and, once it was solved, what was found.

    Others may pull at some of its points.
    """

    body: Body
    phases: tuple[Phase, ...]
    style: Style
    begin: Course
    knots: Knots | None = None
    pulled: tuple[Point, ...] = ()


class When(NamedTuple):
    """A moment in warped time: a share of a phase of the whole row, by its index; negative ones count from the end."""

    phase: int
    share: float = 0.0


END = When(-1, 1.0)
BEGIN = When(0, 0.0)


class Window(NamedTuple):
    """What of a role is free in a turn: from a phase until before another (None: to its end).

    Where it begins or ends within the row, its state is the one that was there; ``loose``: up to where the end lies and heads.
    What follows is then moved along.
    """

    who: str
    first: int = 0
    end: int | None = None
    loose: bool = False


class Turn(NamedTuple):
    """One problem of a schedule: what is free, how stiff the springs are that stand for laws (by name), and whether its guess is near."""

    free: tuple[Window, ...]
    soft: Mapping[str, float] = {}
    near: bool = False


class Stage:
    """A turn, set up: all unknowns, and the parts that are free, by name."""

    def __init__(self, problem: Problem, turn: Turn):
        """Take the windows that are free."""
        self.problem, self.turn, self.unknowns = problem, turn, Unknowns()
        self.windows = {window.who: window for window in turn.free}
        self.parts: dict[str, Part] = {}
        for who, window in self.windows.items():
            if window != Window(who):
                problem.mesh(who)
            role = problem.roles[who]
            phases = role.phases[window.first : window.end]
            part = Part(role.body, phases, role.style, self.unknowns, role.begin, role.pulled)
            if role.knots is not None:
                recall(part, role.knots.between(role.phases, window.first, window.end))
            for side in SIDES:
                part.before[side] = _swinging(role.phases[: window.first][::-1], side)
                part.after[side] = _swinging(
                    role.phases[len(role.phases) if window.end is None else window.end :], side
                )
            if window.first > 0:
                hold(part, 0)
            self.parts[who] = part
        self._ends = [
            block
            for who, window in self.windows.items()
            if window.end is not None and window.end < len(problem.roles[who].phases)
            for block in hold(self.parts[who], self.parts[who].intervals, free=PLACE if window.loose else ())
        ]

    def knot(self, who: str, when: When) -> int | None:
        """Return the knot of a moment, or None where it is not free."""
        part, window = self.parts.get(who), self.windows.get(who)
        if part is None or window is None:
            return None
        count = len(self.problem.roles[who].phases)
        phase = (when.phase if when.phase >= 0 else count + when.phase) - window.first
        if not 0 <= phase < len(part.phases):
            return None
        knots = part.knots_of(phase)
        return knots[round(when.share * (len(knots) - 1))]

    def stiffness(self, law: str) -> float | None:
        """Return how stiff the spring is that stands for a law in this turn, by its name, or None: it must hold."""
        return self.turn.soft.get(law)

    def blocks(self) -> list[Block]:
        """Return all that must hold: laws first, as they say how parts begin and end."""
        laws = [block for law in self.problem.laws for block in law(self)]
        found = [*self._ends, *laws, *(block for part in self.parts.values() for block in part.blocks())]
        return [block for block in found if len(block.where)]


Law = Callable[[Stage], "list[Block]"]
"""What binds parts: told of a stage, it says how parts begin and end, adds unknowns, and returns blocks; none where nothing of it is free."""


class Schedule(Protocol):
    """In which turns a problem is solved."""

    def turns(self, problem: Problem) -> Iterable[Turn]:
        """Return them, one after another; the problem is what has been found so far."""
        ...


class Problem:
    """Roles by name, and laws that bind them."""

    def __init__(self, roles: Mapping[str, Role], laws: Sequence[Law] = ()):
        """Take them."""
        self.roles, self.laws = dict(roles), list(laws)

    def whole(self) -> Turn:
        """Return the turn in which everything is free."""
        return Turn(tuple(Window(who) for who in self.roles))

    def mesh(self, who: str) -> None:
        """Put what a role begins with on its mesh."""
        role = self.roles[who]
        if role.knots is None:
            unknowns = Unknowns()
            part = Part(role.body, role.phases, role.style, unknowns, role.begin, role.pulled)
            self.roles[who] = role._replace(knots=knots_of(part, unknowns.guess))

    def told(self, stage: Stage, x: np.ndarray) -> None:
        """Take what was found of the parts of a stage."""
        for who, part in stage.parts.items():
            role, window, mine = self.roles[who], stage.windows[who], knots_of(part, x)
            end = len(role.phases) if window.end is None else window.end
            seconds = mine.rate * [phase.intervals for phase in part.phases]
            phases = [p._replace(seconds=float(s)) for p, s in zip(part.phases, seconds, strict=True)]
            pieces = [mine]
            if role.knots is not None:
                before = role.knots.between(role.phases, 0, window.first)
                after = role.knots.between(role.phases, end, None)
                if window.loose and len(after.rate):
                    after = moved(after, place_of(after.q[0]), place_of(mine.q[-1]))
                pieces = [before, mine, after]
            rows = (*role.phases[: window.first], *phases, *role.phases[end:])
            self.roles[who] = role._replace(phases=rows, knots=Knots.joined(pieces))


class Joint:
    """Everything at once."""

    def turns(self, problem: Problem) -> Iterable[Turn]:
        """Return one turn."""
        return [problem.whole()]


class Found(NamedTuple):
    """What was found: all parts whole and the values of their unknowns, and how it was solved."""

    problem: Problem
    parts: dict[str, Part]
    x: np.ndarray
    solutions: tuple[Solution, ...]

    @property
    def solved(self) -> bool:
        """Whether all that was asked holds."""
        return all(one.solved for one in self.solutions[-1:])


def find(
    problem: Problem,
    schedule: Schedule | None = None,
    *,
    near: bool = False,
    sketched: bool = False,
    meshes: int = MOST_MESHES,
    progress: Progress | None = None,
) -> Found:
    """Solve a problem by a schedule (by default all at once); ``near``: what it begins with is about a solution.

    An interrupt keeps what was found so far, or what it begins with.
    """
    problem, found = Problem(problem.roles, problem.laws), list[Solution]()
    with listening():
        stage, x, ended = _by_turns(problem, schedule or Joint(), found, near, sketched, meshes, progress)
    if stage is None or {window.who for window in stage.turn.free if window == Window(window.who)} < set(problem.roles):
        stage = Stage(problem, problem.whole())
        x = stage.unknowns.guess
    if not ended:  # all of it has been neither solved nor found impossible
        found[-1:] = [(found or [unsolved(stage.unknowns)])[-1]._replace(solved=False, status=INTERRUPTED)]
    return Found(problem, stage.parts, x, tuple(found))


def _by_turns(
    problem: Problem,
    schedule: Schedule,
    found: list[Solution],
    near: bool,
    sketched: bool,
    meshes: int,
    progress: Progress | None,
) -> tuple[Stage | None, np.ndarray, bool]:
    """Solve one turn after another; return the last stage, what was found of it, and whether it came to an end or was interrupted."""
    stage, x = None, np.zeros(0)
    for turn in schedule.turns(problem):
        for attempt in range(meshes):
            if asked():
                return stage, x, False
            close = NEAR if turn.near or attempt else ABOUT if near else None
            sketch, kept = sketched and not close, (stage, x, dict(problem.roles))
            try:
                stage = Stage(problem, turn)
                x = stage.unknowns.guess
                for part in stage.parts.values() if sketch else ():
                    stage.unknowns.high[part.rate] = np.maximum(stage.unknowns.high[part.rate], STRETCHED)
                blocks = stage.blocks()
            except Unfinished:
                return stage, x, False
            found.append(solve(stage.unknowns, blocks, near=close, sketch=sketch, progress=progress))
            solution = found[-1]
            if attempt and not solution.solved and solution.violation > found[-2].violation:
                stage, x, problem.roles = kept  # what was found on the mesh before is nearer to a motion
                break
            x = solution.x
            problem.told(stage, x)
            if not solution.solved or attempt + 1 == meshes:
                break
            if not refine(problem, stage, x, attempt == 0, sketch):
                break
        if not found[-1].solved:
            return stage, x, found[-1].status != INTERRUPTED
    return stage, x, True


def refine(problem: Problem, stage: Stage, x: np.ndarray, first: bool = True, sketch: bool = False) -> bool:
    """Give phases of what was found as many intervals as it takes; return whether any of them does not hold as it is.

    Of a first mesh it does not hold either that a phase is as long as it may be; a sketch never holds.
    """
    refined = False
    for who, part in stage.parts.items():
        rough = roughest(part, x) / ROUGH
        if np.average(rough[:, 1], weights=[phase.intervals for phase in part.phases]) < 1.0:
            rough[:, 1] = 0.0  # it is the mean of all phases that counts
        rough = rough.max(axis=1)
        stretched = np.isclose(x[part.rate], stage.unknowns.high[part.rate], rtol=0.02)
        stretched &= stage.unknowns.low[part.rate] < stage.unknowns.high[part.rate]
        if rough.max() < 1.0 and not (first and stretched.any()) and not sketch:
            continue
        refined = True
        role, window = problem.roles[who], stage.windows[who]
        end = len(role.phases) if window.end is None else window.end
        mine = [_remeshed(role.phases[window.first + k], r) for k, r in enumerate(rough)]
        phases = (*role.phases[: window.first], *mine, *role.phases[end:])
        problem.roles[who] = role._replace(phases=phases, knots=role.knots and role.knots.on(role.phases, phases))
    return refined


def _remeshed(phase: Phase, rough: float) -> Phase:
    """Return a phase with as many intervals as it takes: what is off (over what may be) falls with the square of their length.

    None becomes coarser: what was found would no longer be nearly a solution, and what was sound would have to be refined again.
    """
    wished = phase.intervals * np.sqrt(rough / 0.6)
    most = min(2 * phase.intervals, phase.seconds / SHORTEST_MESH)
    least = max(phase.intervals, phase.seconds / COARSEST)
    return phase._replace(intervals=max(2, int(np.ceil(np.clip(wished, least, max(least, most))))))


def _swinging(phases: Sequence[Phase], side: str) -> int:
    """Return for how many intervals a foot swings in the first of some phases."""
    count = 0
    for phase in phases:
        if phase.mode(side) != SWING:
            break
        count += phase.intervals
    return count
