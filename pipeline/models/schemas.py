"""Repairs the JSON schemas of tools, so that every provider accepts them."""

from __future__ import annotations

from typing import Any

_COMBINATIONS = ("anyOf", "oneOf", "allOf")
_ABOUT_THE_SCHEMA = frozenset(("$schema", "$id", "$comment"))
_OF_SCHEMAS = ("properties", "$defs", "definitions", "patternProperties")
_SCHEMA = ("items", "additionalProperties", "not", "if", "then", "else")
MAX_DEPTH = 32
"""Deeper levels are replaced by a schema that accepts any value."""


def repair_schema(schema: object) -> dict[str, Any]:
    """Return the schema of a tool's parameters in a form that OpenAI, Gemini and Anthropic accept.

    Arrays get `items`, combinations at the top are merged into one object, and `required` lists only properties that
    exist. The result accepts at least every value that the original accepts.
    """
    made = _repair(schema, 0)
    for combination in _COMBINATIONS:
        branches = [branch for branch in made.pop(combination, ()) if isinstance(branch, dict)]
        if not branches:
            continue
        for branch in branches:
            made["properties"] = _to_dict(branch.get("properties")) | _to_dict(made.get("properties"))
        required = [set(_to_list(branch.get("required"))) for branch in branches]
        common = set.union(*required) if combination == "allOf" else set.intersection(*required)
        made["required"] = [*_to_list(made.get("required")), *sorted(common)]
    made["type"] = "object"
    made["properties"] = _to_dict(made.get("properties"))
    required_names = [
        name for name in dict.fromkeys(_to_list(made.pop("required", None))) if name in made["properties"]
    ]
    return made | ({"required": required_names} if required_names else {})


def _repair(schema: object, depth: int) -> dict[str, Any]:
    if not isinstance(schema, dict) or depth > MAX_DEPTH:
        return {}  # `true` and invalid schemas accept any value.
    made: dict[str, Any] = {}
    for key, value in schema.items():
        if key in _ABOUT_THE_SCHEMA:
            continue
        if key in _OF_SCHEMAS and isinstance(value, dict):
            made[key] = {name: _repair(inner, depth + 1) for name, inner in value.items()}
        elif key in _COMBINATIONS and isinstance(value, list):
            made[key] = [_repair(inner, depth + 1) for inner in value]
        elif key in _SCHEMA and isinstance(value, dict):
            made[key] = _repair(value, depth + 1)
        else:
            made[key] = value
    _repair_array(made, depth)
    if "properties" in made and "required" in made:
        names = [name for name in _to_list(made.pop("required")) if name in made["properties"]]
        made |= {"required": names} if names else {}
    return made


def _repair_array(made: dict[str, Any], depth: int) -> None:
    kinds = made.get("type")
    if kinds != "array" and not (isinstance(kinds, list) and "array" in kinds) and "prefixItems" not in made:
        return
    items = made.get("items")
    places = made.pop("prefixItems", None) or (items if isinstance(items, list) else None)
    if isinstance(places, list) and places:  # Providers don't support tuples, so allow each type at any position.
        different = [_repair(place, depth + 1) for place in places]
        items = made["items"] = different[0] if len(different) == 1 else {"anyOf": different}
    if not isinstance(items, dict) or not items:
        made["items"] = {"type": "string"}


def _to_dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _to_list(value: object) -> list[Any]:
    return [name for name in value if isinstance(name, str)] if isinstance(value, list) else []
