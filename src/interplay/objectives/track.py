"""Tracking: posture, hands and gaze follow a clip, each as far as the rest allows (abe2007 (7))."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import mujoco
import numpy as np
from scipy.interpolate import CubicSpline

from interplay.errors import InputError, number, unknown_name
from interplay.maths.rotations import continuous, quaternion_of, turns_between
from interplay.objectives.base import Objective
from interplay.objectives.posture import Posture, is_of
from interplay.objectives.reference import Sample
from interplay.objectives.relative import RelativePose
from interplay.scene.kinematics import Kinematics
from interplay.scene.scene import Scene

if TYPE_CHECKING:
    from interplay.motion.clip import Clip, Motion

UPPER_BODY = ("torso", "neck", "head", "clavicle", "shoulder", "elbow", "wrist", "forearm")
"""What joints of the upper body are called, without their sides."""
_ARM = ("clavicle", "shoulder", "elbow", "wrist", "forearm")


class Playback:
    """A clip as it is played: whom of it, when it begins [s], at which speed (1: its own), once or again and again.

    Before it begins, and after it has ended, its first and last frame are held, at rest.
    """

    def __init__(
        self, clip: Clip, *, actor: str | None = None, begin: float = 0.0, speed: float = 1.0, loop: bool = False
    ):
        """Take the clip and how it is played; the actor is needed where several are in the clip and none has the follower's name."""
        if actor is not None and actor not in clip.motions:
            raise unknown_name("character of the clip", actor, clip.motions)
        self.clip, self._actor = clip, actor
        self.begin, self.speed, self.loop = number("begin", begin), number("speed", speed, 0.01, 100), bool(loop)

    def at(self, time: float) -> tuple[float, float]:
        """Return the time within the clip, and how fast it goes by."""
        first, length = float(self.clip.time[0]), self.clip.duration
        age = (time - self.begin) * self.speed
        if self.loop and age > 0.0:
            return first + age % length, self.speed
        inside = 0.0 < age < length
        return first + min(max(age, 0.0), length), self.speed if inside else 0.0

    def motion_for(self, model: str) -> Motion:
        """Return the motion that a model follows: the actor's, the only one, or that of its own name."""
        motions = self.clip.motions
        wanted = self._actor or (next(iter(motions)) if len(motions) == 1 else model)
        if wanted not in motions:
            raise unknown_name("character of the clip", wanted, motions)
        return motions[wanted]


class _Played:
    """Values of a clip as a reference: smooth through its frames, with their velocities and accelerations."""

    full: ClassVar[bool] = True

    def __init__(self, playback: Playback, values: np.ndarray):
        self._curve, self._playback = CubicSpline(playback.clip.time, values), playback
        self._rate, self._change = self._curve.derivative(), self._curve.derivative(2)

    def at(self, time: float) -> Sample:
        """Return the sample at a time."""
        when, speed = self._playback.at(time)
        return Sample(self._curve(when), speed * self._rate(when), speed**2 * self._change(when))


class _PlayedPose:
    """Poses of a clip (T, 7) as a reference; its velocities are twists in the base's axes."""

    full: ClassVar[bool] = True

    def __init__(self, playback: Playback, poses: np.ndarray):
        time, quats = playback.clip.time, continuous(poses[:, 3:])
        self._playback, self._curve = playback, CubicSpline(time, np.hstack([poses[:, :3], quats]))
        last = len(time) - 1
        before, after = np.maximum(np.arange(-1, last), 0), np.minimum(np.arange(1, last + 2), last)
        turns = turns_between(quats[before], quats[after]) / (time[after] - time[before])[:, None]
        self._turning = CubicSpline(time, turns)

    def at(self, time: float) -> Sample:
        """Return the sample at a time."""
        when, speed = self._playback.at(time)
        pose = self._curve(when)
        pose[3:] /= np.linalg.norm(pose[3:])
        twist = np.concatenate([self._curve(when, 1)[:3], self._turning(when)])
        change = np.concatenate([self._curve(when, 2)[:3], self._turning(when, 1)])
        return Sample(pose, speed * twist, speed**2 * change)


