"""Walking: phases, contacts and objectives of one or several characters that walk, alone or carrying something together."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import mujoco
import numpy as np

from interplay.errors import InputError, number, whole
from interplay.maths.rotations import quaternion_of, turned
from interplay.maths.steps import smooth_steps
from interplay.motion.clock import Clock
from interplay.motion.conditions import all_of, unloaded
from interplay.motion.footsteps import (
    SIDES,
    Footprint,
    Gait,
    Swing,
    footsteps,
    heading,
    one_for_each,
    other_side,
    standing,
)
from interplay.motion.formation import Along
from interplay.motion.machine import Condition, Entry, Phase
from interplay.motion.preview import GRID, Track, preview
from interplay.motion.touchdown import Seeking, felt, landed
from interplay.objectives.base import FADE, Objective
from interplay.objectives.com import Com
from interplay.objectives.joint import JointAngle
from interplay.objectives.pose import Orientation, Point
from interplay.objectives.reference import Part, Reference, Sample
from interplay.scene.scene import GROUND

if TYPE_CHECKING:
    from interplay.simulation import Simulation

_EPS = 1e-6
MOST_STEPS = 1000
"""Steps that one walk may have."""

_SETTLING = 1.5
"""Seconds a walk's references go on after its end: what has not come to rest then does."""
_CATCHING_UP = 0.4
"""How fast a centre of mass makes up what it is behind its plan [m/s]: a stretched leg may hold it back, and then let it go."""
_OWN_SHARE = 0.1
"""Weight of a walker's own balance beside that of the group it belongs to."""
_LEAN, _FARTHEST_LEAN = 0.2, 0.06
"""How far towards the toes it presses in the last swing: part of the step, and at most so far [m]."""

_OFF_EDGES = 0.2
"""By what part the region of a sole that has landed is drawn in: one that is pressed on its edge rolls over it."""

Extra = Callable[["Simulation", "Walk"], Sequence[Objective]]
"""Further objectives of a walk, made when it begins."""


@dataclass(frozen=True)
class Walker:
    """One who walks: a character, its first foot, when it begins [s], what it steps on, whether it walks backward.

    Two who face each other over what they carry walk together when one of them walks backward.
    """

    model: str
    first: str = "left"
    delay: float = 0.0
    surfaces: str | Sequence[str] = GROUND
    backward: bool = False

    def gait(self, gait: Gait) -> Gait:
        """Return its own gait, from that of all: backward, it goes the other way."""
        return replace(gait, stride=-gait.stride, sideways=-gait.sideways) if self.backward else gait


class _Step(NamedTuple):
    """One step: from where to where, when the foot begins to unload, lifts and lands, in the walk's time [s]."""

    model: str
    start: Footprint
    end: Footprint
    unload: float
    lift: float
    land: float

    @property
    def sole(self) -> str:
        return f"{self.model}/{self.end.side}_sole"


