"""The kinds of objectives a file knows: each class is the schema of one kind and makes it. A new kind is one new class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from pydantic import Field

import interplay as ip
from interplay.scenario import present_posture
from interplay.script.entries import (
    Axes,
    BodyName,
    ControlName,
    Duration,
    Entry,
    Flag,
    FrameName,
    JointName,
    Many,
    ModelName,
    Number,
    Onto,
    PhaseName,
    Positive,
    Seconds,
    SetName,
    SurfaceName,
    Vector,
    Weight,
    Where,
    Whole,
    one_of,
)
from interplay.script.play import Play


class Objective(Entry):
    """An objective: what should be where, and how much it matters."""

    def make(self, play: Play) -> list[ip.Objective]:
        """Return the objectives that the entry stands for, made at the present state."""
        raise TypeError(f"{type(self).__name__} does not define make()")


class _Weighted(Objective):
    weight: Weight | None = Field(None, description="how much it matters beside the others")
    priority: Whole | None = Field(
        None, description="whom the prioritised controller serves first: 0 before 1; by default of its kind"
    )
    name: str | None = Field(None, min_length=1, description="its label on the stage; by default what it is about")

    def gains(self, *more: str) -> dict[str, Any]:
        """Return what is given of the gains; the rest is the objective's own."""
        return {key: getattr(self, key) for key in ("weight", "name", *more) if getattr(self, key) is not None}


class _Pulled(_Weighted):
    stiffness: Weight | None = Field(None, description="how strongly an error is corrected [1/s²]")
    max_speed: Positive | None = Field(None, description="largest speed of a correction [m/s, rad/s]")

    def gains(self, *more: str) -> dict[str, Any]:
        """Return what is given of the gains."""
        return super().gains("stiffness", "max_speed", *more)


class _Aimed(_Pulled):
    to: Where | None = Field(
        None, description="numbers, a mark, a surface, a body; now: where it is; by default where it was at the start"
    )
    follow: ControlName | None = Field(None, description="the live control it follows, instead of 'to'")
    seconds: Duration | None = Field(None, description="how long it takes to get there [s]; by default at once")

    def goal(self, play: Play, frame: str, kind: Any) -> Any:
        """Return the reference of a frame for one of ip.Point, ip.Orientation and ip.Pose."""
        by = getattr(self, "by", None)
        if self.follow is not None:
            return play.control(self.follow)
        if self.to is None and by is None:
            return None
        now = play.pose(frame)
        end = now.copy() if self.to in (None, "now") else play.pose(self.to)
        if by is not None:
            end[:3] += by
        part = {3: slice(0, 3), 4: slice(3, 7), 7: slice(0, 7)}[kind.size]
        if self.seconds is None:
            return end[part]
        if kind.size == 3:
            return ip.MinimumJerk(now[part], end[part], play.sim.time, self.seconds)
        path = ip.PosePath(now, end, play.sim.time, self.seconds, getattr(self, "arch", None) or (0, 0, 0))
        return path if kind.size == 7 else ip.Part(path, part, slice(3, 6))


class Point(_Aimed):
    """Brings points of bodies to a place."""

    point: Many[FrameName] = Field(description="surfaces, bodies or models, each by itself")
    by: Vector | None = Field(None, description="moved by so much from 'to', or from where it is [m]")

    def make(self, play: Play) -> list[ip.Objective]:
        """Return one objective for each."""
        return [ip.Point(f, self.goal(play, f, ip.Point), **self.gains()) for f in self.point]


class Orientation(_Aimed):
    """Turns bodies."""

    orientation: Many[FrameName] = Field(description="surfaces, bodies or models, each by itself")

    def make(self, play: Play) -> list[ip.Objective]:
        """Return one objective for each."""
        return [ip.Orientation(f, self.goal(play, f, ip.Orientation), **self.gains()) for f in self.orientation]


class Pose(_Aimed):
    """Brings bodies to a place and turns them."""

    pose: Many[FrameName] = Field(description="surfaces, bodies or models, each by itself")
    by: Vector | None = Field(None, description="moved by so much from 'to', or from where it is [m]")
    arch: Vector | None = Field(None, description="how far its way arches out half-way [m]")
    along: Axes | None = Field(
        None,
        description="within a walk: goes along and turns with those who walk, on x, y or xy with their centre of mass",
    )

    def make(self, play: Play) -> list[ip.Objective]:
        """Return one objective for each."""
        if self.along is None:
            return [ip.Pose(f, self.goal(play, f, ip.Pose), **self.gains()) for f in self.pose]
        if play.walk is None:
            raise ip.InputError("'along' is for the objectives of a walk")
        free = {"max_speed": np.inf, **self.gains()}
        return [ip.Pose(f, play.walk.along(play.pose(f), self.along), **free) for f in self.pose]


