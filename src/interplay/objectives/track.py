"""Tracking: posture, hands and gaze follow a clip, each as far as the rest allows (abe2007 (7))."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from scipy.interpolate import CubicSpline

from interplay.errors import InputError, number, unknown_name
from interplay.maths.rotations import continuous, quaternion_of, turns_between
from interplay.objectives.base import Objective
from interplay.objectives.posture import Posture
from interplay.objectives.reference import Sample
from interplay.objectives.relative import RelativePose
from interplay.scene.scene import Scene

if TYPE_CHECKING:
    from interplay.motion.clip import Clip, Motion

UPPER_BODY = ("torso", "neck", "head", "clavicle", "shoulder", "elbow", "wrist", "forearm")
"""What joints of the upper body are called, without their sides."""


class Timing:
    """When a clip is played: it begins at a time [s], at a speed (1: its own), once or again and again.

    Before it begins, and after it has ended, its first and last frame are held, at rest.
    """

    def __init__(self, clip: Clip, begin: float = 0.0, speed: float = 1.0, loop: bool = False):
        """Take the clip and how it is played."""
        self._first, self._length = float(clip.time[0]), clip.duration
        self.begin, self.speed, self.loop = number("begin", begin), number("speed", speed, 0.01, 100), bool(loop)

    def at(self, time: float) -> tuple[float, float]:
        """Return the time within the clip, and how fast it goes by."""
        age = (time - self.begin) * self.speed
        if self.loop and age > 0.0:
            return self._first + age % self._length, self.speed
        inside = 0.0 < age < self._length
        return self._first + min(max(age, 0.0), self._length), self.speed if inside else 0.0


class _Played:
    """Values of a clip as a reference: smooth through its frames, with their velocities and accelerations."""

    full: ClassVar[bool] = True

    def __init__(self, time: np.ndarray, values: np.ndarray, timing: Timing):
        self._curve, self._timing = CubicSpline(time, values), timing
        self._rate, self._change = self._curve.derivative(), self._curve.derivative(2)

    def at(self, time: float) -> Sample:
        """Return the sample at a time."""
        when, speed = self._timing.at(time)
        return Sample(self._curve(when), speed * self._rate(when), speed**2 * self._change(when))


class _PlayedPose:
    """Poses of a clip (T, 7) as a reference; its velocities are twists in the base's axes."""

    full: ClassVar[bool] = True

    def __init__(self, time: np.ndarray, poses: np.ndarray, timing: Timing):
        quats = continuous(poses[:, 3:])
        self._timing, self._curve = timing, CubicSpline(time, np.hstack([poses[:, :3], quats]))
        last = len(time) - 1
        before, after = np.maximum(np.arange(-1, last), 0), np.minimum(np.arange(1, last + 2), last)
        turns = turns_between(quats[before], quats[after]) / (time[after] - time[before])[:, None]
        self._turning = CubicSpline(time, turns)

    def at(self, time: float) -> Sample:
        """Return the sample at a time."""
        when, speed = self._timing.at(time)
        pose = self._curve(when)
        pose[3:] /= np.linalg.norm(pose[3:])
        twist = np.concatenate([self._curve(when, 1)[:3], self._turning(when)])
        change = np.concatenate([self._curve(when, 2)[:3], self._turning(when, 1)])
        return Sample(pose, speed * twist, speed**2 * change)


class Track(Posture):
    """Joints of a character follow those of a clip.

    Args:
        clip: the clip.
        model: who follows it; by default whoever has the name of its only character.
        actor: whom of the clip, if there are several; by default the one of the model's name.
        joints: which joints, by their names or by parts of a body (``shoulder``, ``left_elbow``); ``upper`` for the upper body;
            by default all that both have.
        begin, speed, loop: when it is played, how fast, and whether again and again.
        weights, stiffnesses: multiply those of single joints, as of a posture.
    """

    def __init__(
        self,
        clip: Clip,
        model: str | None = None,
        *,
        actor: str | None = None,
        joints: str | Iterable[str] | None = None,
        begin: float = 0.0,
        speed: float = 1.0,
        loop: bool = False,
        weight: float = 1.0,
        stiffness: float = 60.0,
        weights: Mapping[str, float] | None = None,
        stiffnesses: Mapping[str, float] | None = None,
        max_speed: float | None = None,
        name: str | None = None,
    ):
        """See the class."""
        self._clip, (self._model, self._motion) = clip, _actor(clip, model, actor)
        super().__init__(
            self._model,
            weight=weight,
            stiffness=stiffness,
            weights=weights,
            stiffnesses=stiffnesses,
            max_speed=max_speed,
            name=name,
        )
        self.timing = Timing(clip, begin, speed, loop)
        self._asked = _parts(joints)
        for part in self._asked or () if joints != "upper" else ():
            if not any(_is_of(joint, part) for joint in self._motion.joints):
                raise unknown_name("joint of the clip", part, self._motion.joints)

    def concerns(self, joint: str) -> bool:
        """Return whether the clip has a joint, and it is asked for."""
        own = joint.split("/", 1)[-1]
        if own not in self._motion.joints:
            return False
        return self._asked is None or any(_is_of(own, part) for part in self._asked)

    def bind(self, scene: Scene) -> None:
        """Find the joints, and how they go."""
        super().bind(scene)
        if not self.dim:
            raise InputError(f"{self._model!r} has none of the clip's joints: {', '.join(self._motion.joints[:8])}, …")
        columns = [self._motion.joints.index(name.split("/", 1)[-1]) for name in self._names]
        self.reference = _Played(self._clip.time, self._motion.angles[:, columns], self.timing)


