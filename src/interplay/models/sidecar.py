"""Sidecars: the YAML file that says what a scenario must know of a body that was modelled elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import pydantic
import yaml

from interplay.errors import InputError, short

_LARGEST = 1_000_000
"""Largest sidecar [bytes]."""

Vector = tuple[float, float, float]
Positive = Annotated[float, pydantic.Field(gt=0, le=1e6)]


class _Entry(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid", allow_inf_nan=False)


class Box(_Entry):
    """A patch of a body: centre [m], half sizes along x and y [m], outward normal, x axis; all in the body's frame."""

    pos: Vector
    size: tuple[Positive, Positive]
    normal: Vector = (0.0, 0.0, -1.0)
    along: Vector = (1.0, 0.0, 0.0)


class Ball(_Entry):
    """The rounded end of a limb: centre and radius [m] in the body's frame; it touches in a point."""

    pos: Vector
    radius: Positive


class SurfaceEntry(_Entry):
    """A contact surface: a site of the file, or a box or ball of a body."""

    site: str | None = None
    body: str | None = None
    box: Box | None = None
    ball: Ball | None = None

    @pydantic.model_validator(mode="after")
    def _one_form(self) -> SurfaceEntry:
        shapes = (self.box is not None) + (self.ball is not None)
        if self.site is not None and self.body is None and shapes == 0:
            return self
        if self.site is None and self.body is not None and shapes == 1:
            return self
        raise ValueError("expected either 'site', or 'body' with one of 'box' and 'ball'")


class Grip(_Entry):
    """A grasp surface: a site of the file, or a cylinder of a body: centre, axis, half length and radius [m]."""

    site: str | None = None
    body: str | None = None
    pos: Vector = (0.0, 0.0, 0.0)
    axis: Vector = (1.0, 0.0, 0.0)
    along: Vector = (0.0, 0.0, 1.0)
    half_length: Positive = 0.045
    radius: Positive = 0.016

    @pydantic.model_validator(mode="after")
    def _one_form(self) -> Grip:
        if (self.site is None) == (self.body is None):
            raise ValueError("expected either 'site' or 'body'")
        return self


class Limit(_Entry):
    """What the file does not say of a joint: largest torque [N·m, N], largest speed [rad/s, m/s], range [rad, m]."""

    torque: Positive | None = None
    velocity: Positive | None = None
    range: tuple[float, float] | None = None

    @pydantic.field_validator("range")
    @classmethod
    def _rising(cls, value: tuple[float, float] | None) -> tuple[float, float] | None:
        if value is not None and value[0] >= value[1]:
            raise ValueError("expected low < high")
        return value


class Solid(_Entry):
    """A box that a body collides with: centre and half sizes [m] in the body's frame."""

    pos: Vector
    size: tuple[Positive, Positive, Positive]


class Remedies(_Entry):
    """What is done about a model file that cannot be simulated as it is; nothing unless it is named."""

    packages: dict[str, str] = pydantic.Field(default={}, description="folders of package:// addresses")
    meshes: dict[str, Literal["drop", "thicken", "z_up"]] = pydantic.Field(
        default={},
        description="mesh files to leave out, to replace by their convex hull, at least 2 mm thick, or to take as they are "
        "whatever axis they say is up",
    )
    inertias: Literal["keep", "balance"] = pydantic.Field(
        default="keep", description="balance: moments of inertia that no body can have become the nearest possible ones"
    )
    smallest_mass: Positive | None = pydantic.Field(
        default=None, description="mass of moving bodies that have none [kg]"
    )
    collision: Literal["keep", "visual"] = pydantic.Field(
        default="keep", description="visual: bodies without a collision shape collide with what is seen of them"
    )
    shapes: dict[str, list[Solid]] = pydantic.Field(
        default={}, description="boxes in the stead of a body's collision shapes; an empty list leaves them out"
    )
    base: Literal["file", "free", "fixed"] = pydantic.Field(
        default="file",
        description="how the root is joined to the world: as in the file (free where it has no joint), …",
    )


class Sidecar(Remedies):
    """The whole file; see docs/characters.md."""

    model: str = pydantic.Field(
        description="MJCF or URDF file, relative to this one; python://… in an installed package"
    )
    root: str = pydantic.Field(description="body at the root of the character; the rest of the file is left out")
    facing: Vector = pydantic.Field((1.0, 0.0, 0.0), description="where it looks in the file's own axes")
    up: Vector = pydantic.Field((0.0, 0.0, 1.0), description="which way is up in the file's own axes")
    bodies: dict[str, str | None] = pydantic.Field(
        {}, description="names that scenarios use: names in the file; null: no body is called so"
    )
    surfaces: dict[str, SurfaceEntry] = pydantic.Field({}, description="patches and points: left_sole, right_palm, …")
    grips: dict[str, Grip] = pydantic.Field({}, description="grasp surfaces: left_grip, right_grip, …")
    posture: dict[str, float] = pydantic.Field({}, description="rest posture [rad, m]; joints not named are at 0")
    limits: dict[str, Limit] = pydantic.Field({}, description="limits of single joints, where the file has none")
    torque: Positive | None = pydantic.Field(None, description="largest torque of joints that have none [N·m]")
    velocity: Positive | None = pydantic.Field(None, description="largest speed of joints that have none [rad/s]")
    passive: Literal["keep", "drop"] = pydantic.Field("keep", description="springs and dampers of the joints")


class _Plain(yaml.SafeLoader):
    """YAML without aliases: they are not needed here, and nested ones can grow without bound."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            event = self.peek_event()
            raise yaml.YAMLError(f"aliases are not allowed (line {event.start_mark.line + 1})")
        return super().compose_node(parent, index)


def read_sidecar(path: Path) -> Sidecar:
    """Read and check a sidecar; every problem is named with its file and entry."""
    try:
        if path.stat().st_size > _LARGEST:
            raise InputError(f"{path.name}: larger than {_LARGEST // 1000} kB is no sidecar")
        data = yaml.load(path.read_text("utf-8"), _Plain)
    except OSError as error:
        raise InputError(f"cannot read {str(path)!r}: {error.strerror or error}") from None
    except (yaml.YAMLError, UnicodeDecodeError, ValueError, RecursionError) as error:
        raise InputError(f"{path.name} is not readable as YAML: {' '.join(str(error).split())}") from None
    if not isinstance(data, dict):
        raise InputError(f"{path.name}: expected entries such as 'model: file.xml', got {type(data).__name__}")
    try:
        return Sidecar(**{str(key): value for key, value in data.items()})
    except pydantic.ValidationError as error:
        problems = "; ".join(
            f"{'.'.join(str(x) for x in e['loc']) or 'file'}: {e['msg']}, got {short(e['input'])}"
            for e in error.errors()[:5]
        )
        raise InputError(f"{path.name}: {problems}; known entries: {', '.join(Sidecar.model_fields)}") from None
