"""Which joint of a skeleton is which part of a body: guesses for the names in use, and a table that a user can edit."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import yaml

from interplay.errors import InputError, unknown_name
from interplay.io.clips.bvh import Skeleton

_MIDDLE = ("pelvis", "abdomen", "chest", "neck", "head")
_SIDED = ("clavicle", "upper_arm", "forearm", "hand", "fingers", "thigh", "shank", "foot", "toes")
PARTS = (*_MIDDLE, *(f"{side}_{part}" for side in ("left", "right") for part in _SIDED))
"""Parts of a body that a joint can move; fingers and toes only say where hand and foot point."""

NEEDED = ("pelvis", "chest", *(f"{s}_{p}" for s in ("left", "right") for p in ("upper_arm", "thigh", "shank", "foot")))
"""Parts without which nobody can be made to move."""

_LARGEST_TABLE = 100_000

# Words for a part, most telling first; letters only, without the side. CMU and Mixamo (LeftUpLeg, LeftArm), Unreal
# (thigh_l, lowerarm_l, ball_l), VRM (leftUpperLeg, leftLowerArm), and what else is common.
_WORDS: dict[str, tuple[str, ...]] = {
    "pelvis": ("pelvis", "hips", "hip", "root", "bip", "bippelvis", "jbipchips"),
    "chest": ("chest", "upperchest", "thorax", "torso", "sternum"),
    "neck": ("neck", "cneck", "necklower", "cervical"),
    "head": ("head", "chead", "skull"),
    "clavicle": ("clavicle", "shoulder", "collar", "shoulderblade", "scapula"),
    "upper_arm": ("upperarm", "arm", "uparm", "shoulderjoint", "humerus", "armupper"),
    "forearm": ("forearm", "lowerarm", "loarm", "elbow", "radius", "armlower"),
    "hand": ("hand", "wrist"),
    "fingers": (
        "handmiddle",
        "middleproximal",
        "middle",
        "handindex",
        "indexproximal",
        "index",
        "fingers",
        "fingerbase",
    ),
    "thigh": ("thigh", "upleg", "upperleg", "hip", "hipjoint", "femur", "legupper"),
    "shank": ("shank", "leg", "lowerleg", "calf", "knee", "shin", "tibia", "leglower", "loleg"),
    "foot": ("foot", "ankle"),
    "toes": ("toebase", "toe", "toes", "ball"),
}
_PREFIX = re.compile(r"^(.*[:/|])?(mixamorig\d*|bip\d*|j_bip|cc_base|def|valvebiped)?[_\-. ]*", re.IGNORECASE)


def guess_parts(skeleton: Skeleton) -> dict[str, str]:
    """Return a joint for each part that is found: by its name, and the spine by how it is joined."""
    keys = [_key(name) for name in skeleton.names]
    out: dict[str, str] = {}
    for part in PARTS:
        side, _, plain = part.partition("_") if part.startswith(("left_", "right_")) else ("", "", part)
        for word in _WORDS.get(plain, ()):
            found = [k for k, key in enumerate(keys) if key == (side, word) and skeleton.channels[k]]
            if found and part not in out:
                out[part] = skeleton.names[found[0]]
    _guess_spine(skeleton, out)
    return out


def _key(name: str) -> tuple[str, str]:
    """Return the side and the letters of a joint's name: ``mixamorig:LeftUpLeg``, ``thigh_l``, ``J_Bip_L_UpperLeg``."""
    plain = _PREFIX.sub("", name, count=1)
    words = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", plain)
    side = ""
    for mark, meant in (("left", "left"), ("right", "right"), ("l", "left"), ("r", "right")):
        hits = [k for k, word in enumerate(words) if word.lower() == mark]
        if hits and not side:
            side = meant
            del words[hits[0]]
    letters = "".join(words).lower()
    for mark in ("left", "right"):  # written as one word: leftarm
        if not side and letters.startswith(mark):
            side, letters = mark, letters[len(mark) :]
    if not side and letters[:1] in ("l", "r") and letters[1:] in _LEG_AND_ARM_WORDS:
        side, letters = {"l": "left", "r": "right"}[letters[0]], letters[1:]
    return side, letters


