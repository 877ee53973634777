"""What a model answers to a consolidation: read in four tiers, used as far as it goes, and only then believed (S2)."""

from __future__ import annotations

import contextlib
import itertools
import json
import re
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, TypeGuard

from memory.facts.fact import Citation, Fact
from memory.messages import storable
from memory.store.entry import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from memory.messages import Completion

MOST_FACTS = 12
"""Facts of one consolidation (more is rarely memory and often noise)."""
LONGEST_FACT = 300
LONGEST_QUOTE = 500
_NOTHING = frozenset(("null", "none", "unknown", "n/a", "-"))
FEWEST_WORDS = 4
"""A fact of fewer words is shown with its subject."""
LONGEST_SUBJECT = 80
LONGEST_ENTRY = 2_000
# what a model may make of a conversation: rules are the user's own to set, in their own words
_FACT_KINDS = (Kind.FACT, Kind.PREFERENCE, Kind.DECISION)

_FENCE = "```"
# what the prompt's own example holds: a model that repeats it has said nothing
_PLACEHOLDER = re.compile(r"\s*<[^<>]*>\s*")
# A string, closed where a field ends: a quotation mark that was not escaped would cut a text short
_FIELD = r'"{name}"\s*:\s*"(?P<value>(?:[^"\\]|\\.)*)"(?=\s*(?:[,}}`]|"\w+"\s*:|$))'
_LIST = r'"{name}"\s*:\s*\['
_WRAPPERS = frozenset(("result", "response", "answer", "output", "data", "memory", "consolidation"))
_FIELDS = ("history_entry", "memory_update", "facts", "forget")


@dataclass(frozen=True, slots=True)
class Forget:
    """What the user no longer wants remembered: by its subject, or by its line in MEMORY.md."""

    subject: str | None
    line: str | None
    citation: Citation


@dataclass(frozen=True, slots=True)
class ConsolidationAnswer:
    """A usable answer. memory_update None: MEMORY.md stays as it is.

    is_whole: whether all of it was read, so that nobody need be asked again for what is missing.
    """

    history_entry: str | None
    memory_update: str | None
    facts: tuple[Fact, ...] = ()
    forget: tuple[Forget, ...] = ()
    is_whole: bool = True


def parse_answer(completion: Completion) -> ConsolidationAnswer | None:
    """The answer in a completion; None when it holds none that is usable.

    Tier 1: the text, fences stripped, is the JSON object. Tier 2: the first usable balanced {...} in it is. Tier 3: its
    fields are found one by one. Tier 4, unless it was cut off: what they lack is read by json-repair.
    """
    text, is_whole = completion.text, completion.is_whole
    for candidate in itertools.chain(_whole(text), _balanced(text)):
        answer = _checked(candidate, is_whole=is_whole)
        if answer is not None:
            return answer
    fields, partial = _by_fields(text)
    # what a repair closes in an answer that was cut off was never said
    repaired = _repaired(text) if is_whole else {}
    return _checked({**partial, **repaired, **fields}, is_whole=is_whole and not partial.keys() - repaired.keys())


def _whole(text: str) -> Iterator[object]:
    inside = text.strip()
    if inside.startswith(_FENCE) and inside.endswith(_FENCE):
        # the first line names the language
        inside = inside.removesuffix(_FENCE).partition("\n")[2]
    with contextlib.suppress(ValueError, RecursionError):
        yield json.loads(inside)


def _balanced(text: str) -> Iterator[object]:
    start = text.find("{")
    while start >= 0:
        end = _closing(text, start)
        if end is None:
            return
        # strict=False: models write line breaks into strings as they are
        with contextlib.suppress(ValueError, RecursionError):
            yield json.loads(text[start : end + 1], strict=False)
        start = text.find("{", end)


def _by_fields(text: str) -> tuple[dict[str, object], dict[str, object]]:
    """The fields that are whole each by itself, and of the lists that are not the items that are."""
    fields: dict[str, object] = {}
    partial: dict[str, object] = {}
    for name in ("history_entry", "memory_update"):
        match = re.search(_FIELD.format(name=name), text, re.DOTALL)
        with contextlib.suppress(ValueError):
            if match is not None:
                fields[name] = json.loads(f'"{match["value"]}"', strict=False)
    for name in ("facts", "forget"):
        match = re.search(_LIST.format(name=name), text)
        if match is None:
            continue
        start, end = match.end() - 1, _closing(text, match.end() - 1)
        try:
            fields[name] = json.loads(text[start : end + 1] if end is not None else "", strict=False)
        except (ValueError, RecursionError):
            partial[name] = list(_balanced(text[start + 1 : end if end is not None else len(text)]))
    return fields, partial


