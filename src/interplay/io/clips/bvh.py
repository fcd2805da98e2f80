"""Reads BVH files: a skeleton, and channels frame by frame. Files come from anywhere, so nothing is believed before it is counted."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.spatial.transform import Rotation

from interplay.errors import InputError

LARGEST_FILE, MOST_JOINTS, DEEPEST, MOST_FRAMES, LARGEST_NUMBER = 400_000_000, 1000, 200, 1_000_000, 1e6
"""Largest file [bytes], most joints, deepest nesting, most frames, largest number: beyond them a file is damaged."""

_LONGEST_LINE = 100_000
_LONGEST_NAME = 200
_AXES = "XYZ"
_CHANNELS = tuple(f"{axis}{kind}" for kind in ("position", "rotation") for axis in _AXES)


class Skeleton(NamedTuple):
    """Joints of a file, parents before children; the end of a limb is a joint without channels."""

    names: tuple[str, ...]
    parents: np.ndarray
    offsets: np.ndarray
    channels: tuple[tuple[str, ...], ...]

    @property
    def width(self) -> int:
        """How many numbers a frame has."""
        return sum(map(len, self.channels))


class Take(NamedTuple):
    """What a file holds: its skeleton, the time between frames [s], and the channels (T, C) as they stand there."""

    skeleton: Skeleton
    frame_time: float
    values: np.ndarray


class Poses(NamedTuple):
    """Where joints are: positions (T, n, 3) and orientations (T, n, 3, 3), in the axes and units of the file."""

    positions: np.ndarray
    rotations: np.ndarray


class _Lines:
    """The lines of a file that are not empty, as words, with their numbers for messages."""

    def __init__(self, path: Path):
        self._name, self.number = path.name, 0
        try:
            size = path.stat().st_size
            if size > LARGEST_FILE:
                raise InputError(
                    f"{path.name}: {size / 1e6:.0f} MB, expected a BVH file of at most {LARGEST_FILE / 1e6:.0f} MB"
                )
            self._bytes = path.read_bytes()
        except OSError as error:
            raise InputError(f"cannot read {str(path)!r}: {error.strerror or error}") from None
        self._words = self._split()

    def _split(self) -> Iterator[list[str]]:
        text = self._bytes.decode("utf-8-sig", errors="replace")
        for number, line in enumerate(text.splitlines(), 1):
            self.number = number
            if len(line) > _LONGEST_LINE:
                raise self.error(f"a line of {len(line)} characters, expected at most {_LONGEST_LINE}")
            words = line.split()
            if words:
                yield words

    def next(self, expected: str) -> list[str]:
        """Return the words of the next line; a file that ends here was cut off."""
        words = next(self._words, None)
        if words is None:
            raise self.error(f"the file ends, expected {expected}")
        return words

    def rest(self) -> Iterator[list[str]]:
        """Yield the words of all lines to come."""
        return self._words

    def error(self, message: str) -> InputError:
        """Return an error that names file and line."""
        return InputError(f"{self._name}:{self.number}: {message}")

    def numbers(self, words: list[str], count: int, what: str) -> list[float]:
        """Return words as so many finite numbers."""
        if len(words) != count:
            raise self.error(f"{what}: expected {count} numbers, got {len(words)}")
        try:
            values = list(map(float, words))
            if "_" in "".join(words):
                raise ValueError
        except ValueError:
            bad = next(word for word in words if not _is_number(word))
            raise self.error(f"{what}: expected numbers, got {bad[:40]!r}") from None
        if not all(-LARGEST_NUMBER <= value <= LARGEST_NUMBER for value in values):
            bad = next(w for w, v in zip(words, values, strict=True) if not abs(v) <= LARGEST_NUMBER)
            raise self.error(f"{what}: expected finite numbers up to {LARGEST_NUMBER:g}, got {bad[:40]!r}")
        return values

    def whole(self, word: str, what: str, low: int, high: int) -> int:
        """Return a word as a whole number within bounds."""
        if not word.isascii() or not word.isdigit() or len(word) > 12 or not low <= int(word) <= high:
            raise self.error(f"{what}: expected a whole number in [{low}, {high}], got {word[:40]!r}")
        return int(word)


def _is_number(word: str) -> bool:
    try:
        return math.isfinite(float(word)) and "_" not in word
    except ValueError:
        return False


def read_bvh(path: str | Path) -> Take:
    """Read a BVH file; what is wrong with it is said with its line."""
    lines = _Lines(Path(path))
    if lines.next("HIERARCHY") != ["HIERARCHY"]:
        raise lines.error("expected HIERARCHY: this is no BVH file")
    skeleton = _read_hierarchy(lines)
    return Take(skeleton, *_read_motion(lines, skeleton))


def _read_hierarchy(lines: _Lines) -> Skeleton:
    """Read the joints, with a list of open braces instead of recursion: nesting may be as deep as a file likes."""
    names, parents, offsets, channels = [], [], [], []
    open_joints: list[int] = []
    while True:
        words = lines.next("ROOT" if not names else "JOINT, End Site, OFFSET, CHANNELS or a closing brace")
        key = words[0].upper()
        if not names and key != "ROOT":
            raise lines.error(f"expected ROOT, got {words[0][:40]!r}")
        if key in ("ROOT", "JOINT", "END"):
            if (key == "ROOT") != (not names) or (key == "END" and [w.upper() for w in words] != ["END", "SITE"]):
                raise lines.error(f"expected one ROOT, then JOINT or End Site, got {' '.join(words)[:60]!r}")
            parent = open_joints[-1] if open_joints else -1
            if parent >= 0 and offsets[parent] is None:
                raise lines.error(f"joint {names[parent]!r} has no OFFSET before its children")
            if parent >= 0 and channels[parent] is None:
                raise lines.error(f"joint {names[parent]!r} has no CHANNELS, or is an End Site with a child")
            name = " ".join(words[1:]) if key != "END" else f"{names[parent]} end"
            _take_name(lines, name, names, key == "END")
            if len(open_joints) >= DEEPEST or len(names) >= MOST_JOINTS:
                raise lines.error(f"expected at most {MOST_JOINTS} joints, nested at most {DEEPEST} deep")
            open_joints.append(len(names))
            names.append(_unused(name, names))
            parents.append(parent)
            offsets.append(None)
            channels.append(() if key == "END" else None)
            if lines.next("{") != ["{"]:
                raise lines.error(f"expected a line with an opening brace after {name!r}")
        elif key == "OFFSET":
            if offsets[open_joints[-1]] is not None:
                raise lines.error(f"a second OFFSET of {names[open_joints[-1]]!r}")
            offsets[open_joints[-1]] = lines.numbers(words[1:], 3, "OFFSET")
        elif key == "CHANNELS":
            if channels[open_joints[-1]] is not None:
                raise lines.error(f"a second CHANNELS of {names[open_joints[-1]]!r}, or one of an End Site")
            channels[open_joints[-1]] = _read_channels(lines, words)
        elif words == ["}"]:
            done = open_joints.pop()
            if offsets[done] is None or channels[done] is None:
                raise lines.error(f"joint {names[done]!r} lacks OFFSET or CHANNELS")
            if not open_joints:
                return Skeleton(tuple(names), np.array(parents), np.array(offsets, float), tuple(channels))
        else:
            raise lines.error(f"expected JOINT, End Site, OFFSET, CHANNELS or a brace, got {words[0][:40]!r}")


def _take_name(lines: _Lines, name: str, names: list[str], is_end: bool) -> None:
    if not name or len(name) > _LONGEST_NAME or not name.isprintable():
        raise lines.error(f"expected the name of a joint, got {name[:40]!r}")
    if name in names and not is_end:
        raise lines.error(f"a second joint is called {name!r}")


def _unused(name: str, names: list[str]) -> str:
    """Return a name that no joint has: a joint may have several ends."""
    count, free = 1, name
    while free in names:
        count, free = count + 1, f"{name} {count + 1}"
    return free


def _read_channels(lines: _Lines, words: list[str]) -> tuple[str, ...]:
    """Return the channels of a joint: some positions (none or all three), some rotations, each at most once."""
    count = lines.whole(words[1] if len(words) > 1 else "", "CHANNELS", 0, 6)
    given = {name.lower(): name for name in _CHANNELS}
    found = tuple(given.get(word.lower(), "") for word in words[2:])
    if len(found) != count or not all(found) or len(set(found)) != count:
        raise lines.error(f"CHANNELS: expected {count} different ones of {', '.join(_CHANNELS)}")
    if sum(name.endswith("position") for name in found) not in (0, 3):
        raise lines.error("CHANNELS: expected all three positions or none")
    return found


def _read_motion(lines: _Lines, skeleton: Skeleton) -> tuple[float, np.ndarray]:
    if lines.next("MOTION") != ["MOTION"]:
        raise lines.error("expected MOTION after the skeleton")
    words = lines.next("Frames: N")
    if words[0].lower() != "frames:" or len(words) != 2:
        raise lines.error(f"expected 'Frames: N', got {' '.join(words)[:60]!r}")
    count = lines.whole(words[1], "Frames", 1, MOST_FRAMES)
    words = lines.next("Frame Time: T")
    if [w.lower() for w in words[:2]] != ["frame", "time:"]:
        raise lines.error(f"expected 'Frame Time: T', got {' '.join(words)[:60]!r}")
    frame_time = lines.numbers(words[2:], 1, "Frame Time")[0]
    if not 1e-4 <= frame_time <= 10:
        raise lines.error(f"Frame Time: expected a time in [0.0001, 10] s, got {frame_time:g}")
    rows: list[np.ndarray] = []  # what the file has, not what it claims
    for words in lines.rest():
        if len(rows) == count:
            raise lines.error(f"expected {count} frames as it says, got more")
        rows.append(np.array(lines.numbers(words, skeleton.width, f"frame {len(rows) + 1}")))
    if len(rows) < count:
        raise lines.error(f"expected {count} frames as it says, got {len(rows)}")
    return frame_time, np.array(rows)


def poses(skeleton: Skeleton, values: np.ndarray) -> Poses:
    """Return where all joints are in some frames (T, C) of channels: forward kinematics, all frames at once.

    Positions of a joint stand for its offset.
    """
    T, n = len(values), len(skeleton.names)
    out = Poses(np.empty((T, n, 3)), np.empty((T, n, 3, 3)))
    column = 0
    for joint, names in enumerate(skeleton.channels):
        parent, place, turn = int(skeleton.parents[joint]), skeleton.offsets[joint], None
        own = values[:, column : column + len(names)]
        column += len(names)
        moved = [k for k, name in enumerate(names) if name.endswith("position")]
        turned = [k for k, name in enumerate(names) if name.endswith("rotation")]
        if moved:
            place = own[:, sorted(moved, key=lambda k: names[k])]
        if turned:
            order = "".join(names[k][0] for k in turned)
            turn = Rotation.from_euler(order, own[:, turned], degrees=True).as_matrix()
        if parent < 0:
            out.positions[:, joint] = place
            out.rotations[:, joint] = np.eye(3) if turn is None else turn
        else:
            above = out.rotations[:, parent]
            offset = above @ place if place.ndim == 1 else np.einsum("tij,tj->ti", above, place)
            out.positions[:, joint] = out.positions[:, parent] + offset
            out.rotations[:, joint] = above if turn is None else above @ turn
    return out


def rest_pose(skeleton: Skeleton) -> np.ndarray:
    """Return where joints are (n, 3) when no channel turns anything: offsets alone."""
    out = skeleton.offsets.copy()
    for joint, parent in enumerate(skeleton.parents):
        if parent >= 0:
            out[joint] += out[parent]
    return out
