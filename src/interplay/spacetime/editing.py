"""Editing what was composed: a footprint, a time, a hand's target is moved, and the motion around it solved anew, warm.

A window is the phases near what is moved; states at its ends, its duration, all other footprints and everybody else are given. What was found
lies on (or near) the path of solutions of the barrier problem, and so does what is looked for: with multipliers that follow from that
(of bounds: μ over their slack; of rows: least squares) and full steps, Newton's method takes four to ten of them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from math import ceil
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from interplay.errors import InputError, number, pick
from interplay.spacetime.blocks import Block
from interplay.spacetime.body import SIDES
from interplay.spacetime.checking import figures
from interplay.spacetime.ends import hold
from interplay.spacetime.laws import AtTime, Fixed, Given, InAll, Lasts, PerDistance, Reaches, place_at
from interplay.spacetime.marks import Footprint, HandTarget, numbered, raise_ground, whole_part
from interplay.spacetime.part import SWING
from interplay.spacetime.performing import Performance, perform
from interplay.spacetime.problem import Found, Law, Problem, Stage, Turn, When, Window, refine
from interplay.spacetime.saving import kept_whole, load_problem
from interplay.spacetime.solving import NEAR, Progress, Solution, solve

BARRIER = 1e-4
"""The barrier parameter at which windows are solved: the objective is then within 1 % of its optimum."""
WARM: dict[str, Any] = {
    "mu_strategy": "monotone",
    "mu_init": BARRIER,
    "mu_target": BARRIER,
    "bound_mult_init_method": "mu-based",
    "tol": 1e-3,
    "constr_viol_tol": 5e-7,
    "accept_every_trial_step": "yes",
    "mumps_permuting_scaling": 0,  # these two: to analyse the matrix takes a quarter of the time, to factorise it as long
    "mumps_pivot_order": 2,
}
_CENTRED, _PUSHED = 1e-8, 1e-2
"""How far a window that was solved like this, or another one, is pushed off its bounds at first."""
NEWTON, SEARCH = 16, 60
"""Most full steps; and, where those lead nowhere, most steps of a line search."""
STRIDE, FARTHEST = 0.12, 0.6
"""How far a thing is moved at once [m], and in all."""
HURRY = 0.1
"""How much a time is moved at once [s]."""
BACK = 0.3
"""How long a foot swings at least after it was put elsewhere, until all is as it was [s], with a man of 1.74 m."""
AROUND = 0.55
"""How long before and after a hand reaches its target all is as it was [s], with a man of 1.74 m."""
MEAN, WORST, SLIP, DEPTH = 0.01, 0.1, 1.5e-3, 5e-3
"""What a window is worth at least: force on the root that nothing gives over the weight; slip and overlap [m]."""


class _Pinned(NamedTuple):
    """All footprints of a window stay where they are; one, of the foot that lands with a phase, is put at a place (x, y, heading)."""

    who: str
    side: str = ""
    phase: int = -1
    place: tuple[float, float, float] = (0.0, 0.0, 0.0)

    def __call__(self, stage: Stage) -> list[Block]:
        part, unknowns = stage.parts[self.who], stage.unknowns
        for mine, (side, first, _) in zip(part.prints, part.stances, strict=True):
            moved = side == self.side and first + stage.windows[self.who].first == self.phase
            value = np.array(self.place) if moved else unknowns.guess[mine]
            unknowns.low[mine] = unknowns.high[mine] = unknowns.guess[mine] = value
        return []


class _Ends(NamedTuple):
    """A window begins and ends as it is, also where the motion does."""

    who: str

    def __call__(self, stage: Stage) -> list[Block]:
        part = stage.parts[self.who]
        return [block for knot in (0, part.intervals) for block in hold(part, knot)]


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
        self._centred: tuple[Window, Problem, Problem] | None = None
        """A window, the problem as it is, and one of the same motion in which the window was solved like those to come."""
        self._marks: tuple[Problem | None, list[Footprint]] = (None, [])

    @property
    def problem(self) -> Problem:
        """What was solved, and its solution."""
        if self.performance.problem is None:
            raise InputError(f"{self.performance.name}: what was solved is not known")
        return self.performance.problem

    # -- what there is to move ---------------------------------------------------------------------------------------------

    def footprints(self) -> list[Footprint]:
        """Return all footprints, of each character in the order in which feet land."""
        if self._marks[0] is self.problem:
            return self._marks[1]
        out: list[Footprint] = []
        for who, role in self.problem.roles.items():
            part, guess = whole_part(self.problem, who)
            times = np.concatenate([[0.0], np.cumsum([phase.seconds for phase in role.phases])])
            for k, step in numbered(part):
                side, first, end = part.stances[k]
                x, y, heading = guess[part.prints[k]]
                _, why = self._window(who, side, first, end)
                place = float(x), float(y)
                height, lands, lifts = float(part.ground[k]), float(times[first]), float(times[end])
                out.append(Footprint(who, step, side, place, float(heading), height, lands, lifts, why))
        self._marks = self.problem, out
        return out

    def hands(self) -> list[HandTarget]:
        """Return all targets of hands, of each surface in the order in which they are asked for."""
        out, counts = list[HandTarget](), dict[str, int]()
        for law in self.problem.laws:
            if isinstance(law, Reaches) and law.who in self.problem.roles:
                surface, time = f"{law.who}/{law.site}", self._time(law.who, law.when)
                counts[surface] = counts.get(surface, 0) + 1
                why = self._around(law.who, time)[1]
                out.append(HandTarget(surface, counts[surface], law.place, time, why))
        return out

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
        window, why = self._window(who, mark.side, *self._stance(mark))
        if why or window is None:
            raise InputError(f"step {step} of {who}: {why}")
        begin, end = np.array([*mark.place, mark.heading]), np.array([x, y, turn])
        _within_reach(f"step {step} of {who}", begin[:2], end[:2])
        phase, paces = (
            self._stance(mark)[0],
            _paces(np.linalg.norm(end[:2] - begin[:2]) / STRIDE, abs(end[2] - begin[2])),
        )

        def laws(share: float) -> list[Law]:
            place = begin + share * (end - begin)
            return [_Pinned(who, mark.side, phase, (float(place[0]), float(place[1]), float(place[2])))]

        return self._solved(f"step {step} of {who} at ({x:.2f}, {y:.2f})", window, laws, paces)

    def move_time(self, who: str, step: int, to: float, side: str | None = None) -> Performance:
        """Let a foot land at another time [s]."""
        mark = self._footprint(who, step, side)
        to = number(f"step {step} of {who}", to, 0.0, float(self.performance.time[-1]), "s")
        window, why = self._window(who, mark.side, *self._stance(mark))
        if why or window is None:
            raise InputError(f"step {step} of {who}: {why}")
        when = When(self._stance(mark)[0])

        def laws(share: float) -> list[Law]:
            return [_Pinned(who), AtTime(who, when, mark.lands + share * (to - mark.lands))]

        keep = [
            law for law in self.problem.laws if not (isinstance(law, AtTime) and (law.who, law.when) == (who, when))
        ]
        paces = _paces(abs(to - mark.lands) / HURRY)
        return self._solved(f"step {step} of {who} at {to:.2f} s", window, laws, paces, [*keep, AtTime(who, when, to)])

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
            moved, moment = known[step - 1], known[step - 1].when
        else:
            if isinstance(when, bool) or not isinstance(when, int):
                raise InputError(f'{point}: expected a step (its number) or "target", got {when!r}')
            moment = When(self._stance(self._footprint(who, when, None, any_side=True))[0])
            moved = next((law for law in known if law.when == moment), None)
        window, why = self._around(who, self._time(who, moment))
        if why or window is None:
            raise InputError(f"{point}: {why}")
        begin = self._place(who, site, moment)
        _within_reach(point, begin, np.array(goal))
        still = moved.still if moved else False

        def law(share: float) -> Reaches:
            x, y, z = begin + share * (np.array(goal) - begin)
            return Reaches(who, site, moment, (float(x), float(y), float(z)), still)

        keep = [law(1.0) if one is moved else one for one in self.problem.laws]
        keep = keep if moved else [*keep, law(1.0)]
        paces = _paces(np.linalg.norm(begin - goal) / STRIDE)
        name = f"{point} at ({goal[0]:.2f}, {goal[1]:.2f}, {goal[2]:.2f})"
        return self._solved(name, window, lambda share: [_Pinned(who), law(share)], paces, keep, moved)

    def prepare(self, mark: Footprint | HandTarget) -> None:
        """Solve the window around something as it is, so that moving it then takes half the time."""
        if isinstance(mark, Footprint):
            window, _ = self._window(mark.who, mark.side, *self._stance(mark))
        else:
            window, _ = self._around(mark.surface.partition("/")[0], mark.time)
        if window is None or self._is_centred(window):
            return
        problem = Problem(self.problem.roles, [*self._given(window), _Pinned(window.who)])
        self._centred = window, self.problem, self._turn("as it is", problem, window, False, final=False)[0]

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

    # -- windows -----------------------------------------------------------------------------------------------------------

    def _window(self, who: str, side: str, first: int, end: int) -> tuple[Window | None, str]:
        """Return the phases in which a foot swings to where it stands, stands, and swings on; or why there are none."""
        phases = self.problem.roles[who].phases
        if why := self._bound(who):
            return None, why
        if first == 0:
            return None, "it stands there as the motion begins, and how that begins is given"
        if end == len(phases):
            return None, "it stands there as the motion ends, and how that ends is given"
        begin = first
        while begin > 0 and phases[begin - 1].mode(side) == SWING:
            begin -= 1
        least, swung = BACK * self.problem.roles[who].body.pendulum, 0.0
        while end < len(phases) and phases[end].mode(side) == SWING and swung < least:
            swung, end = swung + phases[end].seconds, end + 1
        return Window(who, begin, end), ""

    def _around(self, who: str, time: float) -> tuple[Window | None, str]:
        """Return the phases around a moment; or why there are none."""
        role = self.problem.roles[who]
        if why := self._bound(who):
            return None, why
        ends = np.concatenate([[0.0], np.cumsum([phase.seconds for phase in role.phases])])
        if not 1e-6 < time < ends[-1] - 1e-6:
            return None, "the motion begins or ends then, and how it does is given"
        around = AROUND * role.body.pendulum
        first = int(np.searchsorted(ends, time - around, side="right")) - 1
        end = int(np.searchsorted(ends, time + around))
        return Window(who, max(first, 0), min(end, len(role.phases))), ""

    def _bound(self, who: str) -> str:
        """Return why a character cannot be edited at all."""
        role = self.problem.roles[who]
        if role.pulled or not all(kept_whole(law) for law in self.problem.laws):
            return (
                f"{who} is bound to others (hands that are held, or the like), which cannot be edited: compose it anew"
            )
        if self.performance.cycles > 1:
            return f"{who} repeats a cycle, which cannot be edited"
        return ""

    # -- solving -----------------------------------------------------------------------------------------------------------

    def _solved(
        self,
        what: str,
        window: Window,
        laws: Any,
        paces: int,
        after: Sequence[Law] | None = None,
        instead: Law | None = None,
    ) -> Performance:
        """Solve a window under laws that change by and by (a share from 0 to 1), take it over, and return the motion."""
        who, problem, found = window.who, self.problem, list[Solution]()
        kept, centred = self._given(window, instead), self._is_centred(window)
        now = self._centred[2] if centred and self._centred else problem
        if paces > 1:  # what cannot be in the end is refused before anything is solved
            Stage(Problem(now.roles, [*kept, *laws(1.0)]), Turn((window,))).blocks()
        for k in range(paces):
            now = Problem(now.roles, [*kept, *laws((k + 1) / paces)])
            now, stage, solution = self._turn(what, now, window, centred, final=k + 1 == paces)
            found.append(solution)
            centred = True
        worth = figures(stage.parts[who], found[-1].x)
        if worth.root_mean > MEAN or worth.root_worst > WORST or worth.slip > SLIP or worth.torque_ratio > 1.0:
            raise InputError(
                f"{what}: what was found does not hold between its points (force on the root {100 * worth.root_worst:.1f} % of the "
                f"weight, slip {1e3 * worth.slip:.1f} mm, torque {worth.torque_ratio:.2f} of its limit); expected a smaller change"
            )
        whole = Problem(now.roles, problem.laws if after is None else after)
        made = performed(self.performance, whole, tuple(found))
        depth = max(one.depth for one in made.worth.values())
        if depth > max(DEPTH, max(one.depth for one in self.performance.worth.values())):
            raise InputError(
                f"{what}: bodies would be in each other by {1e3 * depth:.0f} mm; expected a smaller change"
            )
        self._past.append(self.performance)
        self._future.clear()
        self.performance, self._centred = made, (window, whole, whole)
        return made

    def _given(self, window: Window, instead: Law | None = None) -> list[Law]:
        """Return what holds in a window, whatever is moved in it."""
        who, problem = window.who, self.problem
        ends = _lasts(problem, window, len(problem.roles[who].phases))
        return [*_kept(problem.laws, who, instead), InAll(who), _Ends(who), ends]

    def _turn(
        self, what: str, problem: Problem, window: Window, centred: bool, final: bool
    ) -> tuple[Problem, Stage, Solution]:
        """Solve a window, by full steps or, where those lead nowhere, by a line search; on a finer mesh where that is too coarse."""
        push = _CENTRED if centred else _PUSHED
        warm = WARM | dict.fromkeys(("bound_push", "bound_frac", "slack_bound_push", "slack_bound_frac"), push)
        careful = {**WARM, "accept_every_trial_step": "no"}
        attempts: list[tuple[dict[str, Any], int]] = [(warm, NEWTON), (careful, SEARCH)]
        solution = None
        for settings, patience in attempts:
            stage = Stage(problem, Turn((window,)))
            blocks = stage.blocks()
            solution = solve(
                stage.unknowns, blocks, near=NEAR, patience=patience, progress=self._progress, settings=settings
            )
            if solution.status == "interrupted":
                break
            if solution.solved and solution.status == "solved":
                told = Problem(problem.roles, problem.laws)
                told.told(stage, solution.x)
                if not final or settings is careful or not refine(told, stage, solution.x):
                    return told, stage, solution
                problem = told
        worst = (
            ", ".join(solution.worst) if solution and solution.worst else "nothing by much, but no optimum was found"
        )
        raise InputError(
            f"{what}: no such motion was found ({solution.status if solution else ''}; what is violated most: {worst}); "
            "expected something nearer to what it was"
        )

    def _is_centred(self, window: Window) -> bool:
        return self._centred is not None and self._centred[0] == window and self._centred[1] is self.performance.problem

    # -- finding things ----------------------------------------------------------------------------------------------------

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
        part, _ = whole_part(self.problem, mark.who)
        return next(
            part.stances[k][1:] for k, step in numbered(part) if (step, part.stances[k][0]) == (mark.step, mark.side)
        )

    def _time(self, who: str, when: When) -> float:
        phases = self.problem.roles[who].phases
        phase = when.phase % len(phases)
        return float(sum(p.seconds for p in phases[:phase]) + when.share * phases[phase].seconds)

    def _place(self, who: str, site: str, when: When) -> np.ndarray:
        part, guess = whole_part(self.problem, who)
        knots = part.knots_of(when.phase % len(part.phases))
        return place_at(part, part.body.point(site), guess[part.q[knots[round(when.share * (len(knots) - 1))]]])


def loaded(folder: str | Path) -> Performance:
    """Return a composed motion as it was written."""
    saved = load_problem(folder)
    stage = Stage(saved.problem, saved.problem.whole())
    raise_ground(saved.problem, stage)
    found = Found(saved.problem, stage.parts, stage.unknowns.guess, saved.solutions)
    return perform(saved.name, found, saved.cycles, saved.touching)


def performed(before: Performance, problem: Problem, solutions: tuple[Solution, ...]) -> Performance:
    """Return a problem's solution as a motion that goes by the name of another."""
    stage = Stage(problem, problem.whole())
    raise_ground(problem, stage)
    found = Found(problem, stage.parts, stage.unknowns.guess, solutions)
    return perform(before.name, found, before.cycles, before.touching)


def _kept(laws: Sequence[Law], who: str, instead: Law | None) -> list[Law]:
    """Return which laws hold in a window: not those that say what is paid for, how it ends, or what is free."""
    out: list[Law] = [
        law for law in laws if law is not instead and not isinstance(law, Given | Lasts | PerDistance | InAll | Fixed)
    ]
    timed = any(isinstance(law, Fixed) and law.who == who and law.timing for law in laws)
    return [*out, Fixed(who, timing=True)] if timed else out


def _lasts(problem: Problem, window: Window, count: int) -> AtTime:
    """Return that a window ends when it did."""
    end = count if window.end is None else window.end
    return AtTime(window.who, When(end - 1, 1.0), sum(p.seconds for p in problem.roles[window.who].phases[:end]))


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
