"""The kinds of models a file can place; options that are not given are the model's own."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import pydantic
from pydantic import Field

import interplay as ip
from interplay.script.entries import Entry, Flag, Many, Number, Onto, SurfaceName, Vector, Weight, Whole, one_of

Color = Annotated[list[Number], Field(min_length=3, max_length=3)]


class _Model(Entry):
    at: Annotated[list[Number], Field(min_length=2, max_length=3)] = Field(
        [0.0, 0.0], description="x, y (and z) of the spot it stands on [m]; z = 0 is the ground"
    )
    facing: Number = Field(0.0, description="heading about z [rad], or such as 90 deg; 0 faces +x")
    quat: Annotated[list[Number], Field(min_length=4, max_length=4)] | None = Field(
        None, description="orientation w, x, y, z, instead of facing"
    )
    posture: dict[str, Number] = Field({}, description="joints that differ from its own posture [rad, m]")
    friction: Weight | None = Field(None, description="of whatever touches it in the simulated world; 0.8")

    def make(self, folder: Path) -> ip.Model:
        """Return the model; files are looked for in a folder."""
        raise TypeError(f"{type(self).__name__} does not define make()")

    def place(self, scene: ip.Scene, name: str, model: ip.Model) -> None:
        """Place the model in a scene."""
        scene.add(model, name, self.at, self.facing, self.quat, self.posture, self.friction)


class Options(Entry):
    """Options of a model."""


def _entry(name: str, model: type[ip.Model], summary: str, **options: Any) -> type[_Model]:
    """Return the kind of entry that places a model; options are descriptions of numbers, or (type, description)."""
    fields: dict[str, Any] = {}
    for key, option in options.items():
        kind: Any
        kind, description = option if isinstance(option, tuple) else (Number, option)
        fields[key] = (kind | None, Field(None, description=description))
    given = pydantic.create_model(f"{name}Options", __base__=Options, **fields)
    given.__doc__ = f"Options of a {name.lower()}."

    class Kind(_Model):
        model: ClassVar[type[ip.Model]]

        def make(self, folder: Path) -> ip.Model:
            own = getattr(self, name.lower())
            return self.model(**(own.model_dump(exclude_none=True) if own is not None else {}))

    Kind.model = model
    own: dict[str, Any] = {
        name.lower(): (given | None, Field(description=f"{summary} Options: a mapping, or nothing."))
    }
    kind = pydantic.create_model(name, __base__=Kind, **own)
    kind.__doc__ = summary
    return kind


_SIZE = (Vector, "edge lengths along x, y, z [m]")
KINDS: Sequence[type[_Model]] = [
    _entry(
        "Humanoid",
        ip.Humanoid,
        "A human of any size.",
        height="stature [m]",
        mass="mass [kg]; by default that of a lean person of this stature",
        sex=(Literal["male", "female"], "segment table"),
        joints=(Whole | Literal["planar"], "number of joints: 30, 31, 34, or planar"),
        head_scale="size of the head relative to an adult's (a child: 1.25)",
        leg_scale="length of the legs relative to an adult's (a child: 0.9)",
        strength="factor on every torque limit",
        color=(Color, "red, green, blue in [0, 1]; by default each character has its own"),
        springs=(bool, "whether passive tissue pulls where hips and ankles are stretched"),
        shoes=(bool, "whether soles give as those of shoes do, where motions are composed"),
    ),
    _entry(
        "Box",
        ip.Box,
        "A box; patches left, right, front, rear, top, bottom.",
        size=_SIZE,
        mass="mass [kg]",
        color=(Color, "red, green, blue in [0, 1]"),
    ),
    _entry("Ball", ip.Ball, "A ball.", radius="radius [m]", mass="mass [kg]"),
    _entry(
        "Table",
        ip.Table,
        "A table that can be carried; grips front_left_grip … on its edges, patches top, underside (all four feet), foot_0 …",
        size=_SIZE,
        mass="mass [kg]",
    ),
    _entry(
        "Barbell",
        ip.Barbell,
        "A bar with a weight at each end; grips left_grip, right_grip; bodies left_weight, right_weight.",
        length="length of the bar [m]",
        bar_mass="mass of the bar [kg]",
        left="left weight [kg]",
        right="right weight [kg]",
        grip_at="distance of the grips from the middle [m]",
    ),
    _entry(
        "Litter",
        ip.Litter,
        "A seat on two poles for two carriers; grips front_left_grip …, patches seat, footrest, underside.",
        length="length of the poles [m]",
        width="distance of the poles [m]",
        mass="mass [kg]",
        footrest_depth="how far the footrest lies below the seat [m]",
        legs="length of the legs [m]",
    ),
    _entry(
        "Sword",
        ip.Sword,
        "A two-handed sword; grips upper_grip, lower_grip, point tip.",
        length="overall length [m]",
        mass="mass [kg]",
    ),
    _entry(
        "Door",
        ip.Door,
        "A door in its frame, opening toward +x; joints hinge and knob, grip knob_grip.",
        width="width of the leaf [m]",
        height="height of the leaf [m]",
        mass="mass of the leaf [kg]",
        handle_height="height of the handle [m]",
    ),
    _entry(
        "Valve",
        ip.Valve,
        "A hand wheel; joints wheel and handle, grip handle_grip.",
        radius="radius of the handle's circle [m]",
        mass="mass of the wheel [kg]",
        height="height of its axis [m]",
    ),
    _entry(
        "Lever",
        ip.Lever,
        "A lever with a spring-damper; joint hinge, grips left_grip, right_grip.",
        length="length of the arm [m]",
        mass="mass [kg]",
        stiffness="spring [N·m/rad]",
        damping="damper [N·m·s/rad]",
        height="height of the hinge [m]",
    ),
    _entry(
        "Slider",
        ip.Slider,
        "A block on a rail; joint slide, patches front, back.",
        size="edge [m]",
        mass="mass [kg]",
        force="largest force of its thruster [N]; none by default",
        damping="damper of its rail [N·s/m]; 0 by default",
    ),
    _entry(
        "Moving_platform",
        ip.MovingPlatform,
        "A heavy deck to stand on that moves when its joints x, y, z, roll, pitch are driven; patch top.",
        size=_SIZE,
        mass="mass [kg]",
        travel=(Vector, "how far it is made to move along x, y, z [m]; without z by default"),
        tilt=(Annotated[list[Number], Field(min_length=2, max_length=2)], "how far about x and y [rad]"),
        height="height of its top [m]; by default as low as it can be",
    ),
    _entry(
        "Drop_leaf",
        ip.DropLeaf,
        "A small table whose board drops when its joint hinge is driven; patch top.",
        size=(Vector, "depth, width and height [m]"),
        mass="mass of the board [kg]",
    ),
    _entry("Platform", ip.Platform, "A block to stand on or to put things on; patches top, front.", size=_SIZE),
    _entry(
        "Beam",
        ip.Beam,
        "A narrow beam along x; patch top.",
        length="length [m]",
        width="width [m]",
        height="height [m]",
    ),
    _entry(
        "Wall",
        ip.Wall,
        "A wall along y facing −x; patch front.",
        width="width [m]",
        height="height [m]",
        thickness="thickness [m]",
    ),
    _entry(
        "Stairs",
        ip.Stairs,
        "Stairs climbing toward +x; patches step_1, step_2 …",
        steps=(Whole, "number of steps"),
        rise="rise of a step [m]",
        tread="depth of a step [m]",
        width="width [m]",
    ),
]


class Character(_Model):
    """A body from an MJCF or URDF file, by its sidecar."""

    character: Annotated[str, Field(min_length=1, max_length=500)] = Field(
        description="sidecar (YAML), relative to this file, in its folder or below"
    )

    def make(self, folder: Path) -> ip.Model:
        """Return the character."""
        return ip.BodyFile(inside(folder, self.character), confined=True)


def inside(folder: Path, name: str) -> Path:
    """Return a file named relative to a folder, if it lies in there, also after following links."""
    given = Path(name)
    if given.is_absolute() or ".." in given.parts or "\0" in name or "\\" in name:
        raise ip.InputError(f"{name!r}: expected a path relative to the file, in its folder or below")
    base = Path(os.path.realpath(folder))
    found = Path(os.path.realpath(base / given))
    if not found.is_relative_to(base):
        raise ip.InputError(f"{name!r} leads out of the file's folder")
    if not os.path.isfile(found):  # unlike Path.is_file, no error where a name is too long
        raise ip.InputError(f"{name!r}: no such file in the file's folder")
    return found


if TYPE_CHECKING:
    AnyModel = _Model
else:
    AnyModel = one_of("model", _Model)


class _Posing(Entry):
    """A step of posing the scene before it starts."""

    def make(self, scene: ip.Scene) -> None:
        """Pose the scene."""
        raise TypeError(f"{type(self).__name__} does not define make()")


class Reach(_Posing):
    """Poses a character by inverse kinematics so that its surfaces meet others."""

    reach: dict[SurfaceName, Onto] = Field(
        min_length=1, description="surface: another surface, a point [m], or a point and its axis or normal"
    )
    keep: Many[SurfaceName] | None = Field(None, description="surfaces that must not move; by default its soles")
    balance: Flag = Field(True, description="whether its centre of mass stays over them")

    def make(self, scene: ip.Scene) -> None:
        """Pose the scene."""
        first, *more = ((str(a), str(b) if isinstance(b, str) else b) for a, b in self.reach.items())
        scene.reach(*first, *more, keep=self.keep, balance=self.balance)


class Joints(_Posing):
    """Sets joints of models."""

    joints: dict[str, dict[str, Number]] = Field(description="model: joint: value [rad, m]")

    def make(self, scene: ip.Scene) -> None:
        """Pose the scene."""
        for model, values in self.joints.items():
            scene.pose(model, values)


if TYPE_CHECKING:
    AnyPosing = _Posing
else:
    AnyPosing = one_of("pose", _Posing)