def _repaired(text: str) -> dict[str, object]:
    start = text.find("{")
    if start < 0:
        return {}
    from json_repair import repair_json

    with contextlib.suppress(ValueError, RecursionError):
        result = _unwrapped(repair_json(text[start:], return_objects=True, skip_json_loads=True))
        if _is_object(result):
            # a file is not rewritten by what was guessed
            return {name: result[name] for name in _FIELDS if name in result and name != "memory_update"}
    return {}


def _closing(text: str, start: int) -> int | None:
    """Where the bracket at `start` is closed, brackets in strings and escaped quotes not counted."""
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
        elif character in "{}[]":
            depth += 1 if character in "{[" else -1
            if depth == 0:
                return at
    return None


def _checked(result: object, *, is_whole: bool) -> ConsolidationAnswer | None:
    result = _unwrapped(result)
    if not _is_object(result) or not any(result.get(name) for name in _FIELDS):
        return None
    history, update = result.get("history_entry"), result.get("memory_update")
    if isinstance(update, list) and all(isinstance(line, str) for line in update):
        update = "\n".join(update)
    items = _items(result.get("facts"))
    facts = [fact for fact in map(_fact, items) if fact is not None]
    answer = ConsolidationAnswer(
        storable(history.strip()[:LONGEST_ENTRY]) if _is_said(history) else None,
        storable(update) if _is_said(update) else None,
        tuple(facts[:MOST_FACTS]),
        tuple(forget for forget in map(_forget, _items(result.get("forget"))) if forget is not None),
        is_whole and len(facts) == sum(not _says_nothing(item) for item in items),
    )
    usable = answer.history_entry or answer.memory_update or answer.facts or answer.forget
    return answer if usable else None


def _unwrapped(result: object) -> object:
    """The object inside `{"result": {...}}`."""
    if _is_object(result) and not any(name in result for name in _FIELDS):
        return next((result[key] for key in result if key.casefold() in _WRAPPERS and _is_object(result[key])), result)
    return result


def _is_object(result: object) -> TypeGuard[Mapping[str, object]]:
    return isinstance(result, dict)


def _is_said(text: object) -> TypeGuard[str]:
    return isinstance(text, str) and bool(text.strip()) and not _PLACEHOLDER.fullmatch(text)


def _items(result: object) -> list[object]:
    """The items of a list, or what a mapping of subjects says, as a list of objects."""
    if isinstance(result, list):
        return result
    if _is_object(result):
        if "fact" in result:
            return [result]
        return [
            {**text, "subject": key} if isinstance(text, dict) else {"subject": key, "fact": text}
            for key, text in result.items()
        ]
    return []


def _says_nothing(item: object) -> bool:
    text = item.get("fact") if _is_object(item) else item
    return text is None or (isinstance(text, str) and text.strip().casefold() in _NOTHING | {""})


def _fact(item: object) -> Fact | None:
    if isinstance(item, str):
        item = {"fact": item}
    if not _is_object(item) or _says_nothing(item):
        return None
    text, subject, person = item.get("fact"), item.get("subject"), item.get("person")
    if not _is_said(text):
        return None
    named = subject.strip()[:LONGEST_SUBJECT] if _is_said(subject) else ""
    kind = item.get("kind")
    return Fact(
        storable(named or " ".join(text.split()[:FEWEST_WORDS])[:LONGEST_SUBJECT]),
        storable(_readable(named, text.strip())[:LONGEST_FACT]),
        next((kinds for kinds in _FACT_KINDS if kinds == kind), Kind.FACT),
        _day(item.get("since")),
        _day(item.get("until")),
        _citation(item),
        storable(person.strip()[:LONGEST_SUBJECT]) if _is_said(person) else None,
    )


def _forget(item: object) -> Forget | None:
    if not _is_object(item):
        return None
    subject, line, citation = item.get("subject"), item.get("line"), _citation(item)
    if citation is None or not (_is_said(subject) or _is_said(line)):
        return None
    return Forget(
        storable(subject.strip()) if _is_said(subject) else None,
        storable(line.strip()) if _is_said(line) else None,
        citation,
    )


def _citation(item: Mapping[str, object]) -> Citation | None:
    quote, number = item.get("quote"), item.get("message")
    if not _is_said(quote):
        return None
    if isinstance(number, str):
        digits = re.search(r"\d+", number)
        number = int(digits.group()) if digits else None
    return Citation(number if isinstance(number, int) else None, storable(quote.strip())[:LONGEST_QUOTE])


def _readable(subject: str, text: str) -> str:
    """`text`, with its subject where it says too little alone: `Kyiv` is `home city: Kyiv`."""
    return text if not subject or len(text.split()) >= FEWEST_WORDS else f"{subject}: {text}"


def _day(value: object) -> date | None:
    try:
        return date.fromisoformat(value[:10]) if isinstance(value, str) else None
    except ValueError:
        return None
