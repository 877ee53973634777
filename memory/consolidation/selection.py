"""What a small model is asked: which of the user's own sentences are worth keeping, and under which subject.

It writes nothing, so it can invent nothing: the memory is the user's sentence itself, with the message it stands in.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memory.capture.sentences import sentences
from memory.consolidation.consolidation_answer import LONGEST_FACT, LONGEST_SUBJECT, ConsolidationAnswer
from memory.facts.fact import Citation, Fact, is_typed, one_line
from memory.messages import storable
from memory.store.entry import Kind
from memory.text.words import is_small_talk

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memory.consolidation.parts import Part
    from memory.messages import Completion
    from memory.store.entry import Entry

MOST_STATEMENTS = 40
LONGEST_HISTORY = 500
"""Characters of the user's own sentences that become the entry of the history."""
SHORTEST = 8
"""Characters of a sentence that can say anything by itself."""

_TASK = """\
Below are numbered sentences of a user. Choose those that state something lasting about the user, their people, their \
things, plans, decisions or wishes, so that it is worth remembering for months. Leave out greetings, questions, \
requests, and what is only of the moment. Return one JSON object: {"keep": {"<number>": "<subject of two or three \
words>"}}, such as {"keep": {"2": "home city", "5": "job"}}; {"keep": {}} for none.
"""
_PAIR = re.compile(r'"?(\d{1,3})"?\s*:\s*"([^"\n]{1,80})')


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence that the user typed. number: of its message in the part, from 1."""

    text: str
    number: int
    speaker: str | None = None  # in a group


def statements(part: Part) -> list[Statement]:
    """The user's own sentences that are no question and no small talk."""
    results = [
        Statement(sentence, number, message.speaker)
        for number, message in enumerate(part.messages, 1)
        if is_typed(message)
        for sentence, plain in sentences(message.content)
        if len(sentence) >= SHORTEST and not sentence.rstrip().endswith(("?", "？")) and not is_small_talk(plain)
    ]
    return results[:MOST_STATEMENTS]


def selection_prompt(part: Part, known: Sequence[tuple[str, Entry]]) -> str:
    """What the model is asked. known: current facts by subject."""
    existing = "\n".join(f"- {subject}: {one_line(entry.content)}" for subject, entry in known)
    listed = "\n".join(f"{at}. {one_line(statement.text)}" for at, statement in enumerate(statements(part), 1))
    parts = [f"You are a memory consolidation agent. {_TASK}"]
    parts += [f"## Known Facts\n{existing}"] if existing else []
    return "\n\n".join([*parts, f"## Sentences\n{listed or '(none)'}"])


def parse_selection(completion: Completion, offered: list[Statement]) -> ConsolidationAnswer | None:
    """The chosen sentences as facts; None where the answer is no choice at all."""
    if "{" not in completion.text:
        return None
    chosen: dict[int, str] = {}
    for number, subject in _PAIR.findall(completion.text):
        if 1 <= int(number) <= len(offered):
            chosen.setdefault(int(number) - 1, storable(subject.strip())[:LONGEST_SUBJECT])
    facts = tuple(
        Fact(
            subject,
            storable(offered[at].text)[:LONGEST_FACT],
            Kind.FACT,
            citation=Citation(offered[at].number, offered[at].text),
        )
        for at, subject in chosen.items()
        if len(offered[at].text) <= LONGEST_FACT
    )
    history = "; ".join(
        f"{statement.speaker} said: {statement.text}" if statement.speaker else statement.text for statement in offered
    )[:LONGEST_HISTORY]
    is_group = any(statement.speaker for statement in offered)
    entry = history if is_group else f"The user said: {history}"
    return ConsolidationAnswer(entry if history else None, None, facts)
