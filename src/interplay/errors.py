"""Errors with one root class: every message says what, what was given, what was expected, and the nearest valid name."""

from __future__ import annotations

import difflib
import errno
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pydantic

FAILED, BAD_INPUT, STOPPED = 1, 2, 130
"""Exit codes; the last is that of a command that the user interrupts."""


class InterplayError(Exception):
    """Root of every error that Interplay raises on purpose."""


class InputError(InterplayError, ValueError):
    """A value given by the user (parameter, option, file) cannot be used."""


class UnknownNameError(InputError, KeyError):
    """A name that does not exist in the scene, the registry or a file."""

    def __str__(self) -> str:
        """Return the plain message (KeyError would quote it)."""
        return str(self.args[0])


class SceneError(InterplayError):
    """A scene cannot be composed, compiled or posed as asked."""


class ContactError(InterplayError):
    """A contact cannot be made: surfaces are apart, do not overlap, face the wrong way or move too fast."""


class FallError(InterplayError):
    """A character can no longer be kept up; the message says who, when, where and what gave way."""


class StepError(InterplayError):
    """A step cannot be made; ``dump`` is the file with which it can be replayed."""

    def __init__(self, message: str, dump: str | None = None):
        """Keep the path of the dumped step beside the message."""
        super().__init__(message + (f"; the step was written to {dump}" if dump else ""))
        self.dump = dump


class StateError(StepError):
    """A state is not finite or does not fit the scene."""


class SolverError(StepError):
    """No solver found a usable solution, not even with every relaxable row relaxed."""


_FAILING = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
"""A disk that is full or breaks: nobody's input is wrong."""


def cannot_write(path: str | Path, error: OSError, kept: str = "") -> InterplayError:
    """Return an error for a file or folder that cannot be written: the user's, unless the disk fails; and what was kept of it."""
    kind = InterplayError if error.errno in _FAILING else InputError
    return kind(f"cannot write {str(path)!r}: {error.strerror or error}" + (f"; {kept}" if kept else ""))


def unknown_name(what: str, got: object, valid: Iterable[str]) -> UnknownNameError:
    """Return an error for a name that is not among the valid ones, with the nearest of them.

    Of ``box/back``, where there is a ``box``, only names of the box can be meant.
    """
    options = sorted(str(v) for v in valid)
    owner, slash, _ = str(got).partition("/")
    own = [option for option in options if slash and option.startswith(f"{owner}/")]
    options = own or options
    near = difflib.get_close_matches(str(got), options, n=1, cutoff=0.6 if own else 0.4)
    hint = f"; did you mean {near[0]!r}?" if near else "."
    shown = ", ".join(options[:12]) + (f", … ({len(options)} in all)" if len(options) > 12 else "")
    return UnknownNameError(f"unknown {what} {got!r}{hint} Available: {shown or 'none'}.")


def pick(what: str, name: Any, options: dict[str, Any]) -> Any:
    """Return ``options[name]``, or raise an error that names the nearest option."""
    if not isinstance(name, str) or name not in options:
        raise unknown_name(what, name, options)
    return options[name]


def number(what: str, value: Any, low: float = -math.inf, high: float = math.inf, unit: str = "") -> float:
    """Return ``value`` as a finite float inside [low, high], or raise an error that names the quantity."""
    unit = f" {unit}" if unit else ""
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise InputError(f"{what}: expected a number{unit}, got {value!r}")
    try:
        value = float(value)
    except OverflowError:  # a whole number beyond all floats
        value = math.inf
    if not math.isfinite(value):
        raise InputError(f"{what}: expected a finite number{unit}, got {value!r}")
    if not low <= value <= high:
        raise InputError(f"{what}: expected a value in [{low:g}, {high:g}]{unit}, got {value:g}")
    return value


def whole(what: str, value: Any, low: int, high: int | None = None) -> int:
    """Return ``value`` as a whole number from ``low`` on (to ``high``), or raise an error that names the quantity."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < low or (high or value) < value:
        bounds = f"≥ {low}" if high is None else f"in [{low}, {high}]"
        raise InputError(f"{what}: expected a whole number {bounds}, got {value!r}")
    return int(value)


def flag(what: str, value: Any) -> bool:
    """Return ``value`` as true or false, or raise an error that names the quantity."""
    if not isinstance(value, (bool, np.bool_)):
        raise InputError(f"{what}: expected True or False, got {value!r}")
    return bool(value)


def settings(what: str, items: Iterable[str]) -> dict[str, str]:
    """Return texts of the form KEY=VALUE as a dictionary."""
    out = {}
    for item in items:
        key, equals, value = item.partition("=")
        if not equals or not key.strip() or not value.strip():
            raise InputError(f"{what}: expected KEY=VALUE, got {item!r}")
        out[key.strip()] = value.strip()
    return out


def vector(what: str, value: Any, size: int | tuple[int, ...]) -> np.ndarray:
    """Return ``value`` as a finite float array of the given size(s), or raise an error that names the quantity."""
    sizes = (size,) if isinstance(size, int) else size
    expected = " or ".join(str(s) for s in sizes)
    try:
        array = np.array(value, dtype=float).reshape(-1)
    except (TypeError, ValueError, OverflowError):  # whole numbers may be beyond all floats
        raise InputError(f"{what}: expected {expected} numbers, got {value!r}") from None
    if array.size not in sizes:
        raise InputError(f"{what}: expected {expected} numbers, got {array.size} ({value!r})")
    if not np.isfinite(array).all():
        raise InputError(f"{what}: expected finite numbers, got {value!r}")
    return array


def quaternion(what: str, value: Any) -> np.ndarray:
    """Return ``value`` as a unit quaternion (w, x, y, z), or raise an error that names the quantity."""
    q = vector(what, value, 4)
    norm = float(np.linalg.norm(q))
    if norm < 1e-9:
        raise InputError(f"{what}: expected a quaternion (w, x, y, z), got one of zero length")
    return q / norm


Checked = TypeVar("Checked", bound=pydantic.BaseModel)


def checked(kind: type[Checked], what: str, given: Mapping[str, Any]) -> Checked:
    """Return values as a pydantic model, or raise an error that names what is wrong with them, or the nearest known name."""
    for key in given:
        if key not in kind.model_fields:
            raise unknown_name(what, key, kind.model_fields)
    try:
        return kind(**given)
    except pydantic.ValidationError as error:
        problems = "; ".join(
            f"{'.'.join(map(str, e['loc']))}: {e['msg']}, got {short(e['input'])}" for e in error.errors()
        )
        raise InputError(f"{what}: {problems}") from None


def short(value: Any) -> str:
    """Return a value as it is written, or its beginning."""
    text = repr(value)
    return text if len(text) < 60 else text[:57] + "…"
