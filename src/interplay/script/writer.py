"""Writes an edited scenario as YAML: a file's own text with its adjustments, or a short file based on a built-in one."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import yaml

from interplay.objectives.base import Gains
from interplay.scenario import Scenario


def edited(scenario: Scenario, adjustments: Mapping[tuple[str, str | None], Gains]) -> str:
    """Return the text of a file that gives a scenario's objectives other gains, by label and phase (None: in all).

    A file keeps its text and comments, all but ``adjust``. A built-in scenario, and a file that was given other parameters, is
    named with the parameters that differ; what names a file belongs beside it.
    """
    given = {key: gains for key, gains in adjustments.items() if gains != Gains()}
    section = "adjust:\n" + "".join(f"  - {_line(*key, gains)}\n" for key, gains in given.items()) if given else ""
    own, usual = scenario.p.model_dump(), type(scenario)().p.model_dump()
    changed = {key: value for key, value in own.items() if value != usual[key]}
    if scenario.sources and not changed:
        return _replaced(scenario.sources[0], section)
    lines = [f"scenario: {scenario.name}\n"]
    if changed:
        lines.append(f"parameters: {_flow(changed)}\n")
    return "".join([*lines, section])


def _line(label: str, phase: str | None, gains: Gains) -> str:
    values = {"objective": label, "phase": phase, **gains._asdict()}
    return _flow({key: value for key, value in values.items() if value is not None})


def _flow(values: Mapping[str, Any]) -> str:
    """Return a mapping on one line; JSON strings and numbers are YAML, too."""
    return "{" + ", ".join(f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in values.items()) + "}"


def _replaced(text: str, section: str) -> str:
    """Return a text with its section of adjustments replaced, or one added at its end."""
    text = text if text.endswith("\n") else text + "\n"
    begin, end = _extent(text, "adjust")
    gap = "\n" if section and begin == len(text) else ""
    return text[:begin] + gap + section + text[end:]


def _extent(text: str, key: str) -> tuple[int, int]:
    """Return where a section begins and ends: from its key to after its value, comments below it left out; else the end, twice."""
    root = yaml.compose(text, yaml.SafeLoader)
    for name, value in root.value if isinstance(root, yaml.MappingNode) else ():
        if name.value == key:
            begin, end = name.start_mark.index, value.end_mark.index
            kept = text[begin:end]
            end = begin + len(re.sub(r"(\n[ \t]*(#[^\n]*)?)*$", "", kept))
            return begin, min(len(text), text.find("\n", end) + 1 or len(text))
    return len(text), len(text)
