"""Problems with their solutions as files: what a motion was composed of, knot by knot, so that it can be edited.

One zip of arrays (npz): numbers are kept to the bit; all else is JSON, in which a value of a named kind says which (``Reaches``, ``Phase``).
Only kinds that are listed here are made again: nothing in a file can name another.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from interplay.errors import InputError, cannot_write
from interplay.scene.saved import SavedScene
from interplay.spacetime import laws as _laws
from interplay.spacetime.body import Body, Point
from interplay.spacetime.ends import Knots
from interplay.spacetime.part import FLAT, HEEL, SWING, TOE, Course, Phase, Style, Tie
from interplay.spacetime.problem import Law, Problem, Role, Stage, When
from interplay.spacetime.solving import Solution

PROBLEM_FILE = "motion.problem"
"""Name of the file in a folder, beside scene.xml."""
_VERSION = 1
_LARGEST = 2_000_000_000
"""Largest file [bytes], unpacked: what it claims is checked before it is read."""
_LAWS = {
    name: kind
    for name, kind in vars(_laws).items()
    if isinstance(kind, type) and issubclass(kind, tuple) and kind.__module__ == _laws.__name__
}
_KINDS: dict[str, Any] = {kind.__name__: kind for kind in (Phase, Knots, Style, Tie, Point, When, Course)} | _LAWS


class Bound(NamedTuple):
    """A law of which only its name is known: it is not in files, and what it binds cannot be solved again."""

    name: str

    def __call__(self, stage: Stage) -> Any:
        """Refuse."""
        raise InputError(f"the law {self.name!r} is not kept in files: compose the motion anew instead")


class Saved(NamedTuple):
    """What a file holds: a problem and how it was solved, how often its cycle is repeated, pairs of bodies that touch on purpose."""

    name: str
    problem: Problem
    solutions: tuple[Solution, ...]
    cycles: int
    touching: tuple[tuple[str, str], ...]


def kept_whole(law: Law) -> bool:
    """Return whether a law is kept in files: one of those in laws.py, which are values."""
    return type(law) in _LAWS.values()


def save_problem(folder: str | Path, saved: Saved) -> Path:
    """Write a problem with its solution into the folder in which its scene is."""
    path, arrays = Path(folder) / PROBLEM_FILE, list[np.ndarray]()
    scene = next(iter(saved.problem.roles.values())).body.scene
    document = {
        "version": _VERSION,
        "name": saved.name,
        "cycles": saved.cycles,
        "touching": [list(pair) for pair in saved.touching],
        "qpos": _told(scene.qpos, arrays),
        "roles": {
            who: _told([role.phases, role.style, role.knots, list(role.pulled)], arrays)
            for who, role in saved.problem.roles.items()
        },
        "laws": [_told(law, arrays) for law in saved.problem.laws if kept_whole(law)],
        "bound": [_name(law) for law in saved.problem.laws if not kept_whole(law)],
        "solutions": [one._replace(x=None, multipliers=None)._asdict() for one in saved.solutions],
    }
    header = np.frombuffer(json.dumps(document).encode(), np.uint8)
    try:
        with path.open("wb") as file:
            np.savez_compressed(file, header=header, **{f"a{k}": one for k, one in enumerate(arrays)})  # pyright: ignore[reportArgumentType]
    except OSError as error:
        raise cannot_write(path, error) from None
    return path


def load_problem(folder: str | Path) -> Saved:
    """Read a problem with its solution from a folder; whatever is wrong with it is an error of ours."""
    folder = Path(folder)
    path = folder / PROBLEM_FILE
    if not path.is_file():
        raise InputError(
            f"{str(folder)!r} holds no composed motion ({PROBLEM_FILE}); expected a folder that interplay compose wrote"
        )
    try:
        with zipfile.ZipFile(path) as archive:
            claimed = sum(info.file_size for info in archive.infolist())
            if claimed > _LARGEST:
                raise InputError(f"{claimed / 1e9:.1f} GB unpacked, expected at most {_LARGEST / 1e9:.0f} GB")
        with np.load(path, allow_pickle=False) as found:
            arrays = {key: found[key] for key in found.files}
        document = json.loads(arrays.pop("header").tobytes())
        if document["version"] != _VERSION:
            raise InputError(f"version {document['version']!r} of composed motions, expected {_VERSION}")
        scene = SavedScene(folder / "scene.xml", _made(document["qpos"], arrays))
        roles = {str(who): _role(Body(scene, str(who)), _made(one, arrays)) for who, one in document["roles"].items()}
        laws: list[Law] = [_made(law, arrays) for law in document["laws"]]
        laws += [Bound(str(name)) for name in document["bound"]]
        if not roles:
            raise InputError("nobody is in it")
        return Saved(
            str(document["name"]),
            Problem(roles, laws),
            tuple(Solution(**{**one, "x": np.zeros(0), "worst": tuple(one["worst"])}) for one in document["solutions"]),
            int(document["cycles"]),
            tuple((str(a), str(b)) for a, b in document["touching"]),
        )
    except InputError as error:
        raise InputError(f"{path.name}: {error}") from None
    except OSError as error:
        raise InputError(f"cannot read {str(path)!r}: {error.strerror or error}") from None
    except Exception as error:  # a damaged archive raises whatever its decoders do
        raise InputError(
            f"{path.name}: expected a composed motion, got a file that is none or damaged ({error})"
        ) from None


def _name(law: Law) -> str:
    return law.name if isinstance(law, Bound) else getattr(law, "__qualname__", type(law).__name__).split(".")[0]


def _told(value: Any, arrays: list[np.ndarray]) -> Any:
    """Return a value as JSON; arrays go into a list, each once, and their number stands for them."""
    if isinstance(value, np.ndarray):
        known = next((k for k, one in enumerate(arrays) if one is value), len(arrays))
        arrays[known:] = arrays[known:] or [value]
        return {"array": known}
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, tuple) and type(value).__name__ in _KINDS:
        return {"kind": type(value).__name__, "of": [_told(one, arrays) for one in value]}
    if isinstance(value, tuple):
        return {"tuple": [_told(one, arrays) for one in value]}
    if isinstance(value, list):
        return [_told(one, arrays) for one in value]
    return value


def _made(value: Any, arrays: dict[str, np.ndarray]) -> Any:
    """Return a value of its JSON."""
    if isinstance(value, list):
        return [_made(one, arrays) for one in value]
    if not isinstance(value, dict):
        return value
    if "array" in value:
        found = arrays[f"a{int(value['array'])}"]
        if not np.isfinite(found).all():
            raise InputError("numbers that are not finite")
        return found
    if "tuple" in value:
        return tuple(_made(one, arrays) for one in value["tuple"])
    kind = _KINDS[value["kind"]]
    return kind(*(_made(one, arrays) for one in value["of"]))


def _shared(phases: Sequence[Phase]) -> tuple[Phase, ...]:
    """Return phases of which those in the same manner have the same object for it, by which parts tell manners apart."""
    known: dict[tuple[Any, ...], Style] = {}

    def same(manner: Style | None) -> Style | None:
        if manner is None:
            return None
        told = tuple(one.tobytes() if isinstance(one, np.ndarray) else one for one in manner)
        return known.setdefault(told, manner)

    return tuple(phase._replace(manner=same(phase.manner)) for phase in phases)


def _role(body: Body, told: list[Any]) -> Role:
    """Return a role; sizes that do not go together are an error."""
    phases, style, knots, pulled = told
    n, count = body.n, sum(phase.intervals for phase in phases)
    expected = {
        "q": (count + 1, n),
        "v": (count + 1, n),
        "rate": (len(phases),),
        "tau": (2 * count, n - 6),
        "force": (2 * count, 2, 4, 3),
        "pull": (2 * count, len(pulled), 3),
    }
    for name, shape in expected.items():
        if (got := np.shape(getattr(knots, name))) != shape:
            raise InputError(f"{name} of {body.name}: expected {shape}, got {got}")
    modes = {SWING, HEEL, FLAT, TOE}
    if not count or any(p.intervals < 1 or p.seconds <= 0 or not {p.left, p.right} <= modes for p in phases):
        raise InputError(f"phases of {body.name}: expected intervals, seconds, and how either foot stands")
    return Role(body, _shared(phases), style, knots.course(phases), knots, tuple(pulled))
