"""A clip: motion as data. Joints by name and a root for each character, and what touches what from when to when.

A clip knows no body: it plays on whichever has joints of these names. Operations return new clips.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import mujoco
import numpy as np
from scipy.interpolate import CubicSpline

from interplay.errors import InputError, number, unknown_name, vector, whole
from interplay.maths.rotations import all_turned, continuous, products, turns_between
from interplay.maths.steps import smooth_steps
from interplay.scene.scene import Scene

_MOST_FRAMES = 10_000_000


class Touch(NamedTuple):
    """Two surfaces that touch: ``ann/left_sole`` and ``ground``, ``ann/right_palm`` and ``bob/right_palm``; from when to when [s].

    A foot that rolls touches with its ``left_heel``, its whole ``left_sole`` and its ``left_toes`` in turn.
    """

    first: str
    second: str
    begin: float
    end: float


class Motion(NamedTuple):
    """How one character moves: its joints by name, their values (T, n) [rad, m], its root (T, 7): position, quaternion (wxyz).

    ``mirror`` (n,) is the sign that a joint's value gets in the mirror; ``upright`` the root's orientation when the body stands
    upright and faces +x (not every body's root frame is so).
    """

    joints: tuple[str, ...]
    angles: np.ndarray
    root: np.ndarray
    mirror: np.ndarray
    upright: np.ndarray


def motion(joints: Iterable[str], angles: Any, root: Any, mirror: Any = None, upright: Any = (1, 0, 0, 0)) -> Motion:
    """Return a checked motion; without ``mirror``, joints that turn or lean to a side (``_yaw``, ``_side``) change their sign."""
    names = tuple(joints)
    angles, root = _array("angles", angles, (None, len(names))), _array("root", root, (None, 7))
    if len(angles) != len(root) or len(set(names)) != len(names):
        raise InputError(f"motion: expected one root for each of {len(angles)} frames, and joints of different names")
    size = np.linalg.norm(root[:, 3:], axis=1, keepdims=True)
    if (size < 1e-9).any():
        raise InputError("root: expected quaternions (w, x, y, z), got one of zero length")
    root = np.concatenate([root[:, :3], continuous(root[:, 3:] / size)], axis=1)
    if mirror is None:
        leaning = [n.endswith(("_yaw", "_side", "_roll")) and n == other_side(n) for n in names]
        mirror = np.where(leaning, -1.0, 1.0)
    return Motion(names, angles, root, np.asarray(mirror, float).reshape(len(names)), vector("upright", upright, 4))


@dataclass(frozen=True)
class Clip:
    """A clip. Make one with :meth:`from_arrays`, from a recording, or from a file with ``interplay import``."""

    time: np.ndarray
    motions: dict[str, Motion]
    touches: tuple[Touch, ...] = ()
    title: str = "clip"
    source: str = ""
    """Where it is from, and what was done to it."""

    @classmethod
    def from_arrays(
        cls,
        time: Any,
        motions: Mapping[str, Motion],
        touches: Iterable[Touch] = (),
        title: str = "clip",
        source: str = "",
    ) -> Clip:
        """Return a clip of checked arrays: ascending times (T,) [s], and motions of T frames each."""
        time = _array("time", time, (None,))
        if len(time) < 2 or len(time) > _MOST_FRAMES or (np.diff(time) <= 0).any():
            raise InputError("time: expected at least two times, ascending")
        if not motions:
            raise InputError("a clip has at least one character")
        for name, moved in motions.items():
            if not isinstance(name, str) or not name or "/" in name or len(moved.angles) != len(time):
                raise InputError(f"motion of {name!r}: expected a name, and as many frames as times ({len(time)})")
        return cls(time, dict(motions), (), title, source).with_touches(touches)

    def save(self, path: str | Path) -> Path:
        """Write the clip as a ``.clip`` file, and return its path."""
        from interplay.motion.clip_file import save_clip

        return save_clip(self, path)

    @staticmethod
    def load(path: str | Path) -> Clip:
        """Read a ``.clip`` file, the one in a folder that ``interplay import`` wrote, or one that comes with Interplay (``wave``)."""
        from interplay.motion.clip_file import load_clip

        return load_clip(path)

    @property
    def duration(self) -> float:
        """From the first frame to the last [s]."""
        return float(self.time[-1] - self.time[0])

    @property
    def fps(self) -> float:
        """Frames per second, usually."""
        return float(1.0 / np.median(np.diff(self.time)))

    def with_touches(self, touches: Iterable[Touch]) -> Clip:
        """Return the clip with other contacts."""
        kept = []
        for touch in touches:
            first, second, begin, end = touch
            owner = first.split("/")[0]
            if owner not in self.motions:
                raise unknown_name("character of a contact", owner, self.motions)
            if not begin < end:
                raise InputError(
                    f"contact {first} – {second}: expected a begin before its end, got {begin:g} to {end:g}"
                )
            kept.append(Touch(first, second, number("begin", begin), number("end", end)))
        return replace(self, touches=tuple(sorted(kept, key=lambda t: (t.begin, t.first, t.second))))

    def touching(self, first: str, second: str | None = None) -> np.ndarray:
        """Return in which frames (T,) a surface touches another one, or anything."""
        out = np.zeros(len(self.time), bool)
        for touch in self.touches:
            names = {touch.first, touch.second}
            if first in names and (second is None or second in names):
                out |= (self.time >= touch.begin - 1e-9) & (self.time <= touch.end + 1e-9)
        return out

    def cut(self, begin: float, end: float) -> Clip:
        """Return the frames from a time to another [s], counted from zero."""
        begin, end = number("begin", begin), number("end", end)
        kept = (self.time >= begin - 1e-9) & (self.time <= end + 1e-9)
        if kept.sum() < 2:
            raise InputError(
                f"cut: expected at least two frames between {begin:g} s and {end:g} s; the clip is from "
                f"{self.time[0]:g} s to {self.time[-1]:g} s"
            )
        start, stop = float(self.time[kept][0]), float(self.time[kept][-1])
        touches = [
            t._replace(begin=max(t.begin, start) - start, end=min(t.end, stop) - start)
            for t in self.touches
            if min(t.end, stop) > max(t.begin, start)
        ]
        motions = {k: m._replace(angles=m.angles[kept], root=m.root[kept]) for k, m in self.motions.items()}
        return Clip(self.time[kept] - start, motions, tuple(touches), self.title, self.source)

    def mirrored(self) -> Clip:
        """Return the clip in a mirror: left is right, in the plane y = 0."""
        touches = tuple(t._replace(first=other_side(t.first), second=other_side(t.second)) for t in self.touches)
        return replace(self, motions={k: _mirrored(m) for k, m in self.motions.items()}, touches=touches)

    def resampled(self, fps: float) -> Clip:
        """Return the clip with so many frames per second: smooth through its frames, rotations as rotations."""
        fps = number("fps", fps, 0.1, 10_000, "1/s")
        count = round(self.duration * fps)
        return self._at(self.time[0] + np.arange(max(count, 1) + 1) / fps)

    def _at(self, time: np.ndarray) -> Clip:
        """Return the clip at other times, which may reach a little beyond its ends."""
        inside = np.clip(time, self.time[0], self.time[-1])
        motions = {}
        for name, m in self.motions.items():
            both = CubicSpline(self.time, np.concatenate([m.angles, m.root], axis=1))(inside)
            root = both[:, len(m.joints) :]
            root[:, 3:] /= np.linalg.norm(root[:, 3:], axis=1, keepdims=True)
            motions[name] = m._replace(angles=both[:, : len(m.joints)], root=root)
        return replace(self, time=time, motions=motions)

    def blended(self, other: Clip, share: float) -> Clip:
        """Return a mix of two clips, 0 this one, 1 the other: both run from begin to end, in a time between theirs.

        Contacts are those of the clip with the larger share.
        """
        share = number("share", share, 0.0, 1.0)
        self._check_alike(other)
        duration = (1 - share) * self.duration + share * other.duration
        progress = (self.time - self.time[0]) / self.duration
        twin = other._at(other.time[0] + progress * other.duration)
        motions = {}
        for name, m in self.motions.items():
            theirs = twin.motions[name]
            angles = (1 - share) * m.angles + share * theirs.angles
            turn = turns_between(m.root[:, 3:], theirs.root[:, 3:])
            place = (1 - share) * m.root[:, :3] + share * theirs.root[:, :3]
            motions[name] = m._replace(angles=angles, root=np.hstack([place, all_turned(share * turn, m.root[:, 3:])]))
        nearer = self if share < 0.5 else other
        factor = duration / nearer.duration
        touches = tuple(
            t._replace(begin=(t.begin - nearer.time[0]) * factor, end=(t.end - nearer.time[0]) * factor)
            for t in nearer.touches
        )
        return Clip(progress * duration, motions, touches, f"{self.title} and {other.title}", self.source)

    def joined(self, other: Clip, blend: float = 0.2) -> Clip:
        """Return this clip and then the other, moved and turned on the ground to go on where this ends.

        What still differs fades within ``blend`` seconds.
        """
        self._check_alike(other)
        blend = number("blend", blend, 0.0, 1e3, "s")
        turn, shift = _ground_move(other._roots(0), self._roots(-1))
        age = other.time - other.time[0]
        fading = 1.0 - smooth_steps(age, 0.0, max(blend, 1e-9))[:, None]
        motions = {}
        for name, m in self.motions.items():
            theirs = other.motions[name]
            root = _moved(theirs.root, turn, shift)
            angles = theirs.angles + fading * (m.angles[-1] - theirs.angles[0])
            off = turns_between(root[:1, 3:], m.root[-1:, 3:])
            place = root[:, :3] + fading * (m.root[-1, :3] - root[0, :3])
            quats = all_turned(fading * off, root[:, 3:])
            added = np.hstack([place, quats])[1:]
            whole_root = np.concatenate([m.root, added])
            whole_root[:, 3:] = continuous(whole_root[:, 3:])
            motions[name] = m._replace(angles=np.concatenate([m.angles, angles[1:]]), root=whole_root)
        end = float(self.time[-1])
        later = [
            t._replace(begin=t.begin - other.time[0] + end, end=t.end - other.time[0] + end) for t in other.touches
        ]
        touches = _united([*self.touches, *later], self._step())
        return Clip(np.concatenate([self.time, end + age[1:]]), motions, tuple(touches), self.title, self.source)

    def looped(self, times: int, blend: float = 0.2) -> Clip:
        """Return the clip so many times, one after another; who walks, walks on."""
        out = self
        for _ in range(whole("times", times, 1, 10_000) - 1):
            out = out.joined(self, blend)
        return out

    def configurations(self, scene: Scene) -> np.ndarray:
        """Return the configurations (T, nq) of a scene in which the characters of the clip stand under their names."""
        m = scene.model
        out = np.repeat(scene.qpos[None], len(self.time), axis=0)
        for name, moved in self.motions.items():
            free = int(m.body_jntadr[scene.body(name)])
            if free < 0 or m.jnt_type[free] != mujoco.mjtJoint.mjJNT_FREE:
                raise InputError(f"{name!r} is not floating: expected a character")
            start = int(m.jnt_qposadr[free])
            out[:, start : start + 7] = moved.root
            for k, joint in enumerate(moved.joints):
                out[:, m.jnt_qposadr[scene.joint(f"{name}/{joint}")]] = moved.angles[:, k]
        return out

    def _step(self) -> float:
        return float(np.median(np.diff(self.time)))

    def _roots(self, frame: int) -> np.ndarray:
        return np.array([m.root[frame] for m in self.motions.values()])

    def _check_alike(self, other: Clip) -> None:
        for name, m in self.motions.items():
            theirs = other.motions.get(name)
            if theirs is None or theirs.joints != m.joints or len(self.motions) != len(other.motions):
                raise InputError(
                    f"clips {self.title!r} and {other.title!r}: expected the same characters with the same joints; {name!r} differs"
                )


def _mirrored(m: Motion) -> Motion:
    index = {name: k for k, name in enumerate(m.joints)}
    order = [index.get(other_side(name), k) for k, name in enumerate(m.joints)]
    # The sign is that of the value which arrives: twins have the same one.
    angles = (m.angles * m.mirror)[:, order]
    flip = np.array([1.0, -1.0, 1.0, -1.0])
    upright = np.repeat(m.upright[None], len(m.root), axis=0)
    back = upright * [1, -1, -1, -1]
    quats = products(products(m.root[:, 3:], back) * flip, upright)
    return m._replace(angles=angles, root=np.hstack([m.root[:, :3] * [1, -1, 1], quats]))


def other_side(name: str) -> str:
    """Return the name of the twin on the other side: ``ann/left_sole``, ``ann/right_sole``."""
    swapped = {"left": "right", "right": "left"}
    owner, slash, own = name.rpartition("/")
    return owner + slash + "_".join(swapped.get(word, word) for word in own.split("_"))


def _united(touches: list[Touch], step: float) -> list[Touch]:
    """Return contacts in order, those that follow each other within a frame as one."""
    out: dict[tuple[str, str], list[Touch]] = {}
    for touch in sorted(touches, key=lambda t: t.begin):
        same = out.setdefault(touch[:2], [])
        if same and touch.begin <= same[-1].end + 1.5 * step:
            same[-1] = same[-1]._replace(end=max(same[-1].end, touch.end))
        else:
            same.append(touch)
    return sorted((t for same in out.values() for t in same), key=lambda t: (t.begin, t.first, t.second))


def _array(what: str, given: Any, shape: tuple[int | None, ...]) -> np.ndarray:
    try:
        out = np.array(given, float)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{what}: expected numbers, got {given!r}") from None
    if out.ndim != len(shape) or any(want not in (None, got) for want, got in zip(shape, out.shape, strict=True)):
        expected = ", ".join("T" if n is None else str(n) for n in shape)
        raise InputError(f"{what}: expected the shape ({expected}), got {out.shape}")
    if not np.isfinite(out).all():
        raise InputError(f"{what}: expected finite numbers")
    return out


def _ground_move(roots: np.ndarray, onto: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the turn about z [rad] and the shift (3,) that bring roots (n, 7) onto others as well as can be."""
    off = turns_between(roots[:, 3:], onto[:, 3:])
    turn = float(np.arctan2(np.sin(off[:, 2]).mean(), np.cos(off[:, 2]).mean()))
    c, s = np.cos(turn), np.sin(turn)
    middle, target = roots[:, :2].mean(0), onto[:, :2].mean(0)
    return turn, np.array([*(target - np.array([[c, -s], [s, c]]) @ middle), 0.0])


def _moved(root: np.ndarray, turn: float, shift: np.ndarray) -> np.ndarray:
    c, s = np.cos(turn), np.sin(turn)
    place = root[:, :3] @ np.array([[c, -s, 0], [s, c, 0], [0, 0, 1.0]]).T + shift
    return np.hstack([place, all_turned(np.repeat([[0.0, 0.0, turn]], len(root), axis=0), root[:, 3:])])