class Track(Posture):
    """Joints of a character follow those of a clip.

    Args:
        played: the clip, or how it is played: ``ip.Playback(clip, begin=2.0)``.
        model: who follows it.
        joints: which joints, by their names or by parts of a body (``shoulder``, ``left_elbow``); ``upper`` for the upper body;
            by default all that both have.
        weights, stiffnesses: multiply those of single joints, as of a posture.

    An arm that contacts hold (a hand on a box, a pole, a wall) does not follow: it would pull at what it holds.
    """

    def __init__(
        self,
        played: Clip | Playback,
        model: str,
        *,
        joints: str | Iterable[str] | None = None,
        weight: float = 1.0,
        stiffness: float = 60.0,
        weights: Mapping[str, float] | None = None,
        stiffnesses: Mapping[str, float] | None = None,
        max_speed: float | None = None,
        name: str | None = None,
    ):
        """See the class."""
        super().__init__(
            model,
            weight=weight,
            stiffness=stiffness,
            weights=weights,
            stiffnesses=stiffnesses,
            max_speed=max_speed,
            name=name,
        )
        self.playback = _playback(played)
        self._motion, self._asked = self.playback.motion_for(model), _parts(joints)
        for part in self._asked or () if joints != "upper" else ():
            if not any(is_of(joint, part) for joint in self._motion.joints):
                raise unknown_name("joint of the clip", part, self._motion.joints)

    def concerns(self, joint: str) -> bool:
        """Return whether the clip has a joint, and it is asked for."""
        own = joint.split("/", 1)[-1]
        if own not in self._motion.joints:
            return False
        return self._asked is None or any(is_of(own, part) for part in self._asked)

    def bind(self, scene: Scene) -> None:
        """Find the joints, and how they go."""
        super().bind(scene)
        if not self.dim:
            joints = ", ".join(self._motion.joints[:8])
            raise InputError(f"{self.models[0]!r} has none of the clip's joints: {joints}, …")
        columns = [self._motion.joints.index(name.split("/", 1)[-1]) for name in self.joints]
        self.reference = _Played(self.playback, self._motion.angles[:, columns])
        self._arms = []
        for side in ("left", "right"):
            own = [k for k, name in enumerate(self.joints) if _is_of_arm(name.split("/", 1)[-1], side)]
            if own:
                first = scene.model.jnt_bodyid[[scene.joint(self.joints[k]) for k in own]].min()
                self._arms.append((own, frozenset(_below(scene.model, int(first)))))

    def row_weights_at(self, time: float, cost: Any) -> np.ndarray:
        """Return weights without those of arms that are held."""
        weights = self.row_weights
        for rows, bodies in self._arms:
            if (held := cost.held(bodies, time)) > 0.0:
                weights = weights.copy()
                weights[rows] *= 1.0 - held
        return weights


class TrackFrame(RelativePose):
    """A body of a character, seen from another one of it, moves as in a clip: hands before the chest, the head over the pelvis."""

    def __init__(
        self,
        played: Clip | Playback,
        frame: str,
        base: str,
        *,
        weight: float = 10.0,
        turn_weight: float | None = None,
        stiffness: float = 60.0,
        name: str | None = None,
    ):
        """Take the clip, or how it is played, and the two frames."""
        super().__init__(
            frame, base, weight=weight, turn_weight=turn_weight, stiffness=stiffness, max_speed=None, name=name
        )
        self.playback, self._model = _playback(played), frame.split("/")[0]
        self._motion = self.playback.motion_for(self._model)

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
        self.reference = _PlayedPose(self.playback, np.array(poses))

    def add_to(self, terms: Kinematics, time: float, cost: Any) -> None:
        """Add the cost, as far as no contact holds the body."""
        free = 1.0 - cost.held((self.frame.body,), time)
        if free > 0.0:
            cost.add(self, free * self.weight_at(terms, time), self.feature(terms, time))


def track(
    played: Clip | Playback,
    model: str,
    *,
    joints: str | Iterable[str] | None = "upper",
    hands: float = 2.0,
    gaze: float = 2.0,
    weight: float = 1.0,
    stiffness: float = 60.0,
    weights: Mapping[str, float] | None = None,
    stiffnesses: Mapping[str, float] | None = None,
    name: str | None = None,
) -> list[Objective]:
    """Return objectives with which a character follows a clip: joints, hands as the chest sees them, the head over the pelvis.

    ``hands`` and ``gaze`` are the weights of the latter two; 0 leaves them out. The rest as of :class:`Track`; ``name`` is the
    beginning of their labels.
    """
    playback = _playback(played)
    out: list[Objective] = [
        Track(
            playback,
            model,
            joints=joints,
            weight=weight,
            stiffness=stiffness,
            weights=weights,
            stiffnesses=stiffnesses,
            name=name,
        )
    ]

    def follow(body: str, base: str, weight: float, turn_weight: float) -> None:
        if max(weight, turn_weight) > 0:
            frames = (f"{model}/{body}", f"{model}/{base}")
            label = f"{name} {body}" if name else None
            out.append(
                TrackFrame(playback, *frames, weight=weight, turn_weight=turn_weight, stiffness=stiffness, name=label)
            )

    follow("left_hand", "chest", hands, hands)
    follow("right_hand", "chest", hands, hands)
    follow("head", "pelvis", 1e-3 * gaze, gaze)  # where it looks, not where it is
    return out


def _is_of_arm(joint: str, side: str) -> bool:
    return any(is_of(joint, f"{side}_{part}") for part in _ARM)


def _below(m: mujoco.MjModel, top: int) -> list[int]:
    """Return a body and all that hang on it."""
    found = {top}
    for body in range(top + 1, m.nbody):  # a body comes after the one it hangs on
        if m.body_parentid[body] in found:
            found.add(body)
    return sorted(found)


def _playback(played: Clip | Playback) -> Playback:
    return played if isinstance(played, Playback) else Playback(played)


def _parts(joints: str | Iterable[str] | None) -> tuple[str, ...] | None:
    if joints is None:
        return None
    return UPPER_BODY if joints == "upper" else ((joints,) if isinstance(joints, str) else tuple(joints))
