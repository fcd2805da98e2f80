"""The fixed environment: beam, wall, stairs, platform. The ground belongs to every scene."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import mujoco

from interplay.errors import number, vector, whole
from interplay.models.base import Model, new_spec, patch, solid

_STONE, _BEAM = [0.70, 0.71, 0.74, 1], [0.66, 0.50, 0.36, 1]
_BOX = mujoco.mjtGeom.mjGEOM_BOX


class _Environment(Model):
    kind: ClassVar[str] = "environment"
    floating: ClassVar[bool] = False


class _Block(_Environment):
    """A box standing on z = 0 with contact patches ``top`` and, toward −x, ``front``."""

    rgba: ClassVar[list[float]] = _STONE

    def __init__(self, size: Sequence[float], what: str):
        super().__init__()
        self.size = vector(f"{what} size", size, 3)
        for edge in self.size:
            number(f"{what} size", edge, 0.01, 200, "m")

    def build(self) -> mujoco.MjSpec:
        """Return the specification."""
        spec, body = new_spec("block")
        hx, hy, hz = (float(v) / 2 for v in self.size)
        solid(body, _BOX, [hx, hy, hz], name="hull", rgba=self.rgba, mass=1, pos=(0, 0, hz))
        patch(body, "top", (0, 0, 2 * hz), (0, 0, 1), (hx, hy))
        patch(body, "front", (-hx, 0, hz), (-1, 0, 0), (hy, hz), along=(0, 1, 0))
        return spec


class Platform(_Block):
    """A block to stand on; patch ``top``."""

    def __init__(self, size: Sequence[float] = (1.0, 1.0, 0.3)):
        """Take the edge lengths [m] along x, y, z."""
        super().__init__(size, "Platform")


class Beam(_Block):
    """A narrow beam along x, by default as wide as a foot; patch ``top``."""

    rgba: ClassVar[list[float]] = _BEAM

    def __init__(self, length: float = 5.0, width: float = 0.095, height: float = 0.4):
        """Take length, width and height [m]."""
        super().__init__([number("Beam size", v, 0.01, 200, "m") for v in (length, width, height)], "Beam")


class Wall(_Block):
    """A wall along y facing −x; patch ``front``."""

    def __init__(self, width: float = 3.0, height: float = 2.5, thickness: float = 0.15):
        """Take width, height and thickness [m]."""
        super().__init__([number("Wall size", v, 0.01, 200, "m") for v in (thickness, width, height)], "Wall")


class Stairs(_Environment):
    """Stairs climbing toward +x; patches ``step_1`` … ``step_n``."""

    def __init__(self, steps: int = 4, rise: float = 0.16, tread: float = 0.30, width: float = 1.2):
        """Take the number of steps, rise, tread and width [m]."""
        super().__init__()
        self.steps, self.rise = whole("Stairs steps", steps, 1, 100), number("Stairs rise", rise, 0.01, 1, "m")
        self.tread, self.width = (
            number("Stairs tread", tread, 0.05, 5, "m"),
            number("Stairs width", width, 0.1, 50, "m"),
        )

    def build(self) -> mujoco.MjSpec:
        """Return the specification; the first step begins at x = 0."""
        spec, body = new_spec("stairs")
        for k in range(1, self.steps + 1):
            x, z = (k - 0.5) * self.tread, k * self.rise
            solid(
                body,
                _BOX,
                [self.tread / 2, self.width / 2, z / 2],
                name=f"hull_{k}",
                rgba=_STONE,
                mass=1,
                pos=(x, 0, z / 2),
            )
            patch(body, f"step_{k}", (x, 0, z), (0, 0, 1), (self.tread / 2, self.width / 2))
        return spec
