"""What objectives and limits have in common: a label, and the one scene they are bound to."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from interplay.errors import InputError
from interplay.scene.scene import Scene


class Demand:
    """Something that is asked of a scene's motion, over some of its DOFs."""

    what: ClassVar[str]
    """What it is called in errors."""
    dofs: np.ndarray
    """DOFs it concerns, ascending; set by ``bind``."""
    dim: int
    """Number of its rows; set by ``bind``."""

    def __init__(self, name: str | None = None):
        """Take a name of its own, if it is to have one."""
        if name is not None and (
            not isinstance(name, str) or not name.strip() or not name.isprintable() or "|" in name
        ):
            raise InputError(f"{type(self).__name__} name: expected some words without '|', got {name!r}")
        self._name = name and name.strip()
        self._bound: Scene | None = None

    @property
    def label(self) -> str:
        """The name it was given; else its kind and what it is about, the same each time it is made: ``Com alice xy``."""
        if self._name is None:
            self._name = " ".join((type(self).__name__, *filter(None, self.about())))
        return self._name

    def about(self) -> tuple[str, ...]:
        """Return words that tell it from others of its kind."""
        return ()

    def bind(self, scene: Scene) -> None:
        """Find ids and DOFs in a scene; called once before the first step."""
        raise TypeError(f"{type(self).__name__} does not define bind()")

    def attach(self, scene: Scene) -> None:
        """Bind to a scene; a demand belongs to one simulation."""
        if self._bound is None:
            self.bind(scene)
            self._bound = scene
        elif self._bound is not scene:
            raise InputError(
                f"the {self.what} {self.label!r} belongs to another simulation: make a new one for this scene"
            )
