"""Selection of the user's own sentences by a small model, which names a subject for each.

The model writes no facts, so it can't invent any. The memory is the user's sentence itself.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from memory.consolidation.consolidation_answer import MAX_FACT_CHARS, MAX_SUBJECT_CHARS, ConsolidationAnswer
from memory.consolidation.parts import Part
from memory.facts.fact import Citation, Fact, is_typed, to_one_line
from memory.messages import Completion, make_storable
from memory.store.entry import Entry, Kind
from memory.text.sentences import split_sentences
from memory.text.words import is_small_talk

MAX_STATEMENTS = 40
MAX_HISTORY_CHARS = 500
MIN_STATEMENT_CHARS = 8

_TASK = """\
Below are numbered sentences of a user. Choose those that state something lasting about the user, their people, their \
things, plans, decisions or wishes, so that it is worth remembering for months. Leave out greetings, questions, \
requests, and what is only of the moment. Return one JSON object: {"keep": {"<number>": "<subject of two or three \
words>"}}, such as {"keep": {"2": "home city", "5": "job"}}; {"keep": {}} for none.
"""
_PAIR = re.compile(r'"?(\d{1,3})"?\s*:\s*"([^"\n]{1,80})')


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence that the user typed. `number` is that of its message in the part, from 1."""

    text: str
    number: int
    speaker: str | None = None  # only in a group


def find_statements(part: Part) -> list[Statement]:
    """Return the user's sentences, without questions and small talk."""
    results = [
        Statement(sentence, number, message.speaker)
        for number, message in enumerate(part.messages, 1)
        if is_typed(message)
        for sentence, plain in split_sentences(message.content)
        if len(sentence) >= MIN_STATEMENT_CHARS
        and not sentence.rstrip().endswith(("?", "？"))
        and not is_small_talk(plain)
    ]
    return results[:MAX_STATEMENTS]


def build_selection_prompt(part: Part, known: Sequence[tuple[str, Entry]]) -> str:
    """Return the prompt. `known` has current facts with their subjects."""
    existing = "\n".join(f"- {subject}: {to_one_line(entry.content)}" for subject, entry in known)
    listed = "\n".join(f"{at}. {to_one_line(statement.text)}" for at, statement in enumerate(find_statements(part), 1))
    parts = [f"You are a memory consolidation agent. {_TASK}"]
    parts += [f"## Known Facts\n{existing}"] if existing else []
    return "\n\n".join([*parts, f"## Sentences\n{listed or '(none)'}"])


def parse_selection(completion: Completion, offered: list[Statement]) -> ConsolidationAnswer | None:
    """Return the chosen sentences as facts, or None if the answer has no object."""
    if "{" not in completion.text:
        return None
    chosen: dict[int, str] = {}
    for number, subject in _PAIR.findall(completion.text):
        if 1 <= int(number) <= len(offered):
            chosen.setdefault(int(number) - 1, make_storable(subject.strip())[:MAX_SUBJECT_CHARS])
    facts = tuple(
        Fact(
            subject,
            make_storable(offered[at].text)[:MAX_FACT_CHARS],
            Kind.FACT,
            citation=Citation(offered[at].number, offered[at].text),
        )
        for at, subject in chosen.items()
        if len(offered[at].text) <= MAX_FACT_CHARS
    )
    history = "; ".join(
        f"{statement.speaker} said: {statement.text}" if statement.speaker else statement.text for statement in offered
    )[:MAX_HISTORY_CHARS]
    is_group = any(statement.speaker for statement in offered)
    entry = history if is_group else f"The user said: {history}"
    return ConsolidationAnswer(entry if history else None, None, facts)