class Com(_Pulled):
    """Moves the centre of mass of a model, or of some together."""

    com: Many[ModelName] = Field(description="models, taken together")
    to: Where | None = Field(
        None, description="a place or numbers on the axes [m]; now: where it is; by default where it was at the start"
    )
    by: list[Number] | Number | None = Field(None, description="moved by so much [m], on its axes")
    follow: ControlName | None = Field(None, description="the live control it follows, instead of 'to'")
    seconds: Duration | None = Field(None, description="how long it takes to get there [s]; by default at once")
    axes: Axes = Field("xyz", description="world axes that matter: xyz, xy, z, …")

    def make(self, play: Play) -> list[ip.Objective]:
        """Return the objective."""
        return [ip.Com(*self.com, reference=self._reference(play), axes=self.axes, **self.gains())]

    def _reference(self, play: Play) -> Any:
        if self.follow is not None:
            return play.control(self.follow)
        if self.to is None and self.by is None:
            return None
        rows = ["xyz".index(a) for a in self.axes]
        now = play.sim.com(*self.com)[0][rows]
        if self.to in (None, "now"):
            end = now
        elif isinstance(self.to, (float, int)) or (isinstance(self.to, list) and len(self.to) == len(rows)):
            end = np.atleast_1d(np.asarray(self.to, float))
        else:
            end = play.pose(self.to)[rows]
        if self.by is not None:
            end = end + np.asarray(self.by)
        return end if self.seconds is None else ip.MinimumJerk(now, end, play.sim.time, self.seconds)


class ComOver(_Pulled):
    """Keeps the centre of mass of models over surfaces that may move."""

    com_over: Many[ModelName] = Field(description="models, taken together")
    on: Many[SurfaceName] = Field(description="surfaces they are over")
    to: Many[Number] | Literal["middle", "stable"] | None = Field(
        None,
        description="offset from their middle [m], on the axes; middle: none; "
        "stable: the centre of where the contacts of that moment can hold them; by default that of the start",
    )
    axes: Axes = Field("xy", description="world axes that matter")
    near: Positive | None = Field(
        None, description="how far off the stiffness is whole [m]; it falls with the root of the distance beyond"
    )

    def make(self, play: Play) -> list[ip.Objective]:
        """Return the objective."""
        options = {"over": self.on, "reference": self._offset(play), "axes": self.axes}
        return [ip.ComOver(*self.com_over, **options, **self.gains("near"))]

    def _offset(self, play: Play) -> Any:
        if not isinstance(self.to, str):
            return self.to
        rows, offset = ["xyz".index(a) for a in self.axes], np.zeros(3)
        if 2 in rows:
            raise ip.InputError(f"com_over to {self.to}: expected axes without z, got {self.axes!r}")
        if self.to == "stable":
            offset[:2] = play.sim.stability_region(*self.com_over).centre - play.sim.middle(*self.on)[:2]
        return offset[rows]


class Balance(_Weighted):
    """Brings the centre of mass back before it is too late, whatever else is asked."""

    balance: Many[ModelName] = Field(description="models, taken together")
    on: Many[SurfaceName] = Field(description="surfaces they stand on")
    margin: Weight | None = Field(None, description="how far inside their edges [m]; 0.03 by default")

    def make(self, play: Play) -> list[ip.Objective]:
        """Return the objective."""
        return [ip.Balance(*self.balance, on=self.on, terms=play.sim.terms, **self.gains("margin"))]


class LineBalance(_Weighted):
    """Keeps a model in balance on a line, by its angular momentum."""

    line_balance: ModelName = Field(description="the model")
    on: list[SurfaceName] = Field(min_length=2, max_length=2, description="the two points it stands on")
    pole: Positive | None = Field(None, description="how quickly it comes back [1/s]; 2.5 by default")

    def make(self, play: Play) -> list[ip.Objective]:
        """Return the objective."""
        return [ip.LineBalance(self.line_balance, *self.on, **self.gains("pole"))]


