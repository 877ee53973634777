"""What a model answers to a consolidation: read in three tiers, checked, and only then believed (S2)."""

from __future__ import annotations

import contextlib
import json
import re
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING

from memory.learning.facts import Fact
from memory.messages import storable
from memory.store.entry import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MOST_FACTS = 12
"""Facts of one consolidation (more is rarely memory and often noise)."""
LONGEST_FACT = 300
_NOTHING = frozenset(("null", "none", "unknown", "n/a", "-"))
FEWEST_WORDS = 4
"""A fact of fewer words is shown with its subject."""
LONGEST_SUBJECT = 80
LONGEST_ENTRY = 2_000
_FACT_KINDS = (Kind.FACT, Kind.PREFERENCE, Kind.DECISION)
"""What a model may make of a conversation: rules are the user's own to set, in their own words."""

_FENCE = "```"
_PLACEHOLDER = re.compile(r"\s*<[^<>]*>\s*")
"""What the prompt's own example holds: a model that repeats it has said nothing."""
_FIELD = r'"{name}"\s*:\s*"(?P<value>(?:[^"\\]|\\.)*)"'


@dataclass(frozen=True, slots=True)
class ConsolidationAnswer:
    """A usable answer. memory_update None: MEMORY.md stays as it is."""

    history_entry: str
    memory_update: str | None
    facts: tuple[Fact, ...] = ()


def parse_answer(text: str) -> ConsolidationAnswer | None:
    """The answer in `text`; None when it holds none that is usable.

    Tier 1: the text, fences stripped, is the JSON object. Tier 2: the first usable balanced {...} in it is.
    Tier 3: the fields `history_entry` and `memory_update` are found one by one.
    """
    for tier in _TIERS:
        for found in tier(text):
            answer = _checked(found)
            if answer is not None:
                return answer
    return None


def _whole(text: str) -> Iterator[object]:
    inside = text.strip()
    if inside.startswith(_FENCE) and inside.endswith(_FENCE):
        # the first line names the language
        inside = inside.removesuffix(_FENCE).partition("\n")[2]
    try:
        yield json.loads(inside)
    except (ValueError, RecursionError):
        return


def _balanced(text: str) -> Iterator[object]:
    start = text.find("{")
    while start >= 0:
        end = _closing_brace(text, start)
        if end is None:
            return
        # strict=False: models write line breaks into strings as they are
        with contextlib.suppress(ValueError, RecursionError):
            yield json.loads(text[start : end + 1], strict=False)
        start = text.find("{", end)


def _fields(text: str) -> Iterator[object]:
    found: dict[str, object] = {}
    for name in ("history_entry", "memory_update"):
        match = re.search(_FIELD.format(name=name), text, re.DOTALL)
        if match is None:
            continue
        try:
            found[name] = json.loads(f'"{match["value"]}"', strict=False)
        except ValueError:
            continue
    if found:
        yield found


_TIERS: tuple[Callable[[str], Iterator[object]], ...] = (_whole, _balanced, _fields)


def _closing_brace(text: str, start: int) -> int | None:
    """Where the brace at `start` is closed, braces in strings and escaped quotes not counted."""
    depth, in_string, escaped = 0, False, False
    for at in range(start, len(text)):
        character = text[at]
        if in_string:
            if escaped:
                escaped = False
            elif character == "\\":
                escaped = True
            elif character == '"':
                in_string = False
        elif character == '"':
            in_string = True
        elif character in "{}":
            depth += 1 if character == "{" else -1
            if depth == 0:
                return at
    return None


def _checked(found: object) -> ConsolidationAnswer | None:
    if not isinstance(found, dict):
        return None
    history, update = found.get("history_entry"), found.get("memory_update")
    if not isinstance(history, str) or not history.strip() or _PLACEHOLDER.fullmatch(history):
        return None
    if isinstance(update, list) and all(isinstance(line, str) for line in update):
        update = "\n".join(update)
    if update is not None and (not isinstance(update, str) or _PLACEHOLDER.fullmatch(update)):
        return None
    return ConsolidationAnswer(
        storable(history.strip()[:LONGEST_ENTRY]),
        None if update is None else storable(update),
        tuple(_facts(found.get("facts"))),
    )


def _facts(found: object) -> Iterator[Fact]:
    for item in found[:MOST_FACTS] if isinstance(found, list) else ():
        if not isinstance(item, dict):
            continue
        subject, text = item.get("subject"), item.get("fact")
        if not isinstance(subject, str) or not isinstance(text, str) or not subject.strip() or not text.strip():
            continue
        if text.strip().casefold() in _NOTHING:
            continue
        kind = item.get("kind")
        yield Fact(
            storable(subject.strip()[:LONGEST_SUBJECT]),
            storable(_readable(subject.strip(), text.strip())[:LONGEST_FACT]),
            Kind(kind) if kind in _FACT_KINDS else Kind.FACT,
            _day(item.get("since")),
        )


def _readable(subject: str, text: str) -> str:
    """`text`, with its subject where it says too little alone: `Kyiv` is `home city: Kyiv`."""
    return text if len(text.split()) >= FEWEST_WORDS else f"{subject}: {text}"


def _day(value: object) -> date | None:
    try:
        return date.fromisoformat(value[:10]) if isinstance(value, str) else None
    except ValueError:
        return None
