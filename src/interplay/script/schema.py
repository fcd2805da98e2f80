"""The JSON schema of scenario files, for completion and checks in editors."""

from __future__ import annotations

from typing import Any

import pydantic

from interplay.script.file import NAME, Based, File

_WRITTEN = {
    "value_of_a_parameter": {"type": "string", "pattern": r"^-?\$\w+$"},
    "angle_in_degrees": {"type": "string", "pattern": r"^[-+]?[0-9.]+([eE][-+]?[0-9]+)? ?deg$"},
}


def json_schema() -> dict[str, Any]:
    """Return the schema; where a number is expected, $name and degrees are allowed, and plain values for parameters."""
    schema = _with_parameters(pydantic.TypeAdapter(File | Based).json_schema())
    definitions = schema["$defs"] = {**_WRITTEN, **schema["$defs"]}
    parameters = definitions["File"]["properties"]["parameters"]
    long = next(iter(parameters["patternProperties"].values()))
    short = {"type": ["number", "boolean", "string"], "description": "its default"}
    parameters["patternProperties"] = {NAME: {"anyOf": [short, long]}}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Interplay scenario", **schema}


def _with_parameters(item: Any) -> Any:
    if isinstance(item, list):
        return [_with_parameters(part) for part in item]
    if not isinstance(item, dict):
        return item
    if item.get("type") in ("number", "integer", "boolean"):
        notes = {key: item[key] for key in ("title", "description", "default") if key in item}
        plain = {key: value for key, value in item.items() if key not in notes}
        written = list(_WRITTEN)[: 1 if item["type"] == "boolean" else 2]
        return {"anyOf": [plain, *({"$ref": f"#/$defs/{name}"} for name in written)], **notes}
    return {key: _with_parameters(value) for key, value in item.items()}
