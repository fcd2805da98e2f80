"""Bodies as text: what a command says of a character, so that it can travel, and the model is built where it is needed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from interplay.errors import InputError, number, settings, unknown_name
from interplay.models.base import Model
from interplay.models.humanoid import Humanoid
from interplay.models.loader import BodyFile

ADULT: Mapping[str, Any] = {"height": 1.74, "mass": 68.0, "sex": "female"}
"""Who it is unless something else is said."""
CHILD: Mapping[str, Any] = {"head_scale": 1.3, "leg_scale": 0.9}
"""What else a human below ``GROWN`` is, as in ``Humanoid.child``."""
GROWN = 1.3
NUMBERS, WORDS = ("height", "mass", "head_scale", "leg_scale", "strength"), ("sex", "joints")
"""Options of a human that are numbers, and those that are none."""


class Body(NamedTuple):
    """A character: the path of a sidecar, or options of a human; nothing said: an adult."""

    character: str | None = None
    options: tuple[tuple[str, Any], ...] = ()

    @classmethod
    def of(cls, character: str | Path | None = None, given: Sequence[str] = ()) -> Body:
        """Return the body that a command names: a file, or texts KEY=VALUE, as in ``height=1.15``."""
        options: list[tuple[str, Any]] = []
        for key, value in settings("--set", given).items():
            if key not in (*NUMBERS, *WORDS):
                raise unknown_name("option of a human", key, (*NUMBERS, *WORDS))
            options.append((key, _number(key, value) if key in NUMBERS else value))
        if character is not None and options:
            raise InputError(f"--character {character}: expected no --set beside it, which changes a human")
        body = cls(None if character is None else str(character), tuple(options))
        body.model()  # which refuses what cannot be
        return body

    def model(self) -> Model:
        """Return the model. A human of another height has the mass of a lean one, unless it is said, and is a child below 1.3 m."""
        if self.character is not None:
            return BodyFile(self.character)
        given = dict(self.options)
        own = {"sex": ADULT["sex"]} if "height" in given else ADULT
        young = CHILD if given.get("height", GROWN) < GROWN else {}
        return Humanoid(**{**own, **young, **given})

    @property
    def label(self) -> str:
        """What it is called in reports."""
        return self.character or ", ".join(f"{key} {value}" for key, value in self.options) or "adult"


def _number(key: str, value: str) -> float:
    try:
        return number(f"--set {key}", float(value))
    except ValueError:
        raise InputError(f"--set {key}: expected a number, got {value!r}") from None