class Posture(_Pulled):
    """Keeps joints near a posture: the low-weight background."""

    posture: Many[ModelName] = Field(description="models")
    values: dict[str, Number] | Literal["now"] | None = Field(
        None, description="joints that differ from the start [rad, m]; now: as they are"
    )
    weights: dict[str, Weight] | None = Field(
        None, description="factors on the weight of joints or parts, such as torso"
    )
    seconds: Duration | None = Field(None, description="how long it takes to get there [s]; by default at once")

    def make(self, play: Play) -> list[ip.Objective]:
        """Return the objective."""
        now = present_posture(play.sim, *self.posture)
        values = now if self.values == "now" else self.values
        goal = ip.Posture(*self.posture, values=values, weights=self.weights, **self.gains())  # type: ignore[arg-type]
        if self.seconds is None:
            return [goal]
        goal.attach(play.sim.scene)
        end = goal.reference.at(play.sim.time).value
        way = ip.MinimumJerk([now[joint] for joint in goal.joints], end, play.sim.time, self.seconds)
        return [ip.Posture(*self.posture, reference=way, weights=self.weights, **self.gains())]


class Loose(_Weighted):
    """Keeps limbs near a posture as springs would: they swing with what they hang on."""

    loose: Many[ModelName] = Field(description="models, each by itself")
    parts: Many[str] | None = Field(None, description="parts of the body, such as shoulder; its arms by default")
    stiffness: Weight | None = Field(None, description="of the springs [1/s²]; 15 by default")

    def make(self, play: Play) -> list[ip.Objective]:
        """Return one objective for each."""
        options = self.gains("stiffness")
        if self.parts is not None:
            options["parts"] = tuple(self.parts)  # type: ignore[assignment]
        return [ip.Loose(m, **options) for m in self.loose]


class Track(_Weighted):
    """Follows a clip: joints, hands as the chest sees them, the head over the pelvis; each as far as the rest allows."""

    track: ModelName = Field(description="the character that follows")
    clip: Annotated[str, Field(min_length=1, max_length=500)] = Field(
        description="a clip that comes with Interplay, such as wave, or a file (….clip) in this file's folder or below"
    )
    actor: str | None = Field(
        None, description="whom of the clip; by default the only one, or the one of the same name"
    )
    joints: Many[str] | None = Field(
        None,
        description="joints or parts, such as left_elbow; upper (the default): the upper body; all: all that both have",
    )
    begin: Seconds = Field(0.0, description="when the clip begins, after the phase [s]")
    speed: Positive = Field(1.0, description="how fast it is played; 1 as it is")
    loop: Flag = Field(False, description="whether it begins again when it has ended")
    hands: Weight | None = Field(None, description="weight of the hands' poses before the chest; 2 by default, 0: none")
    gaze: Weight | None = Field(
        None, description="weight of the head's orientation over the pelvis; 2 by default, 0: none"
    )
    stiffness: Weight | None = Field(None, description="how strongly an error is corrected [1/s²]; 60 by default")
    weights: dict[str, Weight] | None = Field(
        None, description="factors on the weight of joints or parts, such as torso"
    )
    stiffnesses: dict[str, Weight] | None = Field(None, description="factors on the stiffness of joints or parts")

    def make(self, play: Play) -> list[ip.Objective]:
        """Return the objectives of joints, hands and head."""
        played = ip.Playback(
            play.clip(self.clip),
            actor=self.actor,
            begin=play.sim.time + self.begin,
            speed=self.speed,
            loop=self.loop,
        )
        words: dict[str, Any] = {"upper": "upper", "all": None}
        joints = words.get(self.joints[0], self.joints) if self.joints else "upper"
        options = self.gains("hands", "gaze", "stiffness", "weights", "stiffnesses")
        return ip.track(played, str(self.track), joints=joints, **options)


class Momentum(_Weighted):
    """Keeps the angular momentum of models about their own centre of mass small: it calms the arms."""

    momentum: Many[ModelName] = Field(description="models, each by itself")
    to: Vector | None = Field(None, description="angular momentum [kg·m²/s]; 0 by default")
    damping: Weight | None = Field(None, description="how quickly it fades [1/s]; 5 by default")

    def make(self, play: Play) -> list[ip.Objective]:
        """Return one objective for each."""
        options = self.gains("damping")
        return [ip.AngularMomentum(m, self.to or (0.0, 0.0, 0.0), **options) for m in self.momentum]


