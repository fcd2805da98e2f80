"""Editing what was composed: a footprint, a time, a hand's target is moved, and the motion around it solved anew, warm."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from math import ceil
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from interplay.errors import InputError, number, pick
from interplay.spacetime.body import SIDES
from interplay.spacetime.checking import Figures, by_phase, together
from interplay.spacetime.laws import AtTime, Reaches, place_at
from interplay.spacetime.marks import Footprint, HandTarget, numbered, staged
from interplay.spacetime.performing import Performance, perform
from interplay.spacetime.problem import Found, Law, Problem, Stage, Turn, When, Window, refine
from interplay.spacetime.saving import load_problem
from interplay.spacetime.solving import Progress, Solution
from interplay.spacetime.warm import (
    EXACT,
    FULL,
    NEARBY,
    NEWTON,
    SEARCH,
    SEARCHING,
    Attempt,
    Laws,
    Warm,
    attempt,
    combined,
    led,
)
from interplay.spacetime.windows import Pinned, around_footprint, around_moment, given

STRIDE, FARTHEST = 0.12, 0.6
"""How far a thing is moved at once [m], and in all."""
HURRY = 0.1
"""How much a time is moved at once [s]."""
MEAN, WORST, SLIP, DEPTH = 0.01, 0.1, 1.5e-3, 5e-3
"""What a window is worth at least: force on the root that nothing gives over the weight; slip and overlap [m]."""


class _Move(NamedTuple):
    """What is moved: its kind, in words, in which window, from where to where (coordinates), what says so, and in how many turns.

    ``now`` and ``then``: the problem's law that says where it is, if there is one, and the one that will, if there is to be one.
    """

    kind: str
    what: str
    window: Window
    begin: np.ndarray
    end: np.ndarray
    laws: Laws
    paces: int
    now: Law | None = None
    then: Law | None = None


class Editing:
    """A composed motion that can be edited: what cannot be done is refused with a reason, and leaves it as it was."""

    def __init__(self, source: Performance | str | Path, progress: Progress | None = None):
        """Take what was composed, or the folder in which it was written."""
        if isinstance(source, Performance):
            if source.problem is None:
                raise InputError(f"{source.name}: what was solved is not known, so it cannot be edited")
            self.performance = source
        else:
            self.performance = loaded(source)
        self._progress = progress
        self._past: list[Performance] = []
        self._future: list[Performance] = []
        self._warm: tuple[Problem, Warm] | None = None
        """The problem as it is, and a window of it that was solved like those to come."""
        self._whole: tuple[Problem, Stage] | None = None
        self._marks: tuple[Problem, list[Footprint]] | None = None
        self._looked: tuple[Problem, dict[str, list[Figures]]] | None = None

    @property
    def problem(self) -> Problem:
        """What was solved, and its solution."""
        if self.performance.problem is None:
            raise InputError(f"{self.performance.name}: what was solved is not known")
        return self.performance.problem

    # -- what there is to move ---------------------------------------------------------------------------------------------

    def footprints(self) -> list[Footprint]:
        """Return all footprints, of each character in the order in which feet land."""
        if self._marks is None or self._marks[0] is not self.problem:
            self._marks = self.problem, [mark for who in self.problem.roles for mark in self._footprints(who)]
        return self._marks[1]

    def _footprints(self, who: str) -> list[Footprint]:
        stage, out = self._stage(), list[Footprint]()
        part, guess = stage.parts[who], stage.unknowns.guess
        times = np.concatenate([[0.0], np.cumsum([phase.seconds for phase in self.problem.roles[who].phases])])
        for k, step in numbered(part):
            side, first, end = part.stances[k]
            x, y, heading = guess[part.prints[k]]
            why = self._cycled(who) or around_footprint(self.problem, who, side, first, end)[1]
            place, height = (float(x), float(y)), float(part.ground[k])
            lands, lifts = float(times[first]), float(times[end])
            out.append(Footprint(who, step, side, place, float(heading), height, lands, lifts, why))
        return out

    def hands(self) -> list[HandTarget]:
        """Return all targets of hands, of each surface in the order in which they are asked for."""
        out, counts = list[HandTarget](), dict[str, int]()
        for law in self.problem.laws:
            if isinstance(law, Reaches) and law.who in self.problem.roles:
                surface, time = f"{law.who}/{law.site}", self._time(law.who, law.when)
                counts[surface] = counts.get(surface, 0) + 1
                why = self._cycled(law.who) or around_moment(self.problem, law.who, time)[1]
                out.append(HandTarget(surface, counts[surface], law.place, time, why))
        return out

    def hand(self, point: str, step: int) -> tuple[float, float, float]:
        """Return where a surface (``ann/right_palm``) is as a step lands [m]."""
        who, _, site = point.partition("/")
        pick("character", who, self.problem.roles).body.scene.site(point)
        x, y, z = self._place(who, site, When(self._stance(self._footprint(who, step, None, any_side=True))[0]))
        return float(x), float(y), float(z)

    def _cycled(self, who: str) -> str:
        return f"{who} repeats a cycle, which cannot be edited" if self.performance.cycles > 1 else ""

    # -- moving ------------------------------------------------------------------------------------------------------------

    def move_footprint(
        self, who: str, step: int, to: Sequence[float], heading: float | None = None, side: str | None = None
    ) -> Performance:
        """Put a foot elsewhere: (x, y) [m], and which way it points [rad]; ``side``: of two feet that land together."""
        mark = self._footprint(who, step, side)
        x, y = _numbers(f"step {step} of {who}", to, 2)
        turn = (
            mark.heading
            if heading is None
            else number("heading", heading, mark.heading - 1.0, mark.heading + 1.0, "rad")
        )
        move = self._footprint_to(mark, np.array([x, y, turn]))
        _within_reach(f"step {step} of {who}", move.begin[:2], move.end[:2])
        return self._solved(move)

    def _footprint_to(self, mark: Footprint, end: np.ndarray) -> _Move:
        what, stance = f"step {mark.step} of {mark.who}", self._stance(mark)
        window = _needed(what, mark.why, around_footprint(self.problem, mark.who, mark.side, *stance)[0])
        begin = np.array([*mark.place, mark.heading])

        def laws(place: np.ndarray) -> list[Law]:
            x, y, heading = (float(one) for one in place)
            return [Pinned(mark.who, mark.side, stance[0], (x, y, heading))]

        paces = _paces(np.linalg.norm(end[:2] - begin[:2]) / STRIDE, abs(end[2] - begin[2]))
        return _Move("place", f"{what} at ({end[0]:.2f}, {end[1]:.2f})", window, begin, end, laws, paces)

    def move_time(self, who: str, step: int, to: float, side: str | None = None) -> Performance:
        """Let a foot land at another time [s]."""
        mark, what = self._footprint(who, step, side), f"step {step} of {who}"
        to = number(what, to, 0.0, float(self.performance.time[-1]), "s")
        stance = self._stance(mark)
        window = _needed(what, mark.why, around_footprint(self.problem, who, mark.side, *stance)[0])
        when = When(stance[0])
        known = [law for law in self.problem.laws if isinstance(law, AtTime) and (law.who, law.when) == (who, when)]
        begin, end = np.array([mark.lands]), np.array([to])

        def laws(time: np.ndarray) -> list[Law]:
            return [Pinned(who), AtTime(who, when, float(time[0]))]

        paces, now, then = _paces(abs(to - mark.lands) / HURRY), next(iter(known), None), AtTime(who, when, to)
        return self._solved(_Move("time", f"{what} at {to:.2f} s", window, begin, end, laws, paces, now, then))

    def move_hand(self, point: str, when: str | int | float, to: Sequence[float], step: int = 1) -> Performance:
        """Have a surface (``ann/right_palm``) elsewhere [m] at a moment: a step (when its foot lands), or ``"target"``, the one asked for.

        ``step``: which of the surface's targets.
        """
        who, _, site = point.partition("/")
        body = pick("character", who, self.problem.roles).body
        body.scene.site(point)
        goal = _numbers(point, to, 3)
        known = [law for law in self.problem.laws if isinstance(law, Reaches) and (law.who, law.site) == (who, site)]
        if when == "target":
            if not 1 <= step <= len(known):
                raise InputError(f"{point}: expected one of its {len(known)} targets, got {step}")
            now, moment = known[step - 1], known[step - 1].when
        else:
            if isinstance(when, bool) or not isinstance(when, int):
                raise InputError(f'{point}: expected a step (its number) or "target", got {when!r}')
            moment = When(self._stance(self._footprint(who, when, None, any_side=True))[0])
            now = next((law for law in known if law.when == moment), None)
        move = self._hand_to(point, moment, now, np.array(goal))
        _within_reach(point, move.begin, move.end)
        return self._solved(move)

    def _hand_to(self, point: str, moment: When, now: Reaches | None, end: np.ndarray | None) -> _Move:
        who, _, site = point.partition("/")
        window, why = around_moment(self.problem, who, self._time(who, moment))
        window, begin = _needed(point, self._cycled(who) or why, window), self._place(who, site, moment)
        end = begin if end is None else end

        def law(place: np.ndarray) -> Reaches:
            x, y, z = (float(one) for one in place)
            return Reaches(who, site, moment, (x, y, z), now.still if now else False)

        what = f"{point} at ({', '.join(f'{one:.2f}' for one in end)})"
        paces = _paces(np.linalg.norm(begin - end) / STRIDE)
        return _Move("hand", what, window, begin, end, lambda at: [Pinned(who), law(at)], paces, now, law(end))

    def prepare(self, mark: Footprint | HandTarget) -> None:
        """Solve the window around something as it is, and find how it changes as that is moved, which then takes a third of the time."""
        if mark.why:
            return
        if isinstance(mark, Footprint):
            move, ways = self._footprint_to(mark, np.array([*mark.place, mark.heading])), (0, 1)
        else:
            who, _, site = mark.surface.partition("/")
            known = [
                law for law in self.problem.laws if isinstance(law, Reaches) and (law.who, law.site) == (who, site)
            ]
            law = known[mark.step - 1]
            move, ways = self._hand_to(mark.surface, law.when, law, None), (0, 1, 2)
        self._worth()
        warm, kept = self._warmed(move), given(self.problem, move.window, move.now)
        if warm is None:
            problem = Problem(self.problem.roles, kept)
            problem, found = self._turn(move, problem, move.begin, EXACT, final=False)
            warm = Warm(problem, move.window, move.now, found)
            self._warm = self.problem, warm
        for axis in ways:
            self._slope(warm, move, kept, axis)

    def undo(self) -> Performance:
        """Take the last change back."""
        if not self._past:
            raise InputError("there is nothing to take back")
        self._future.append(self.performance)
        self.performance = self._past.pop()
        return self.performance

    def redo(self) -> Performance:
        """Make the change again that was taken back last."""
        if not self._future:
            raise InputError("there is nothing to make again")
        self._past.append(self.performance)
        self.performance = self._future.pop()
        return self.performance

    @property
    def changes(self) -> tuple[int, int]:
        """How many changes can be taken back, and how many made again."""
        return len(self._past), len(self._future)

    def write(self, folder: str | Path) -> Path:
        """Write it as compositions are written; what is said there of its parameters stays."""
        try:
            parameters = json.loads((Path(folder) / "report.json").read_text())["parameters"]
        except (OSError, ValueError, KeyError, TypeError):
            parameters = {}
        return self.performance.write(folder, parameters)

    # -- solving -----------------------------------------------------------------------------------------------------------

    def _solved(self, move: _Move) -> Performance:
        """Solve a window, in which something goes where it shall be by and by, take it over, and return the motion."""
        who, first, warm = move.window.who, move.window.first, self._warmed(move)
        kept, solutions = given(self.problem, move.window, move.now), list[Solution]()
        problem, last, change = Problem((warm.problem if warm else self.problem).roles, kept), None, None
        if move.paces > 1:  # what cannot be in the end is refused before anything is solved
            Stage(Problem(problem.roles, [*kept, *move.laws(move.end)]), Turn((move.window,))).blocks()
        pace = (move.end - move.begin) / move.paces
        if warm:
            ways = [self._slope(warm, move, kept, axis) for axis in np.flatnonzero(pace).tolist()]
            last, change = warm.found, combined(ways, pace[pace != 0.0])
        for k in range(move.paces):
            at = move.begin + (k + 1) * pace
            problem, last = self._turn(move, problem, at, FULL, last, change, final=k + 1 == move.paces)
            solutions.append(last.solution)
            if k + 1 < move.paces:
                far = float(np.linalg.norm(pace))
                further, on = Warm(problem, move.window, move.now, last), move.laws(at + NEARBY / far * pace)
                change = far * further.slope(move.kind, kept, on, self._progress)
        if last is None:
            raise RuntimeError("a move has one pace at least")
        part = last.stage.parts[who]
        each = by_phase(part, last.solution.x)
        worth = together(each, [phase.intervals for phase in part.phases])
        if worth.root_mean > MEAN or worth.root_worst > WORST or worth.slip > SLIP or worth.torque_ratio > 1.0:
            raise InputError(
                f"{move.what}: what was found does not hold between its points (force on the root {100 * worth.root_worst:.1f} % of "
                f"the weight, slip {1e3 * worth.slip:.1f} mm, torque {worth.torque_ratio:.2f} of its limit); expected a smaller change"
            )
        laws = [move.then if law is move.now and move.then else law for law in self.problem.laws]
        whole = Problem(problem.roles, [*laws, move.then] if move.then and not move.now else laws)
        looked = {**self._worth(), who: [*self._worth()[who]]}
        looked[who][first : first + len(each)] = each
        stage = staged(whole)
        made = performed(self.performance, stage, tuple(solutions), looked)
        depth = max(one.depth for one in made.worth.values())
        if depth > max(DEPTH, max(one.depth for one in self.performance.worth.values())):
            raise InputError(
                f"{move.what}: bodies would be in each other by {1e3 * depth:.0f} mm; expected a smaller change"
            )
        self._past.append(self.performance)
        self._future.clear()
        self.performance, self._whole, self._looked = made, (whole, stage), (whole, looked)
        self._warm = whole, Warm(whole, move.window, move.then, last)
        return made

    def _turn(
        self,
        move: _Move,
        problem: Problem,
        at: np.ndarray,
        settings: Mapping[str, Any],
        last: Attempt | None = None,
        change: np.ndarray | None = None,
        *,
        final: bool,
    ) -> tuple[Problem, Attempt]:
        """Solve a window, by full steps or, where those lead nowhere, by a line search; on a finer mesh where that is too coarse.

        ``last``: what was found before, and by what it is guessed to change.
        """
        found, known = None, None if last is None or change is None else led(last, change)
        for how, patience in ((settings, NEWTON), (SEARCHING, SEARCH)):
            args = (problem, move.window, move.laws(at), how, patience, self._progress)
            known = None if how is SEARCHING else known
            found = attempt(*args, inside=last is not None, known=known)
            if found.solution.status == "interrupted":
                break
            if found.solution.solved and found.solution.status == "solved":
                told = Problem(problem.roles, problem.laws)
                told.told(found.stage, found.solution.x)
                if not final or how is SEARCHING or not refine(told, found.stage, found.solution.x):
                    return told, found
                problem = told
        worst = ", ".join(found.solution.worst) if found else ""
        raise InputError(
            f"{move.what}: no such motion was found ({found.solution.status if found else ''}; what is violated most: "
            f"{worst or 'nothing by much, but no optimum was found'}); expected something nearer to what it was"
        )

    def _warmed(self, move: _Move) -> Warm | None:
        """Return what is known of the window of a move."""
        if self._warm is None or self._warm[0] is not self.problem:
            return None
        warm = self._warm[1]
        return warm if warm.window == move.window and warm.now is move.now else None

    def _slope(self, warm: Warm, move: _Move, kept: Sequence[Law], axis: int) -> np.ndarray:
        moved = move.laws(move.begin + NEARBY * (np.arange(move.begin.size) == axis))
        return warm.slope(f"{move.kind} {axis}", kept, moved, self._progress)

    # -- finding things ----------------------------------------------------------------------------------------------------

    def _stage(self) -> Stage:
        """Return all parts whole, with what was found, and their ground."""
        if self._whole is None or self._whole[0] is not self.problem:
            self._whole = self.problem, staged(self.problem)
        return self._whole[1]

    def _worth(self) -> dict[str, list[Figures]]:
        """Return what each phase of everybody is worth."""
        if self._looked is None or self._looked[0] is not self.problem:
            stage = self._stage()
            looked = {who: by_phase(part, stage.unknowns.guess) for who, part in stage.parts.items()}
            self._looked = self.problem, looked
        return self._looked[1]

    def _footprint(self, who: str, step: int, side: str | None, any_side: bool = False) -> Footprint:
        pick("character", who, self.problem.roles)
        if side is not None:
            pick("side", side, dict.fromkeys(SIDES))
        marks = [mark for mark in self.footprints() if mark.who == who]
        found = [mark for mark in marks if mark.step == step and side in (None, mark.side)]
        if not found:
            raise InputError(
                f"step {step!r} of {who}: expected one of {', '.join(sorted({str(m.step) for m in marks}))}"
            )
        if len(found) > 1 and not any_side:
            raise InputError(f"step {step} of {who}: both feet land then; say which by side=")
        return found[0]

    def _stance(self, mark: Footprint) -> tuple[int, int]:
        """Return the phases of a footprint."""
        part = self._stage().parts[mark.who]
        return next(
            part.stances[k][1:] for k, step in numbered(part) if (step, part.stances[k][0]) == (mark.step, mark.side)
        )

    def _time(self, who: str, when: When) -> float:
        phases = self.problem.roles[who].phases
        phase = when.phase % len(phases)
        return float(sum(p.seconds for p in phases[:phase]) + when.share * phases[phase].seconds)

    def _place(self, who: str, site: str, when: When) -> np.ndarray:
        part, guess = self._stage().parts[who], self._stage().unknowns.guess
        knots = part.knots_of(when.phase % len(part.phases))
        return place_at(part, part.body.point(site), guess[part.q[knots[round(when.share * (len(knots) - 1))]]])


def loaded(folder: str | Path) -> Performance:
    """Return a composed motion as it was written."""
    saved = load_problem(folder)
    stage = staged(saved.problem)
    found = Found(saved.problem, stage.parts, stage.unknowns.guess, saved.solutions)
    return perform(saved.name, found, saved.cycles, saved.touching)


def performed(
    before: Performance, stage: Stage, solutions: tuple[Solution, ...], looked: Mapping[str, Sequence[Figures]]
) -> Performance:
    """Return a problem's solution, staged, as a motion that goes by the name of another; ``looked``: what each phase is worth."""
    found = Found(stage.problem, stage.parts, stage.unknowns.guess, solutions)
    worth = {who: together(each, [p.intervals for p in stage.parts[who].phases]) for who, each in looked.items()}
    return perform(before.name, found, before.cycles, before.touching, worth=worth)


def _needed(what: str, why: str, window: Window | None) -> Window:
    if why or window is None:
        raise InputError(f"{what}: {why}")
    return window


def _paces(*shares: float) -> int:
    return max(1, ceil(max(float(one) for one in shares) - 1e-9))


def _numbers(what: str, given: Sequence[float], count: int) -> list[float]:
    try:
        values = [float(one) for one in given]
    except (TypeError, ValueError):
        raise InputError(f"{what}: expected {count} numbers [m], got {given!r}") from None
    if len(values) != count or not np.isfinite(values).all() or max(map(abs, values)) > 1e3:
        raise InputError(f"{what}: expected {count} numbers [m] within 1000, got {given!r}")
    return values


def _within_reach(what: str, begin: np.ndarray, end: np.ndarray) -> None:
    if (far := float(np.linalg.norm(end - begin))) > FARTHEST:
        where = ", ".join(f"{v:.2f}" for v in begin)
        raise InputError(
            f"{what}: {far:.2f} m from where it is, ({where}); expected a place within {FARTHEST:g} m of that"
        )
