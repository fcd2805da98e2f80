"""What a composition is: parameters, and an optimal motion that follows from them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import pydantic

from interplay.errors import checked
from interplay.spacetime.performing import Performance
from interplay.spacetime.solving import Progress


class Parameters(pydantic.BaseModel):
    """Parameters of a composition; each field has a default, bounds and a description with its unit."""

    model_config = pydantic.ConfigDict(extra="forbid", allow_inf_nan=False)


class Worn(Parameters):
    """What who moves has on."""

    shoes: bool = pydantic.Field(False, description="whether soles give as those of shoes do")


class Composition:
    """Subclass in a file of ``interplay/compositions``: set ``name`` and ``summary``, fill ``compose``."""

    name: ClassVar[str] = ""
    summary: ClassVar[str] = ""

    class Parameters(Parameters):
        """No parameters of its own."""

    def __init__(self, parameters: Mapping[str, Any] | None = None):
        """Take parameter values by name (strings are converted)."""
        self.p = checked(type(self).Parameters, f"parameter of {self.name!r}", parameters or {})

    def compose(self, progress: Progress | None = None) -> Performance:
        """Return the motion."""
        raise TypeError(f"{type(self).__name__} does not define compose()")
