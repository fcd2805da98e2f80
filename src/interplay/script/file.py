"""The whole file: its sections, and how numbers of parameters and angles in degrees come into it."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import pydantic
from pydantic import Field

from interplay.errors import unknown_name
from interplay.scenario import Parameters
from interplay.script.entries import (
    FAMILIES,
    BodyName,
    Contact,
    Duration,
    Entry,
    Flag,
    JointName,
    Many,
    ModelName,
    Number,
    Positive,
    Seconds,
    Thing,
    Vector,
    Weight,
    Where,
    one_of,
)
from interplay.script.models import AnyModel, AnyPosing
from interplay.script.objectives import AnyObjective
from interplay.script.phases import AnyPhase
from interplay.script.reader import Document, Problem, ScriptError

NAME = "^[A-Za-z][A-Za-z0-9_]*$"
_DEGREES = re.compile(r"([-+]?[0-9.]+([eE][-+]?[0-9]+)?) ?deg$")
_GIVEN = re.compile(r"(-?)\$(\w+)$")
_Name = Annotated[str, Field(pattern=NAME)]


class Parameter(Entry):
    """A number that ``--set`` can change; used as $name, or -$name."""

    default: Number | Flag | str = Field(description="its value where none is given")
    min: Number | None = Field(None, description="least value")
    max: Number | None = Field(None, description="largest value")
    choices: list[str] | None = Field(None, description="words to choose from, for a word")
    unit: str = Field("", description="its unit")
    help: str = Field("", description="what it is")


class View(Entry):
    """Where pictures are taken from."""

    lookat: Vector | None = Field(None, description="point looked at [m]")
    distance: Positive | None = Field(None, description="how far away [m]")
    azimuth: Number | None = Field(None, description="where it looks, about z [deg]: 0 along x, 90 along y")
    elevation: Number | None = Field(None, description="how far up it looks [deg]; negative: down")
    follow: BodyName | None = Field(None, description="body from which x and y of the point are counted")


class Avoid(Entry):
    """Things that keep apart."""

    between: list[Many[Thing]] = Field(
        min_length=2, max_length=2, description="two things, or lists of things, such as [box, [alice/head, bob]]"
    )
    influence: Positive | None = Field(None, description="distance at which they begin to slow down [m]; 0.1")
    security: Weight | None = Field(None, description="distance they keep [m]; 0.02")


class _Control(Entry):
    low: Many[Number] | None = Field(None, description="least value of each coordinate")
    high: Many[Number] | None = Field(None, description="largest value of each coordinate")
    max_speed: Positive | None = Field(None, description="how fast its reference moves [unit/s]; 0.5")
    unit: str | None = Field(None, description="unit shown to the user; m")
    help: str = Field("", description="what it moves")


class _Placed(_Control):
    by: Vector | None = Field(None, description="moved by so much from there [m]")
    range: list[Vector] | None = Field(
        None, min_length=2, max_length=2, description="how far it may be moved from its first value [m]: [low, high]"
    )


class Point(_Placed):
    """A point to drag."""

    point: Where = Field(description="its first value: x, y, z [m], or where something is at the start")


class Pose(_Placed):
    """A pose to drag."""

    pose: Where = Field(description="its first value: a place, with quaternion, or where something is at the start")
    max_turn: Positive | None = Field(None, description="how fast it turns [rad/s]; 1")
    max_angle: Positive | None = Field(None, description="how far it may turn from its first value [rad]")


class Slider(_Control):
    """A number to slide."""

    slider: Number = Field(description="its first value")
    weighs: BodyName | None = Field(None, description="body whose mass it is [kg]")
    drives: JointName | None = Field(None, description="joint of a mechanism that follows it [rad, m]")


if TYPE_CHECKING:
    AnyControl = _Control
else:
    AnyControl = one_of("control", _Control)


class Adjustment(Entry):
    """Gains of an objective that differ from what the scenario says; the stage writes these."""

    objective: str = Field(description="label of the objective")
    phase: str | None = Field(None, description="only in this phase; by default in all")
    weight: Weight | None = Field(None, description="its weight")
    stiffness: Weight | None = Field(None, description="its stiffness [1/s²]")
    damping: Weight | None = Field(None, description="its damping [1/s]")


class _Common(Entry):
    title: str | None = Field(None, description="one line that says what happens")
    adjust: list[Adjustment] = Field([], description="gains that differ, by the label of their objective")


class Based(_Common):
    """A file that changes another scenario: its parameters and gains."""

    scenario: str = Field(
        max_length=500, description="a built-in scenario's name, or a file in the same folder or below"
    )
    parameters: dict[str, Number | Flag | str] = Field({}, description="values of its parameters")


class File(_Common):
    """A scenario: who and what is there, and what happens."""

    dt: Annotated[float, Field(strict=True, ge=1e-4, le=0.1)] = Field(0.005, description="control step [s]")
    timeout: Duration = Field(60.0, description="seconds after which a run without --seconds has failed")
    hold: Seconds = Field(2.0, description="seconds an interactive phase is held before the scenario is finished")
    camera: View = Field(View.model_construct(), description="where pictures are taken from")
    gravity: Annotated[float, Field(strict=True, ge=0, le=100)] = Field(9.81, description="[m/s²]")
    parameters: dict[_Name, Parameter] = Field({}, description="numbers that --set can change, used as $name")
    models: dict[_Name, AnyModel] = Field(min_length=1, max_length=100, description="who and what is there, by name")
    pose: list[AnyPosing] = Field([], description="how they are posed before it starts, step by step")
    contacts: list[Contact] = Field([], description="what touches at the start")
    marks: dict[Annotated[str, Field(pattern="^[^/$]+$")], Where] = Field(
        {}, description="places to refer to, as they are at the start"
    )
    avoid: list[Avoid] = Field([], description="what keeps apart, beside each character's own limbs")
    may_touch: list[Avoid] = Field([], description="what need not keep apart")
    late: dict[ModelName, Seconds] = Field({}, description="by how much characters perceive the others late [s]")
    controls: dict[_Name, AnyControl] = Field({}, description="what a user moves while it runs")
    background: list[AnyObjective] = Field([], description="objectives that hold throughout")
    sets: dict[str, list[AnyObjective]] = Field(
        {}, max_length=200, description="named lists of objectives, for '- use: name'"
    )
    phases: list[AnyPhase] = Field(min_length=1, description="what happens, in order")


def parameter_class(document: Document) -> type[Parameters]:
    """Return the parameters that a file declares; a plain value stands for its default."""
    given = document.data.get("parameters") if isinstance(document.data, dict) else None
    fields: dict[str, Any] = {}
    for name, value in given.items() if isinstance(given, dict) else ():
        if not re.match(NAME, name):
            continue  # reported with the rest of the schema
        if hasattr(Parameters, name):
            message = f"a parameter cannot be called {str(name)!r}: that is taken"
            document.problems.append(Problem(document.line(("parameters", name)), message, path=("parameters", name)))
            continue
        try:
            p = Parameter.model_validate(value if isinstance(value, dict) else {"default": value})
        except pydantic.ValidationError:
            continue  # likewise
        kind: Any = bool if isinstance(p.default, bool) else str if isinstance(p.default, str) else float
        bounds: dict[str, Any] = {"ge": p.min, "le": p.max} if kind is float else {}
        if p.choices is not None and kind is str:
            bounds = {"pattern": "^(" + "|".join(re.escape(c) for c in p.choices) + ")$"}
        description = f"{p.help} [{p.unit}]" if p.unit else p.help
        default = kind(p.default)
        fields[str(name)] = (kind, Field(default, description=description, validate_default=True, **bounds))
    return pydantic.create_model("Parameters", __base__=Parameters, **fields)


def filled(document: Document, values: Mapping[str, Any]) -> Document:
    """Return the document with $name replaced by a parameter's value, and angles in degrees by radians."""
    lines: dict[int, dict[Any, int]] = {}
    used: set[str] = set()
    problems = list(document.problems)

    def fill(item: Any, line: int) -> Any:
        if isinstance(item, (dict, list)):
            known = document.lines[id(item)]
            if isinstance(item, dict):
                out: Any = {key: fill(value, known[key]) for key, value in item.items()}
            else:
                out = [fill(value, known[k]) for k, value in enumerate(item)]
            lines[id(out)] = known
            return out
        if not isinstance(item, str):
            return item
        if degrees := _DEGREES.match(item):
            try:
                return math.radians(float(degrees[1]))
            except ValueError:
                return item
        if found := _GIVEN.match(item):
            if found[2] not in values:
                problems.append(Problem(line, str(unknown_name("parameter", found[2], values))))
                return 1.0
            used.add(found[2])
            value = values[found[2]]
            return -value if found[1] and not isinstance(value, (bool, str)) else value
        return item

    data = fill(document.data, 1)
    if isinstance(data, dict) and isinstance(data.get("parameters"), dict) and "scenario" not in data:
        given = data["parameters"]
        for name, value in given.items():
            if not isinstance(value, dict):  # the short form
                given[name] = {"default": value}
                lines[id(given[name])] = {"default": lines[id(given)][name]}
        for name in given:
            if str(name) not in used:
                problems.append(Problem(lines[id(given)][name], f"the parameter {str(name)!r} is used by nobody", True))
    return document._replace(data=data, lines=lines, problems=problems)