class Walk:
    """A walk of one or several characters; ``phases`` returns it as phases of a machine.

    Each event of any of them (a foot begins to unload, lifts, lands) begins a phase. All phases share the same objectives,
    made in the state in which the walk began.
    """

    feet: dict[str, Feet]
    """Steps of each walker, where it presses and where it heads to; known when the walk has begun."""
    way: np.ndarray
    """Horizontal way (n, 2) of the centre of mass of all on the grid of the walk's time; known when the walk has begun."""

    def __init__(
        self,
        name: str,
        walkers: str | Walker | Sequence[Walker],
        steps: int,
        gait: Gait | None = None,
        *,
        carried: Sequence[str] = (),
        begin: float | None = None,
        finish: float = 0.8,
        friction: float = 1.0,
        extra: Extra | None = None,
    ):
        """Plan a walk.

        Args:
            name: comes before the name of each phase.
            walkers: a character's name, or one or several :class:`Walker`; those that carry something together walk together.
            steps: how many each takes.
            gait: how they walk.
            carried: models they carry (and who sits on those): the centre of mass of all is kept over all feet.
            begin, finish: seconds before the first foot lifts and after the last one has landed.
            friction: between soles and ground.
            extra: further objectives, made when the walk begins; it gets the walk too, whose ``clock`` and ``feet`` say when
                and where they step.
        """
        self.name, self.steps, self.gait, self.carried = (
            name,
            whole("walk steps", steps, 1, MOST_STEPS),
            gait or Gait(),
            tuple(carried),
        )
        self.walkers = (
            [Walker(walkers)] if isinstance(walkers, str) else [walkers] if isinstance(walkers, Walker) else [*walkers]
        )
        if not self.walkers:
            raise InputError("walk: expected at least one character")
        if len({w.model for w in self.walkers}) < len(self.walkers):
            raise InputError(f"walk: each character walks once, got {[w.model for w in self.walkers]}")
        for w in self.walkers:
            number(f"delay of {w.model!r}", w.delay, 0, 60, "s")
        self._fade = min(FADE, 0.5 * self.gait.double)
        usual = 1.0 if self.gait.style == "preview" else self.gait.double
        self._begin = number("walk begin", usual if begin is None else begin, max(0.2, self._fade), 10, "s")
        self._finish, self._extra = number("walk finish", finish, 0.2, 10, "s"), extra
        self._friction = number("walk friction", friction, 0.01, 10)
        self.clock = Clock()
        self._made: tuple[Simulation, float, _Course] | None = None
        self._starts: dict[str, float] = {}

    # -- timing --------------------------------------------------------------------------------------------------------

    def times(self, walker: Walker) -> list[tuple[float, float, float]]:
        """Return when each step of a walker unloads, lifts and lands."""
        g, out = self.gait, []
        for k in range(self.steps):
            lift = walker.delay + self._begin + k * (g.swing + g.double)
            out.append((lift - self._fade, lift, lift + g.swing))
        return out

    @property
    def seconds(self) -> float:
        """How long the walk takes as planned [s]."""
        return max(self.times(w)[-1][2] for w in self.walkers) + self._finish

    def phases(self) -> list[Phase]:
        """Return the phases, one from each event to the next."""
        marks: dict[float, dict[str, list[tuple[str, int]]]] = {}
        soles, swings = {}, {}
        for walker in self.walkers:
            surfaces = one_for_each(walker.surfaces, self.steps)
            for k, times in enumerate(self.times(walker)):
                side = walker.first if k % 2 == 0 else other_side(walker.first)
                for what, time in zip(("unload", "lift", "land"), times, strict=True):
                    marks.setdefault(round(time, 6), {}).setdefault(what, []).append((walker.model, k))
                swings[walker.model, k] = times[1:]
                soles[walker.model, k] = (f"{walker.model}/{side}_sole", surfaces[k])
        events, out = [*sorted({0.0, *marks}), self.seconds], []
        names, so_far = [], Counter[str]()
        for time in events[:-1]:
            label = f"{self.name}: {self._label(marks.get(time, {}), soles)}"
            so_far[label] += 1
            names.append(label if so_far[label] == 1 else f"{label} ({so_far[label]})")
        self._starts = dict(zip(names, events[:-1], strict=True))
        for k, (start, end) in enumerate(pairwise(events)):
            now, then = marks.get(start, {}), marks.get(end, {})
            ends: list[Condition] = [lambda sim, end=end: self.clock.now(sim.time) >= end - _EPS]
            ends += [landed(*soles[key], gap=0.008, speed=0.045) for key in then.get("land", ())]
            up = [key for key, (lift, land) in swings.items() if lift < end - _EPS and land > start + _EPS]
            ends += [unloaded(soles[key][0], 40.0) for key in then.get("lift", ())]
            out.append(
                Phase(
                    names[k],
                    self._objectives(start, end if then else math.inf),
                    since=names[0],
                    make=[(*soles[key], {"friction": self._friction}) for key in now.get("land", ())],
                    touchdown=self._touchdown({soles[key]: sum(swings[key]) / 2 for key in up}),
                    unload=[soles[key][0] for key in now.get("unload", ()) if key not in then.get("lift", ())],
                    release=[soles[key][0] for key in then.get("lift", ())],
                    fade=self._fade if k else FADE,
                    until=all_of(*ends),
                )
            )
        return out

    def _touchdown(self, halfway: Mapping[tuple[str, str], float]) -> Callable[[Simulation], list[tuple]]:
        """Return what tells which soles have landed: they count from the middle of their swings on, when they have left the ground."""

        def touchdown(sim: Simulation) -> list[tuple]:
            now = self.clock.now(sim.time)
            return [
                (*pair, {"friction": self._friction, "shrink": _OFF_EDGES})
                for pair, half in halfway.items()
                if now > half and not sim.contacts.between(*pair) and felt(sim, *pair)
            ]

        return touchdown

    def _label(self, marks: Mapping[str, Sequence[tuple[str, int]]], soles: Mapping[tuple[str, int], tuple]) -> str:
        alone = len(self.walkers) == 1
        parts = []
        for what in ("land", "lift", "unload"):
            for model, k in marks.get(what, ()):
                side = soles[model, k][0].split("/")[1].split("_")[0]
                parts.append(f"{what} {side} {k + 1}" if alone else f"{model} {what} {side} {k + 1}")
        return ", ".join(parts) or "begin"

    def along(self, pose: np.ndarray, axes: str = "xy") -> Reference:
        """Return the reference of a pose (7,) that goes along with those who walk, and turns with them; for a walk that has begun.

        With their centre of mass on the world's x, y or both, axes that turn with them, too; else with the middle of their feet,
        which does not sway.
        """
        if not axes or any(a not in "xy" for a in axes):
            raise InputError(f"along: expected x, y or xy, got {axes!r}")
        feet = np.mean([f.middle for f in self.feet.values()], axis=0)
        turning = np.mean([f.heading - f.heading[0] for f in self.feet.values()], axis=0)
        return self.clock.of(Along(self.way, feet, turning, pose, np.array([a in axes for a in "xy"], float)))

    # -- objectives ----------------------------------------------------------------------------------------------------

    def _objectives(self, start: float, end: float) -> Callable[[Simulation, Entry], Sequence[Objective]]:
        def objectives(sim: Simulation, begun: Entry) -> Sequence[Objective]:
            plan = self._plan(sim, begun)
            self.clock.enter(begun, self._starts, end)
            # A foot is held in its place while it is unloaded: when its contact ends, nothing else moves it.
            swinging = [s for s in plan.swings if s.step.unload < end - _EPS and s.step.land > start + _EPS]
            if sim.world.finds_contacts:
                for swing in swinging:
                    swing.path.lift(_found(sim, begun, swing.step))
            return [*plan.always, *(o for swing in swinging for o in swing.objectives)]

        return objectives

    def _plan(self, sim: Simulation, begun: Entry) -> _Course:
        """Return what the walk is made of; made anew only when it is begun anew."""
        if self._made is None or self._made[0] is not sim or self._made[1] != begun.time:
            with sim.at(begun):
                self._made = sim, begun.time, self._make(sim)
        return self._made[2]

    def _make(self, sim: Simulation) -> _Course:
        time = GRID * np.arange(int((self.seconds + _SETTLING) / GRID) + 2)
        # Those who carry something together turn about one point, so that they stay as far from each other as they are.
        pivot = np.mean([_middle(standing(sim, w.model))[:2] for w in self.walkers], axis=0)
        self.feet = {w.model: self._feet(sim, w, time, pivot) for w in self.walkers}
        group = (*(w.model for w in self.walkers), *self.carried)
        pressed = np.mean([feet.pressed for feet in self.feet.values()], axis=0)
        always = self._balance(sim, group, time, pressed, 1.0)
        for model, feet in self.feet.items():
            if len(self.feet) > 1:
                always += self._balance(sim, (model,), time, feet.pressed, _OWN_SHARE)
            always += self._carriage(sim, model, feet, time)
        always += self._extra(sim, self) if self._extra else ()
        seeks = sim.world.finds_contacts
        return _Course(always, [self._swing(step, seeks) for feet in self.feet.values() for step in feet.steps])

    def _feet(self, sim: Simulation, walker: Walker, time: np.ndarray, pivot: np.ndarray) -> Feet:
        """Return a walker's steps about a pivot, and where it presses and heads to over time."""
        stand, steps, headings, middles = standing(sim, walker.model), [], [], []
        feet = dict(stand)
        for end, times in zip(
            footsteps(sim, walker.model, self.steps, walker.gait(self.gait), walker.first, walker.surfaces, pivot),
            self.times(walker),
            strict=True,
        ):
            steps.append(_Step(walker.model, feet[end.side], end, *times))
            feet[end.side] = end
            headings.append((times[1], times[2], np.array([heading(feet)])))
            middles.append((times[1], times[2], _middle(feet)[:2]))
        # It presses between both feet, then on the standing foot while the other one swings, and moves over in between.
        middle = _middle(stand)
        moves = [(walker.delay, steps[0].lift, stand[other_side(steps[0].end.side)].place)]
        moves += [(step.land, after.lift, step.end.place) for step, after in pairwise(steps)]
        moves += [(steps[-1].land, steps[-1].land + self._finish, _middle(feet))]
        pressed = _through(time, middle, [*moves[:-1], *self._leaning(steps[-1], moves[-2][2]), moves[-1]])
        # It still rises while the other foot swings: before that, the hind leg could not follow.
        rises = [(begin, 0.5 * (end + step.land), to[2:]) for (begin, end, to), step in zip(moves, steps, strict=False)]
        pressed[:, 2:] = _through(time, middle[2:], [*rises, (moves[-1][0], moves[-1][1], moves[-1][2][2:])])
        turning = _through(time, np.array([heading(stand)]), headings)
        return Feet(steps, pressed, turning[:, 0], _through(time, middle[:2], middles))

    def _leaning(self, last: _Step, place: np.ndarray) -> list[tuple[float, float, np.ndarray]]:
        """Let it press towards the toes from the first quarter of the last swing on.

        Nobody steps on after that, so the centre of mass runs less far ahead, and the foot would have to reach out for its place.
        """
        if self.gait.style != "preview":
            return []
        ahead = np.array([math.cos(last.end.heading), math.sin(last.end.heading), 0.0])
        lean = np.clip(_LEAN * (last.end.place - place) @ ahead, -_FARTHEST_LEAN, _FARTHEST_LEAN)
        return [(last.lift + 0.25 * (last.land - last.lift), last.land, place + lean * ahead)]

    def _balance(
        self, sim: Simulation, models: Sequence[str], time: np.ndarray, pressed: np.ndarray, share: float
    ) -> list[Objective]:
        """Let the centre of mass of a group follow its plan over the feet, at its height."""
        com = Com(*models)
        com.attach(sim.scene)
        now, floor = com.position(sim.terms), float(pressed[0, 2])
        # At first it presses below where it is: a walk begins without a jerk.
        ground = pressed[:, :2] + (1.0 - smooth_steps(time, 0.0, self._begin)[:, None]) * (now - pressed[0])[:2]
        if self.gait.style == "preview":
            if sim.scene.gravity <= 0 or now[2] <= floor:
                raise InputError("walk: a preview gait needs gravity, and a centre of mass above the feet")
            velocity = com.feature(sim.terms, sim.time).velocity[:2]
            level = preview(ground, now[:2], velocity, now[2] - floor, sim.scene.gravity)
        else:
            level = ground
        if share == 1.0:
            self.way = level
        walking = (
            smooth_steps(time, 0.0, self._begin)[:, None]
            - smooth_steps(time, self.seconds - self._finish, self.seconds)[:, None]
        )
        height = now[2] + pressed[:, 2:] - floor - self.gait.lower * walking
        return [
            Com(
                *models,
                reference=self.clock.of(Track(values)),
                axes=axes,
                weight=share * weight,
                stiffness=40.0,
                max_speed=_CATCHING_UP,
            )
            for axes, values, weight in (("xy", level, 100.0), ("z", height, 100.0))
        ]

    def _carriage(self, sim: Simulation, model: str, feet: Feet, time: np.ndarray) -> list[Objective]:
        """Keep trunk and head upright and turned along the way; let the arms swing against the legs."""
        out: list[Objective] = []
        initial, m = sim.scene.rest, sim.scene.model
        soles = [initial.site_xmat[sim.scene.site(f"{model}/{side}_sole")].reshape(3, 3)[:, 0] for side in SIDES]
        first = float(np.arctan2(*np.sum(soles, axis=0)[[1, 0]]))
        turning = Track(feet.heading[:, None])
        for body, weight in (("pelvis", 8.0), ("chest", 5.0), ("head", 1.0)):
            if mujoco.mj_name2id(m, mujoco.mjtObj.mjOBJ_BODY, f"{model}/{body}") >= 0:
                upright = quaternion_of(initial.xmat[m.body(f"{model}/{body}").id])
                reference = self.clock.of(_Turning(turning, upright, first))
                out.append(Orientation(f"{model}/{body}", reference, weight=weight, stiffness=40.0))
        joints = [f"{model}/{side}_shoulder_flexion" for side in SIDES]
        known = all(mujoco.mj_name2id(m, mujoco.mjtObj.mjOBJ_JOINT, name) >= 0 for name in joints)
        if self.gait.arm_swing > 0 and known:
            swings = [(s.lift, s.land, np.array([1.0 if s.end.side == "right" else -1.0])) for s in feet.steps[:-1]]
            swings += [(feet.steps[-1].lift, feet.steps[-1].land + self._finish, np.zeros(1))]
            left = self.gait.arm_swing * _through(time, np.zeros(1), swings)
            for name, sign in zip(joints, (1.0, -1.0), strict=True):
                hanging = sim.scene.qpos[m.jnt_qposadr[sim.scene.joint(name)]]
                track = self.clock.of(Track(hanging + sign * left))
                out.append(JointAngle(name, track, weight=2.0, stiffness=40.0, max_speed=math.inf))
        return out

    def _swing(self, step: _Step, seeks: bool) -> _Swinging:
        """Let a foot swing; where its flatness and its path conflict (a trailing foot being lifted) the path wins."""
        swing = Swing(step.start, step.end, step.lift, self.gait)
        path = self.clock.of(swing)
        path = Seeking(path, self.clock, step.land) if seeks else path
        objectives: list[Objective] = [
            Point(step.sole, Part(path, slice(0, 3), slice(0, 3)), weight=1000.0, stiffness=200.0, max_speed=math.inf),
            Orientation(
                step.sole, Part(path, slice(3, 7), slice(3, 6)), weight=10.0, stiffness=150.0, max_speed=math.inf
            ),
        ]
        return _Swinging(step, swing, objectives)