_LEG_AND_ARM_WORDS = {word for part in _SIDED for word in _WORDS[part]}


def _guess_spine(skeleton: Skeleton, parts: dict[str, str]) -> None:
    """Find pelvis, abdomen and chest: the chest is where both arms begin, the pelvis where both legs do."""
    index = {name: k for k, name in enumerate(skeleton.names)}

    def common(part: str) -> int | None:
        ends = [parts.get(f"{side}_{part}") for side in ("left", "right")]
        if None in ends:
            return None
        left, right = (_upward(skeleton, index[end]) for end in ends if end is not None)
        return next((joint for joint in left[1:] if joint in right), None)

    hips, shoulders = common("thigh"), common("upper_arm")
    if hips is not None and (parts.get("pelvis") is None or index[parts["pelvis"]] not in _upward(skeleton, hips)):
        parts["pelvis"] = skeleton.names[hips]
    if shoulders is None or "pelvis" not in parts:
        return
    above = [j for j in _upward(skeleton, shoulders) if j not in _upward(skeleton, index[parts["pelvis"]])][::-1]
    if not above:
        return
    if "chest" not in parts or index[parts["chest"]] not in above:
        parts["chest"] = skeleton.names[above[-1]]
    below = [j for j in above if j != index[parts["chest"]] and j < index[parts["chest"]]]
    moving = [j for j in below if skeleton.channels[j]]
    if moving:
        parts["abdomen"] = skeleton.names[moving[(len(moving) - 1) // 2 if len(moving) > 2 else -1]]


def _upward(skeleton: Skeleton, joint: int) -> list[int]:
    """Return a joint and all above it."""
    out = [joint]
    while skeleton.parents[out[-1]] >= 0:
        out.append(int(skeleton.parents[out[-1]]))
    return out


def check_parts(skeleton: Skeleton, parts: Mapping[str, str], file: str) -> dict[str, int]:
    """Return the joint of each part, or say which part has none."""
    out = {}
    for part, joint in parts.items():
        if part not in PARTS:
            raise unknown_name("part of the body", part, PARTS)
        if joint not in skeleton.names:
            raise unknown_name(f"joint of {file} (for {part})", joint, skeleton.names)
        out[part] = skeleton.names.index(joint)
    missing = [part for part in NEEDED if part not in out]
    if missing:
        raise InputError(
            f"{file}: no joint was found for {', '.join(missing)}; name them in a table (--map FILE; --write-map FILE "
            f"writes the one in use). It has {', '.join(skeleton.names[:40])}"
        )
    return out


def read_table(path: str | Path) -> dict[str, str | None]:
    """Read a table of parts and joints; a part without a joint is left out."""
    path = Path(path)
    try:
        text = path.read_text("utf-8")
        if len(text) > _LARGEST_TABLE:
            raise InputError(f"{path.name}: expected a table of parts, got {len(text)} characters")
        found = yaml.safe_load(text)
    except OSError as error:
        raise InputError(f"cannot read {str(path)!r}: {error.strerror or error}") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise InputError(f"{path.name}: {' '.join(str(error).split())}") from None
    if not isinstance(found, dict) or not all(
        isinstance(k, str) and (v is None or isinstance(v, str)) for k, v in found.items()
    ):
        raise InputError(f"{path.name}: expected lines such as 'left_thigh: LeftUpLeg'")
    return found


def write_table(path: str | Path, skeleton: Skeleton, parts: Mapping[str, str]) -> None:
    """Write the table in use, with all other joints as a comment, to be edited."""
    lines = ["# part of the body: joint of the file; leave a joint empty to do without it"]
    lines += [f"{part}: {yaml.safe_dump(parts[part])[:-5].strip() if part in parts else ''}".rstrip() for part in PARTS]
    unused = [name for name in skeleton.names if name not in parts.values()]
    lines += ["", f"# joints without a part: {', '.join(unused)}"]
    Path(path).write_text("\n".join(lines) + "\n", "utf-8")


def children_of(skeleton: Skeleton, joint: int) -> np.ndarray:
    """Return the joints below a joint."""
    return np.flatnonzero(skeleton.parents == joint)