def validated(kind: type[pydantic.BaseModel], document: Document) -> Any:
    """Return a document's data as a model; all problems together are raised."""
    problems = document.problems
    if not isinstance(document.data, dict):
        raise ScriptError(document.name, [*problems, Problem(1, "expected entries such as 'models:' and 'phases:'")])
    try:
        out = kind.model_validate(document.data, context={"document": document})
    except pydantic.ValidationError as error:
        problems += _readable(error, document)
        raise ScriptError(document.name, [p for p in problems if not p.warning]) from None
    wrong = [p for p in problems if not p.warning and p not in document.known]
    if wrong:
        raise ScriptError(document.name, wrong)
    return out


def _readable(error: pydantic.ValidationError, document: Document) -> list[Problem]:
    """Return pydantic's errors as lines a person can use; the alternatives of one value in one line."""
    found: dict[tuple[tuple[Any, ...], str, str], list[str]] = {}
    for e in error.errors():
        path = document.path(e["loc"])
        if e["type"] == "missing":
            found[path, str(e["loc"][-1]), ""] = ["is missing"]
            continue
        where = next((str(step) for step in reversed(path) if isinstance(step, str)), "")
        group = found.setdefault((path, where, f", got {_short(e['input'])}"), [])
        if (message := _message(e)) not in group:
            group.append(message)
    return [
        Problem(document.line(path), (f"{where}: " if where else "") + " or ".join(messages) + got, path=path)
        for (path, where, got), messages in found.items()
    ]


def _message(e: Any) -> str:
    kind, given = e["type"], e["input"]
    if kind.startswith("kind of "):
        family = kind.removeprefix("kind of ")
        options = FAMILIES[family]
        keys = [str(key) for key in given] if isinstance(given, dict) else [str(given)]
        near = [m for key in keys for m in difflib.get_close_matches(key, options, n=1, cutoff=0.6)]
        hint = f" (did you mean {near[0]!r}?)" if near else ""
        return f"expected one kind of {family} among its keys: {', '.join(options)}{hint}"
    text = e["msg"].removeprefix("Value error, ")
    text = text[0].lower() + text[1:]
    for before, after in (("input should be", "expected"), ("a valid ", "a "), (" after validation", "")):
        text = text.replace(before, after)
    return text


def _short(value: Any) -> str:
    text = repr(str(value)) if isinstance(value, str) else repr(value)
    return text if len(text) < 60 else text[:57] + "…"