class Joint(_Pulled):
    """Moves joints, such as a door's hinge: whoever holds the door helps."""

    joint: Many[JointName] = Field(description="joints, each by itself")
    to: Number | Literal["now"] | None = Field(None, description="angle [rad] or position [m]; now: as it is")
    by: Number | None = Field(None, description="moved by so much [rad, m]")
    follow: ControlName | None = Field(None, description="the live control it follows, instead of 'to'")
    seconds: Duration | None = Field(None, description="how long it takes to get there [s]; by default at once")

    def make(self, play: Play) -> list[ip.Objective]:
        """Return one objective for each."""
        return [ip.JointAngle(joint, self._reference(play, joint), **self.gains()) for joint in self.joint]

    def _reference(self, play: Play, joint: str) -> Any:
        if self.follow is not None:
            return play.control(self.follow)
        now = play.joint(joint)
        end = (now if self.to in (None, "now") else float(self.to)) + (self.by or 0.0)  # type: ignore[arg-type]
        return end if self.seconds is None else ip.MinimumJerk(now, end, play.sim.time, self.seconds)


class Gaze(_Pulled):
    """Turns heads toward something."""

    gaze: Many[BodyName] = Field(description="bodies that look, each by itself")
    at: Where = Field(description="a surface, body or model (watched as it moves), a mark, or a point [m]")
    axis: Vector | None = Field(None, description="the axis that looks, in the body's frame; [1, 0, 0] by default")

    def make(self, play: Play) -> list[ip.Objective]:
        """Return one objective for each."""
        moving = isinstance(self.at, str) and self.at not in play.marks
        target = str(self.at) if moving else play.pose(self.at)[:3]
        return [ip.Gaze(body, target, **self.gains("axis")) for body in self.gaze]


class Force(_Weighted):
    """Asks for the forces of contacts: how hard a hand presses."""

    force: Many[SurfaceName] = Field(description="surfaces in contact, each by itself")
    to: Vector = Field(description="force on it in contact axes [N]; z presses into it")

    def make(self, play: Play) -> list[ip.Objective]:
        """Return one objective for each."""
        return [ip.ContactForce(surface, self.to, **self.gains()) for surface in self.force]


class Meet(_Weighted):
    """Brings surfaces onto others, aligned and ready for a contact, or to points."""

    meet: dict[SurfaceName, Onto] = Field(min_length=1, description="surface: where to, such as a/left_palm: box/left")
    seconds: Duration = Field(description="how long it takes [s]")
    via: Vector | None = Field(None, description="way-point [m]")
    stand_off: Number | None = Field(None, description="distance to stay before the target [m]")
    by: Vector | None = Field(None, description="where on the patch: from its middle [m], world axes")
    pointing: Vector | None = Field(
        None,
        description="where the fingers or toes point in the end, world axes; by default it turns as little as it can",
    )
    turn_weight: Weight | None = Field(None, description="weight of the orientation, where it may yield to the path")
    stiffness: Weight | None = Field(None, description="how strongly an error is corrected [1/s²]")

    def make(self, play: Play) -> list[ip.Objective]:
        """Return one objective for each."""
        sim, options = play.sim, self.gains("via", "stand_off", "by", "pointing", "turn_weight", "stiffness")
        return [ip.Meet(a, b, sim.terms, sim.time, self.seconds, **options) for a, b in self.meet.items()]


class Relative(_Pulled):
    """Keeps a frame in a pose seen from another one."""

    relative: FrameName = Field(description="a surface, body or model")
    base: FrameName = Field(description="what it is seen from")
    to: list[Number] | Literal["now"] | None = Field(
        None, description="position [m] and quaternion in the other's axes; now: as it is; by default as at the start"
    )

    def make(self, play: Play) -> list[ip.Objective]:
        """Return the objective."""
        to = play.relative(self.relative, self.base) if self.to == "now" else self.to
        return [ip.RelativePose(self.relative, self.base, to, **self.gains())]


class Use(Objective):
    """A named set of objectives."""

    use: SetName = Field(description="name of the set")
    since: PhaseName | None = Field(
        None, description="made when that phase was entered, and shared by all phases that say so"
    )

    def make(self, play: Play) -> list[ip.Objective]:
        """Return the objectives of the set."""
        return play.shared(self.use, self.since) if self.since is not None else play.make(play.sets[self.use])


if TYPE_CHECKING:
    AnyObjective = Objective
else:
    AnyObjective = one_of("objective", Objective)
