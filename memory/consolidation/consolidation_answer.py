"""A tolerant parser for a model's answer to a consolidation request (S2)."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from typing import TypeGuard

from memory.facts.fact import Citation, Fact
from memory.messages import Completion, make_storable
from memory.store.entry import Kind, Nature

MAX_FACTS = 12
"""Maximum number of facts per answer. More are usually noise."""
MAX_FACT_CHARS = 300
MAX_QUOTE_CHARS = 500
MIN_FACT_WORDS = 4
"""A shorter fact gets its subject in front."""
MAX_SUBJECT_CHARS = 80
MAX_HISTORY_ENTRY_CHARS = 2_000
MAX_UPDATE_CHARS = 100_000
# Kinds that a model may extract. Only users set rules, in their own words.
_FACT_KINDS = (Kind.FACT, Kind.PREFERENCE, Kind.DECISION)

# Maximum number of opening braces at which parsing is tried.
_MAX_OBJECTS = 50
_NOTHING = frozenset(("", "null", "none", "unknown", "n/a", "-"))
# Placeholders from the prompt's example, which some models repeat.
_PLACEHOLDER = re.compile(r"<[^<>]*>")
_WRAPPERS = frozenset(("result", "response", "answer", "output", "data", "memory", "consolidation"))
_FIELDS = ("history_entry", "memory_update", "facts", "forget")
_FIELD = re.compile(
    rf"(?:^|,)[ \t]*[\"'*`-]*[ \t]*(?P<name>{'|'.join(_FIELDS)})[\"'*`]*[ \t]*[:=][ \t*]*", re.MULTILINE | re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class ForgetRequest:
    """A request to forget a subject or a line of MEMORY.md."""

    subject: str | None
    line: str | None
    citation: Citation


@dataclass(frozen=True, slots=True)
class ConsolidationAnswer:
    history_entry: str | None
    memory_update: str | None  # if None, MEMORY.md doesn't change
    facts: tuple[Fact, ...] = ()
    forget: tuple[ForgetRequest, ...] = ()
    is_whole: bool = True  # the answer is complete
    lacks_facts: bool = field(default=False, compare=False)  # the answer was cut off before the end of its facts

    @property
    def last_cited_message(self) -> int:
        """Return the number of the last message that a fact cites, or 0 without citations."""
        numbers = (fact.citation.message for fact in self.facts if fact.citation is not None)
        return max((number for number in numbers if number is not None), default=0)


def parse_answer(completion: Completion) -> ConsolidationAnswer | None:
    """Return the answer in a completion, or None if there is no usable one."""
    # Try every JSON object in the text first.
    for candidate in _parse_objects(completion.text):
        if (answer := _parse_result(candidate, is_whole=completion.is_whole)) is not None:
            return answer
    # Then fields without an object around them.
    fields = _parse_fields(completion.text)
    if (answer := _parse_result(fields, is_whole=completion.is_whole)) is not None:
        return replace(answer, lacks_facts=not answer.is_whole and _ends_before_facts(fields))
    # Then repair an object that is broken or was cut off.
    repaired, is_closed = _repair(completion.text)
    answer = _parse_result(repaired, is_whole=completion.is_whole and is_closed)
    if answer is None or answer.is_whole:
        return answer
    return replace(answer, lacks_facts=_ends_before_facts(repaired))


def _ends_before_facts(result: object) -> bool:
    """Return True if the facts of a truncated answer are missing or its last field, and so may be incomplete."""
    names = [*result] if _is_object(result) else []
    return "facts" not in names[:-1]


def _parse_objects(text: str) -> Iterator[object]:
    # strict=False allows unescaped line breaks in strings.
    decoder, at = json.JSONDecoder(strict=False), text.find("{")
    for _ in range(_MAX_OBJECTS):
        if at < 0:
            return
        end = at + 1
        try:
            value, end = decoder.raw_decode(text, at)
            yield value
        except (ValueError, RecursionError):
            pass
        at = text.find("{", end)


def _parse_fields(text: str) -> dict[str, object]:
    """Parse an answer without braces. Each value is JSON or the rest of its line."""
    decoder = json.JSONDecoder(strict=False)
    results: dict[str, object] = {}
    first = _FIELD.search(text)
    if first is None or "{" in text[: first.start() + 1]:
        return results  # A broken object, which is better repaired.
    for match in _FIELD.finditer(text):
        start = match.end()
        try:
            value, _end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            value = text[start:].partition("\n")[0].strip().rstrip(",").strip('"')
        results.setdefault(match["name"].casefold(), value)
    return results


def _repair(text: str) -> tuple[object, bool]:
    """Repair a broken object. Return it, and whether it is complete."""
    from json_repair import repair_json

    # Without a bracket after the last quotation mark, the text ends inside a string or a field.
    is_closed = re.search(r"[}\]]", text.rpartition('"')[2]) is not None
    try:
        result: object = repair_json(text[max(0, text.find("{")) :], return_objects=True, skip_json_loads=True)
    except (ValueError, RecursionError):
        return None, False
    result = _unwrap(next((item for item in result if _is_object(item)), None) if isinstance(result, list) else result)
    if is_closed or not _is_object(result) or not result:
        return result, is_closed
    # The repair closes the last value of a truncated answer, which is incomplete.
    *others, (name, last) = result.items()
    return {**dict(others), **({name: last[:-1]} if isinstance(last, list) else {})}, False


def _parse_result(result: object, *, is_whole: bool) -> ConsolidationAnswer | None:
    result = _unwrap(result)
    if not _is_object(result):
        return None
    update = result.get("memory_update")
    if isinstance(update, list) and all(isinstance(line, str) for line in update):
        update = "\n".join(update)
    facts = (fact for fact in map(_parse_fact, _list_items(result.get("facts"))) if fact is not None)
    answer = ConsolidationAnswer(
        _parse_text(result.get("history_entry"), MAX_HISTORY_ENTRY_CHARS),
        _parse_text(update, MAX_UPDATE_CHARS),
        tuple(itertools.islice(facts, MAX_FACTS)),
        tuple(forget for forget in map(_parse_forget_request, _list_items(result.get("forget"))) if forget is not None),
        is_whole,
    )
    usable = answer.history_entry or answer.memory_update or answer.facts or answer.forget
    return answer if usable else None


def _unwrap(result: object) -> object:
    """Return the inner object of `{"result": {...}}`."""
    if _is_object(result) and not any(name in result for name in _FIELDS):
        return next((result[key] for key in result if key.casefold() in _WRAPPERS and _is_object(result[key])), result)
    return result


def _is_object(result: object) -> TypeGuard[Mapping[str, object]]:
    return isinstance(result, dict)


def _list_items(result: object) -> list[object]:
    """Return the items of a list, or of a mapping from subjects to facts."""
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


def _parse_fact(item: object) -> Fact | None:
    if isinstance(item, str):
        item = {"fact": item}
    if not _is_object(item) or (text := _parse_text(item.get("fact"), MAX_FACT_CHARS)) is None:
        return None
    subject = _parse_text(item.get("subject"), MAX_SUBJECT_CHARS)
    if subject is not None and len(text.split()) < MIN_FACT_WORDS:
        text = f"{subject}: {text}"  # For example `home city: Kyiv` instead of `Kyiv`.
    return Fact(
        subject or " ".join(text.split()[:MIN_FACT_WORDS])[:MAX_SUBJECT_CHARS],
        text[:MAX_FACT_CHARS],
        next((kind for kind in _FACT_KINDS if kind == item.get("kind")), Kind.FACT),
        _parse_day(item.get("since")),
        _parse_day(item.get("until")),
        _parse_citation(item),
        _parse_text(item.get("person"), MAX_SUBJECT_CHARS),
        next((nature for nature in Nature if nature == item.get("nature")), Nature.STATE),
    )


def _parse_forget_request(item: object) -> ForgetRequest | None:
    if not _is_object(item) or (citation := _parse_citation(item)) is None:
        return None
    subject, line = _parse_text(item.get("subject")), _parse_text(item.get("line"))
    return ForgetRequest(subject, line, citation) if subject or line else None


def _parse_citation(item: Mapping[str, object]) -> Citation | None:
    quote = _parse_text(item.get("quote"), MAX_QUOTE_CHARS)
    number = re.search(r"\d{1,9}", str(item.get("message")))
    return None if quote is None else Citation(int(number.group()) if number else None, quote)


def _parse_text(value: object, max_chars: int | None = None) -> str | None:
    """Return a non-empty text in storable form, or None for any other value."""
    text = value.strip() if isinstance(value, str) else ""
    if text.casefold() in _NOTHING or _PLACEHOLDER.fullmatch(text):
        return None
    return make_storable(text[:max_chars])


def _parse_day(value: object) -> date | None:
    try:
        return date.fromisoformat(value[:10]) if isinstance(value, str) else None
    except ValueError:
        return None
