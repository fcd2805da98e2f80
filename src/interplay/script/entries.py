"""What entries of a scenario file are made of: numbers, names, lists, and kinds that are told apart by a key."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated, Any, ClassVar, TypeVar

import pydantic
from pydantic import Field
from pydantic_core import core_schema
from typing_extensions import TypeAliasType

from interplay.errors import unknown_name
from interplay.script.reader import Document, Problem, Text

T = TypeVar("T")

Number = Annotated[float, Field(strict=True, allow_inf_nan=False, ge=-1e9, le=1e9)]
Positive = Annotated[float, Field(strict=True, allow_inf_nan=False, gt=0, le=1e9)]
Weight = Annotated[float, Field(strict=True, allow_inf_nan=False, ge=0, le=1e9)]
Seconds = Annotated[float, Field(strict=True, allow_inf_nan=False, ge=0, le=1e5)]
Duration = Annotated[float, Field(strict=True, allow_inf_nan=False, ge=1e-3, le=1e5)]
Flag = pydantic.StrictBool
Vector = Annotated[list[Number], Field(min_length=3, max_length=3)]
Axes = Annotated[str, Field(pattern="^[xyz]{1,3}$")]


def _whole(value: Any) -> Any:
    """Let 8.0 pass as 8: a parameter is a number."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


Whole = Annotated[int, pydantic.BeforeValidator(_whole), Field(strict=True, ge=0, le=1_000_000)]


class _Many:
    """One, or a list of them."""

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        return core_schema.no_info_before_validator_function(
            lambda value: value if isinstance(value, list) else [value], handler(source)
        )

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, Any]:
        array = handler(schema)
        return {"anyOf": [array["items"], array]}


Many = Annotated[list[T], Field(min_length=1), _Many()]


class Name(str):
    """The name of something that the file or its scene must have; checked when that is known."""

    what: ClassVar[str] = "name"
    line: int

    @classmethod
    def _of(cls, value: Any) -> Name:
        if not isinstance(value, str) or not value:
            raise ValueError(f"expected the name of a {cls.what}")
        out = cls(value)
        out.line = getattr(value, "line", 1)
        return out

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        return core_schema.no_info_plain_validator_function(cls._of)

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: Any, handler: Any) -> dict[str, Any]:
        return {"type": "string", "description": f"a {cls.what}{cls.__doc__ or ''}"}


class SurfaceName(Name):
    """, such as alice/left_sole or ground."""

    what = "surface"


class BodyName(Name):
    """, such as alice/chest."""

    what = "body"


class FrameName(Name):
    """, such as alice/right_palm, alice/chest or box."""

    what = "surface, body or model"


class Thing(Name):
    """, such as alice, alice/head, box/hull or ground."""

    what = "model, body or shape"


class JointName(Name):
    """, such as door/hinge."""

    what = "joint"


class ModelName(Name):
    """, as it is called under models."""

    what = "model"


class ControlName(Name):
    """, as it is called under controls."""

    what = "control"


class PhaseName(Name):
    """, as it is called under phases."""

    what = "phase"


class SetName(Name):
    """, as it is called under sets."""

    what = "set of objectives"


class PlaceName(Name):
    """: a mark, a surface, a body or a model; or now, where the thing itself is."""

    what = "mark, surface, body or model"


class Entry(pydantic.BaseModel):
    """A mapping of the file with known keys. Unknown ones are reported with the nearest known one, and left out."""

    model_config = pydantic.ConfigDict(extra="forbid", arbitrary_types_allowed=True)
    _line: int = pydantic.PrivateAttr(1)

    @pydantic.model_validator(mode="wrap")
    @classmethod
    def _known_keys(cls, data: Any, handler: Any, info: pydantic.ValidationInfo) -> Any:
        document: Document = (info.context or {}).get("document") or Document("", "", None, {}, [])
        if not isinstance(data, dict):
            raise ValueError("expected entries such as 'key: value'")
        known = cls.model_fields
        for key in data:
            if key not in known:
                line = document.lines.get(id(data), {}).get(key, 1)
                document.problems.append(Problem(line, str(unknown_name("key", str(key), known)), left_out=True))
        out = handler({str(key): value for key, value in data.items() if key in known})
        out._line = document.line_of(data)
        return out

    @property
    def line(self) -> int:
        """The line it begins on."""
        return self._line


FAMILIES: dict[str, list[str]] = {}
"""The kinds of each family of entries, by what errors call it."""


def one_of(family: str, base: type[Entry]) -> Any:
    """Return the type of an entry that is one of the kinds derived from a base class, told apart by a key of the class's name."""
    by_key = {kind_key(kind): kind for kind in _descendants(base) if kind_key(kind) in kind.model_fields}
    FAMILIES[family] = list(by_key)

    def tag(data: Any) -> str | None:
        found = [key for key in data if key in by_key] if isinstance(data, dict) else []
        return f"<{found[0]}>" if found else None

    union: Any = None
    for key, kind in by_key.items():
        member = Annotated[kind, pydantic.Tag(f"<{key}>")]
        union = member if union is None else union | member
    told_apart = pydantic.Discriminator(
        tag, custom_error_type=f"kind of {family}", custom_error_message="no known kind"
    )
    return TypeAliasType(family, Annotated[union, told_apart])  # type: ignore[reportGeneralTypeIssues]


