"""What a model answers to a consolidation: read as far as it goes, and only then believed (S2)."""

from __future__ import annotations

import itertools
import json
import re
from dataclasses import dataclass, field, replace
from datetime import date
from typing import TYPE_CHECKING, TypeGuard

from memory.facts.fact import Citation, Fact
from memory.messages import storable
from memory.store.entry import Kind, Nature

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from memory.messages import Completion

MOST_FACTS = 12
"""Facts of one consolidation (more is rarely memory and often noise)."""
LONGEST_FACT = 300
LONGEST_QUOTE = 500
FEWEST_WORDS = 4
"""A fact of fewer words is shown with its subject."""
LONGEST_SUBJECT = 80
LONGEST_ENTRY = 2_000
LONGEST_UPDATE = 100_000
# what a model may make of a conversation: rules are the user's own to set, in their own words
_FACT_KINDS = (Kind.FACT, Kind.PREFERENCE, Kind.DECISION)

# beginnings of objects at which an answer is looked for: of a hundred thousand each would take its time
_MOST_OBJECTS = 50
_NOTHING = frozenset(("", "null", "none", "unknown", "n/a", "-"))
# what the prompt's own example holds: a model that repeats it has said nothing
_PLACEHOLDER = re.compile(r"<[^<>]*>")
_WRAPPERS = frozenset(("result", "response", "answer", "output", "data", "memory", "consolidation"))
_FIELDS = ("history_entry", "memory_update", "facts", "forget")
_FIELD = re.compile(
    rf"(?:^|,)[ \t]*[\"'*`-]*[ \t]*(?P<name>{'|'.join(_FIELDS)})[\"'*`]*[ \t]*[:=][ \t*]*", re.MULTILINE | re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Forget:
    """What the user no longer wants remembered: by its subject, or by its line in MEMORY.md."""

    subject: str | None
    line: str | None
    citation: Citation


@dataclass(frozen=True, slots=True)
class ConsolidationAnswer:
    """A usable answer."""

    history_entry: str | None
    memory_update: str | None  # None: MEMORY.md stays as it is
    facts: tuple[Fact, ...] = ()
    forget: tuple[Forget, ...] = ()
    is_whole: bool = True  # all of it was read, so nobody is asked again for what is missing
    # it was cut off before its facts came to their end
    lacks_facts: bool = field(default=False, compare=False)

    @property
    def cited_through(self) -> int:
        """Return the number of the last message that its facts cite, or 0 if they cite none by number."""
        numbers = (fact.citation.message for fact in self.facts if fact.citation is not None)
        return max((number for number in numbers if number is not None), default=0)


def parse_answer(completion: Completion) -> ConsolidationAnswer | None:
    """The answer in a completion; None when it holds none that is usable."""
    # the first usable object among whatever text surrounds it
    for candidate in _objects(completion.text):
        if (answer := _checked(candidate, is_whole=completion.is_whole)) is not None:
            return answer
    # then the fields one by one, where nothing holds them together
    fields = _fields(completion.text)
    if (answer := _checked(fields, is_whole=completion.is_whole)) is not None:
        return replace(answer, lacks_facts=not answer.is_whole and _ends_before_facts(fields))
    # else what json-repair makes of one that is broken or was cut off
    repaired, is_closed = _repaired(completion.text)
    answer = _checked(repaired, is_whole=completion.is_whole and is_closed)
    if answer is None or answer.is_whole:
        return answer
    return replace(answer, lacks_facts=_ends_before_facts(repaired))


def _ends_before_facts(result: object) -> bool:
    """Return True if the facts of an answer that was cut off may be the last that it says, or are missing."""
    names = [*result] if _is_object(result) else []
    return "facts" not in names[:-1]


def _objects(text: str) -> Iterator[object]:
    # strict=False: models write line breaks into strings as they are
    decoder, at = json.JSONDecoder(strict=False), text.find("{")
    for _ in range(_MOST_OBJECTS):
        if at < 0:
            return
        end = at + 1
        try:
            value, end = decoder.raw_decode(text, at)
            yield value
        except (ValueError, RecursionError):
            pass
        at = text.find("{", end)


def _fields(text: str) -> dict[str, object]:
    """Return the fields of an answer without braces: each a value of JSON, or the rest of its line."""
    decoder = json.JSONDecoder(strict=False)
    results: dict[str, object] = {}
    first = _FIELD.search(text)
    if first is None or "{" in text[: first.start() + 1]:
        return results  # an object that is broken, which a repair reads better
    for match in _FIELD.finditer(text):
        start = match.end()
        try:
            value, _end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            value = text[start:].partition("\n")[0].strip().rstrip(",").strip('"')
        results.setdefault(match["name"].casefold(), value)
    return results


def _repaired(text: str) -> tuple[object, bool]:
    """What can be read of an object that is none, and whether it comes to its end."""
    from json_repair import repair_json

    # a bracket behind the last quotation mark: otherwise the text ends within a string or a field
    is_closed = re.search(r"[}\]]", text.rpartition('"')[2]) is not None
    try:
        result: object = repair_json(text[max(0, text.find("{")) :], return_objects=True, skip_json_loads=True)
    except (ValueError, RecursionError):
        return None, False
    result = _unwrapped(
        next((item for item in result if _is_object(item)), None) if isinstance(result, list) else result
    )
    if is_closed or not _is_object(result) or not result:
        return result, is_closed
    # what a repair closes in an answer that was cut off was never said
    *others, (name, last) = result.items()
    return {**dict(others), **({name: last[:-1]} if isinstance(last, list) else {})}, False


def _checked(result: object, *, is_whole: bool) -> ConsolidationAnswer | None:
    result = _unwrapped(result)
    if not _is_object(result):
        return None
    update = result.get("memory_update")
    if isinstance(update, list) and all(isinstance(line, str) for line in update):
        update = "\n".join(update)
    facts = (fact for fact in map(_fact, _items(result.get("facts"))) if fact is not None)
    answer = ConsolidationAnswer(
        _text(result.get("history_entry"), LONGEST_ENTRY),
        _text(update, LONGEST_UPDATE),
        tuple(itertools.islice(facts, MOST_FACTS)),
        tuple(forget for forget in map(_forget, _items(result.get("forget"))) if forget is not None),
        is_whole,
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


def _items(result: object) -> list[object]:
    """The items of a list, or what a mapping of subjects says, as a list of objects."""
    if isinstance(result, list):
        return result
    if not _is_object(result):
        return []
    if "fact" in result:
        return [result]
    return [
        {**text, "subject": key} if isinstance(text, dict) else {"subject": key, "fact": text}
        for key, text in result.items()
    ]


def _fact(item: object) -> Fact | None:
    if isinstance(item, str):
        item = {"fact": item}
    if not _is_object(item) or (text := _text(item.get("fact"), LONGEST_FACT)) is None:
        return None
    subject = _text(item.get("subject"), LONGEST_SUBJECT)
    if subject is not None and len(text.split()) < FEWEST_WORDS:
        text = f"{subject}: {text}"  # it says too little alone: `Kyiv` is `home city: Kyiv`
    return Fact(
        subject or " ".join(text.split()[:FEWEST_WORDS])[:LONGEST_SUBJECT],
        text[:LONGEST_FACT],
        next((kind for kind in _FACT_KINDS if kind == item.get("kind")), Kind.FACT),
        _day(item.get("since")),
        _day(item.get("until")),
        _citation(item),
        _text(item.get("person"), LONGEST_SUBJECT),
        next((nature for nature in Nature if nature == item.get("nature")), Nature.STATE),
    )


def _forget(item: object) -> Forget | None:
    if not _is_object(item) or (citation := _citation(item)) is None:
        return None
    subject, line = _text(item.get("subject")), _text(item.get("line"))
    return Forget(subject, line, citation) if subject or line else None


def _citation(item: Mapping[str, object]) -> Citation | None:
    quote = _text(item.get("quote"), LONGEST_QUOTE)
    number = re.search(r"\d{1,9}", str(item.get("message")))
    return None if quote is None else Citation(int(number.group()) if number else None, quote)


def _text(value: object, longest: int | None = None) -> str | None:
    """A text that says something, as it can be stored; None for all else."""
    text = value.strip() if isinstance(value, str) else ""
    if text.casefold() in _NOTHING or _PLACEHOLDER.fullmatch(text):
        return None
    return storable(text[:longest])


def _day(value: object) -> date | None:
    try:
        return date.fromisoformat(value[:10]) if isinstance(value, str) else None
    except ValueError:
        return None