class TrackFrame(RelativePose):
    """A body of a character, seen from another one of it, moves as in a clip: hands before the chest, the head over the pelvis."""

    def __init__(
        self,
        clip: Clip,
        frame: str,
        base: str,
        *,
        actor: str | None = None,
        begin: float = 0.0,
        speed: float = 1.0,
        loop: bool = False,
        weight: float = 10.0,
        turn_weight: float | None = None,
        stiffness: float = 60.0,
        name: str | None = None,
    ):
        """Take the clip, the two frames and how it is played: see :class:`Track`."""
        super().__init__(
            frame, base, weight=weight, turn_weight=turn_weight, stiffness=stiffness, max_speed=None, name=name
        )
        self._clip, (self._model, self._motion) = clip, _actor(clip, frame.split("/")[0], actor)
        self.timing = Timing(clip, begin, speed, loop)

    def bind(self, scene: Scene) -> None:
        """Find the frames, and how the one moves before the other on this body."""
        super().bind(scene)
        m, terms, poses = scene.model, scene.rest.twin, []
        known = {m.joint(j).name: int(m.jnt_qposadr[j]) for j in range(m.njnt)}
        own = [k for k, joint in enumerate(self._motion.joints) if f"{self._model}/{joint}" in known]
        places = [known[f"{self._model}/{self._motion.joints[k]}"] for k in own]
        qpos = scene.qpos
        for angles in self._motion.angles[:, own]:
            qpos[places] = angles
            terms.place(qpos)
            p, R = self._relative(terms)
            poses.append(np.concatenate([p, quaternion_of(R)]))
        self.reference = _PlayedPose(self._clip.time, np.array(poses), self.timing)


def track(
    clip: Clip,
    model: str | None = None,
    *,
    hands: float = 10.0,
    gaze: float = 5.0,
    actor: str | None = None,
    joints: str | Iterable[str] | None = "upper",
    begin: float = 0.0,
    speed: float = 1.0,
    loop: bool = False,
    weight: float = 1.0,
    stiffness: float = 60.0,
    weights: Mapping[str, float] | None = None,
    stiffnesses: Mapping[str, float] | None = None,
) -> list[Objective]:
    """Return objectives with which a character follows a clip: joints, hands as the chest sees them, the head over the pelvis.

    ``hands`` and ``gaze`` are the weights of the latter two; 0 leaves them out. The rest as of :class:`Track`.
    """
    name = _actor(clip, model, actor)[0]
    played = {"actor": actor, "begin": begin, "speed": speed, "loop": loop, "stiffness": stiffness}
    out: list[Objective] = [
        Track(clip, name, joints=joints, weight=weight, weights=weights, stiffnesses=stiffnesses, **played)
    ]
    if hands > 0:
        sides = ("left", "right")
        out += [TrackFrame(clip, f"{name}/{s}_hand", f"{name}/chest", weight=hands, **played) for s in sides]
    if gaze > 0:
        out.append(TrackFrame(clip, f"{name}/head", f"{name}/pelvis", weight=1e-3 * gaze, turn_weight=gaze, **played))
    return out


def _actor(clip: Clip, model: str | None, actor: str | None) -> tuple[str, Motion]:
    """Return the model that follows a clip, and the motion it follows."""
    motions = clip.motions
    wanted = actor if actor is not None else model
    if actor is None and len(motions) == 1:
        wanted = next(iter(motions))
    if wanted not in motions:
        raise unknown_name("character of the clip", wanted, motions)
    return (model or wanted), motions[wanted]


def _parts(joints: str | Iterable[str] | None) -> tuple[str, ...] | None:
    if joints is None:
        return None
    return UPPER_BODY if joints == "upper" else ((joints,) if isinstance(joints, str) else tuple(joints))


def _is_of(joint: str, part: str) -> bool:
    """Return whether a joint is meant by its own name, or belongs to a part: ``left_elbow_flexion`` to ``elbow``, ``left_elbow``."""
    unsided = joint.split("_", 1)[-1] if joint.startswith(("left_", "right_")) else joint
    return joint == part or joint.startswith(f"{part}_") or unsided == part or unsided.startswith(f"{part}_")
