"""What a composition is: parameters, and an optimal motion that follows from them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import pydantic

from interplay.errors import InputError, checked
from interplay.models.base import Model
from interplay.spacetime.performing import Performance
from interplay.spacetime.solving import Progress


class Parameters(pydantic.BaseModel):
    """Parameters of a composition; each field has a default, bounds and a description with its unit."""

    model_config = pydantic.ConfigDict(extra="forbid", allow_inf_nan=False)


class Worn(Parameters):
    """What who moves has on."""

    shoes: bool = pydantic.Field(False, description="whether soles give as those of shoes do")


SIZES = {"height", "mass", "shoes"}
"""Parameters that describe who plays."""


class Composition:
    """Subclass in a file of ``interplay/compositions``: set ``name`` and ``summary``, fill ``compose``."""

    name: ClassVar[str] = ""
    summary: ClassVar[str] = ""

    class Parameters(Parameters):
        """No parameters of its own."""

    played: ClassVar[bool] = False
    """Whether any body may play it, in the stead of the one that parameters describe."""

    def __init__(self, parameters: Mapping[str, Any] | None = None, character: Model | None = None):
        """Take parameter values by name (strings are converted), and a body that plays instead of the usual one."""
        self.p = checked(type(self).Parameters, f"parameter of {self.name!r}", parameters or {})
        self.character = character
        if character is not None and not self.played:
            raise InputError(
                f"{self.name}: expected no character: who plays it is part of it; a file may name any (docs/spacetime.md)"
            )
        if character is not None and (said := self.p.model_fields_set & SIZES):
            raise InputError(f"{self.name}: expected a character, or {' and '.join(sorted(said))}, got both")

    def cast(self, usual: Model) -> Model:
        """Return who plays: the body that was given, or else the usual one."""
        return usual if self.character is None else self.character

    def compose(self, progress: Progress | None = None) -> Performance:
        """Return the motion."""
        raise TypeError(f"{type(self).__name__} does not define compose()")