class Feet(NamedTuple):
    """A walker's steps; on the grid of the walk's time where it presses (n, 3), its heading (n,), the middle of its feet (n, 2)."""

    steps: list[_Step]
    pressed: np.ndarray
    heading: np.ndarray
    middle: np.ndarray


class _Course(NamedTuple):
    """Objectives of a whole walk, and those of each swing."""

    always: list[Objective]
    swings: list[_Swinging]


class _Swinging(NamedTuple):
    """A step, its path, and the objectives that follow it."""

    step: _Step
    path: Swing
    objectives: list[Objective]


def _found(sim: Simulation, begun: Entry, step: _Step) -> Footprint:
    """Return where a foot stands before it lifts, as noted when it was first asked."""
    foot = standing(sim, step.model)[step.end.side]
    *place, turn = begun.noted.setdefault(f"{step.sole} {step.lift:.6f}", [*foot.place.tolist(), foot.heading])
    return Footprint(foot.side, np.array(place), turn)


class _Turning:
    """An orientation that turns with a heading."""

    full: ClassVar[bool] = True

    def __init__(self, heading: Track, upright: np.ndarray, first: float):
        self._heading, self._upright, self._first = heading, upright, first

    def at(self, time: float) -> Sample:
        yaw, rate, acceleration = self._heading.at(time)
        return Sample(turned((yaw - self._first) * _UP, self._upright), rate * _UP, acceleration * _UP)


_UP = np.array([0.0, 0.0, 1.0])


def _through(time: np.ndarray, start: np.ndarray, moves: Sequence[tuple[float, float, np.ndarray]]) -> np.ndarray:
    """Return values (n, d) that go from one to the next in minimum-jerk time: (from when, until when, to what)."""
    out, last = np.tile(np.asarray(start, float), (len(time), 1)), np.asarray(start, float)
    for begin, end, goal in moves:
        out += smooth_steps(time, begin, end)[:, None] * (goal - last)
        last = goal
    return out


def _middle(feet: Mapping[str, Footprint]) -> np.ndarray:
    return 0.5 * (feet["left"].place + feet["right"].place)