def kind_key(kind: type[Entry]) -> str:
    """Return the key by which a kind is known: the name of its class in lower case."""
    return re.sub("(?<=[a-z])(?=[A-Z])", "_", kind.__name__).lower()


def _descendants(base: type[Entry]) -> Iterator[type[Entry]]:
    for kind in base.__subclasses__():
        yield kind
        yield from _descendants(kind)


class Place(Entry):
    """A place in the scene, where it is when it is asked for: of something, or in the middle of some surfaces, moved and turned."""

    of: PlaceName | None = Field(None, description="where a mark, a surface, a body or a model is")
    middle: Many[SurfaceName] | None = Field(None, description="the middle of some surfaces (unturned)")
    pos: Vector | None = Field(None, description="x, y, z [m]")
    by: Vector | None = Field(None, description="moved by so much [m], world axes")
    turn: Vector | None = Field(None, description="turned by this rotation vector [rad], world axes")

    @pydantic.model_validator(mode="after")
    def _one_way(self) -> Place:
        if sum(x is not None for x in (self.of, self.middle, self.pos)) != 1:
            raise ValueError("expected exactly one of 'of', 'middle' and 'pos'")
        return self


def _form(data: Any) -> str:
    forms = {dict: "<place>", list: "<numbers>", str: "<name>", Text: "<name>"}
    return forms.get(type(data), "<number>")


Where = Annotated[
    Annotated[Place, pydantic.Tag("<place>")]
    | Annotated[list[Number], Field(min_length=1, max_length=7), pydantic.Tag("<numbers>")]
    | Annotated[PlaceName, pydantic.Tag("<name>")]
    | Annotated[Number, pydantic.Tag("<number>")],
    pydantic.Discriminator(_form),
]
"""A value: numbers, a name, or a place."""


def _onto(data: Any) -> str:
    return "<numbers>" if isinstance(data, list) else "<name>"


Onto = Annotated[
    Annotated[SurfaceName, pydantic.Tag("<name>")]
    | Annotated[list[Number], Field(min_length=3, max_length=6), pydantic.Tag("<numbers>")],
    pydantic.Discriminator(_onto),
]
"""What a surface is brought to: another surface, or a point [m], where an initial pose is meant with an axis after it."""

Pairs = Annotated[dict[SurfaceName, SurfaceName], Field(min_length=1)]


def _form_of_contact(data: Any) -> str:
    return "<pair>" if isinstance(data, list) else "<touch>"


class Touch(Entry):
    """Contacts with options."""

    touch: Pairs = Field(description="pairs of surfaces that touch, such as alice/left_sole: ground")
    friction: Positive | None = Field(None, description="Coulomb's coefficient of planar contacts; 0.8 by default")
    grip_force: Positive | None = Field(None, description="strength of a grasp along each axis [N]; 500 by default")
    grip_torque: Positive | None = Field(None, description="strength of a grasp about each axis [N·m]; 25 by default")
    min_force: Weight | None = Field(None, description="least normal force of planar contacts [N]")
    force_cost: Positive | None = Field(None, description="cost of the contact force [1/N²]")
    pinned: Flag | None = Field(None, description="plans take the surfaces for glued, without limits of friction")

    def pairs(self) -> list[tuple[str, str, dict[str, float]]]:
        """Return surfaces and options of each contact."""
        options = self.model_dump(exclude={"touch"}, exclude_none=True)
        return [(str(a), str(b), options) for a, b in self.touch.items()]


Contact = Annotated[
    Annotated[list[SurfaceName], Field(min_length=2, max_length=2), pydantic.Tag("<pair>")]
    | Annotated[Touch, pydantic.Tag("<touch>")],
    pydantic.Discriminator(_form_of_contact),
]
"""Two surfaces that touch, or several pairs with options."""


def contact_pairs(contact: Any) -> list[tuple[str, str, dict[str, float]]]:
    """Return surfaces and options of each contact of an entry."""
    return contact.pairs() if isinstance(contact, Touch) else [(str(contact[0]), str(contact[1]), {})]


Released = Annotated[
    Annotated[SurfaceName, pydantic.Tag("<name>")]
    | Annotated[list[SurfaceName], Field(min_length=2, max_length=2), pydantic.Tag("<pair>")],
    pydantic.Discriminator(lambda data: "<pair>" if isinstance(data, list) else "<name>"),
]
"""A surface whose contact ends, or both."""


def walk(item: Any) -> Iterator[Any]:
    """Return every entry and name below an item."""
    if isinstance(item, (Entry, Name)):
        yield item
    if isinstance(item, Entry):
        for name in type(item).model_fields:
            yield from walk(getattr(item, name))
    elif isinstance(item, dict):
        for key, value in item.items():
            yield from walk(key)
            yield from walk(value)
    elif isinstance(item, (list, tuple)):
        for value in item:
            yield from walk(value)
