"""The verdict on each fact that a model gives: confirmed, unconfirmed with its doubt, or refused.

Confirmed is what stands in words that the user typed, or affirmed, AND follows from them by a second look. It fails
closed: what nobody has looked at waits unconfirmed.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from memory.capture.sentences import sentences
from memory.facts.fact import (
    MOST_BORROWED,
    CheckedFact,
    Citation,
    CitationStatus,
    Doubt,
    Excerpt,
    Fact,
    find_source,
    foreign_words,
    status_of,
    typed_source,
)
from memory.facts.second_look import Claim, Judgement
from memory.messages import Role
from memory.text.same_words import same_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memory.facts.fact import KnownMemory
    from memory.facts.second_look import SecondLook, Verdict
    from memory.messages import Message

LONGEST_SOURCE = 300
"""Characters of a message that are kept as the words that a fact was found in."""


@dataclass(frozen=True, slots=True)
class Forgetting:
    """What the user is said to want forgotten. text: what is known of it."""

    text: str
    citation: Citation


class FactChecker:
    """Checks what a model gives against a conversation. look None: nobody looks, and what needs a look waits."""

    def __init__(self, look: SecondLook | None) -> None:
        self._look = look

    async def check(
        self,
        facts: Sequence[Fact],
        excerpt: Excerpt,
        memories: Sequence[KnownMemory],
        deadline: float,
        forgetting: Sequence[Forgetting] = (),
    ) -> tuple[list[CheckedFact], list[bool]]:
        """The facts with their verdicts, and which requests to forget the user really made. Raises Postponed."""
        # an excerpt may hold a file of many pages, whose words are all compared
        checked = await asyncio.to_thread(lambda: [_cited(fact, excerpt, memories) for fact in facts])
        claims = [(at, _claim(item)) for at, item in enumerate(checked) if item.doubt is None and not item.is_foreign]
        requests = [(at, _request(item, excerpt)) for at, item in enumerate(forgetting)]
        typed = [(at, claim) for at, claim in requests if claim is not None]
        asked = [claim for _, claim in (*claims, *typed)]
        verdicts = await self._look.look(asked, excerpt, memories, deadline) if self._look is not None else {}
        # of what was asked the facts come first, the requests to forget behind them
        for place, (at, _) in enumerate(claims):
            checked[at] = _judged(checked[at], verdicts.get(place), excerpt, memories)
        follows = {
            at
            for place, (at, _) in enumerate(typed, len(claims))
            if place in verdicts and verdicts[place].judgement is Judgement.FOLLOWS
        }
        return checked, [at in follows for at in range(len(forgetting))]


def _cited(fact: Fact, excerpt: Excerpt, memories: Sequence[KnownMemory]) -> CheckedFact:
    """A fact with what its citation alone tells; where nothing speaks against it a look decides."""
    at, quote = None, None
    if fact.citation is not None and fact.citation.quote.strip():
        at, quote = find_source(fact.citation, excerpt.messages), fact.citation.quote
    message = excerpt.messages[at] if at is not None else None
    match status_of(excerpt.messages, at) if at is not None else None:
        case CitationStatus.FOREIGN:
            return CheckedFact(fact, is_foreign=True, message=message)
        case CitationStatus.NOT_AFFIRMED:
            return CheckedFact(fact, doubt=Doubt.NOT_AFFIRMED, message=message, quote=quote)
        case CitationStatus.VERIFIED if at is not None:
            checked = CheckedFact(fact, message=message, number=at + 1, quote=quote)
        case _:
            # nothing cited, or in no message's words: a look at all of them may find the one that says it
            checked = CheckedFact(fact)
    everything = (*excerpt.before, *excerpt.messages)
    own = [memory.text for memory in memories] + [message.speaker for message in everything if message.speaker]
    borrowed = len(foreign_words(fact.text, everything, own))
    if borrowed <= MOST_BORROWED and (borrowed == 0 or checked.number is not None):
        return checked
    if checked.number is None and borrowed > MOST_BORROWED:
        return replace(checked, is_foreign=True)
    return replace(checked, doubt=Doubt.FOREIGN_WORDS)


def _request(forgetting: Forgetting, excerpt: Excerpt) -> Claim | None:
    """The claim that the user asked to forget something, in words that they typed; None where they typed none such."""
    at = typed_source(forgetting.citation, excerpt.messages)
    if at is None:
        return None
    return Claim(f"Forget: {forgetting.text}", number=at + 1, quote=forgetting.citation.quote)


def _claim(checked: CheckedFact) -> Claim:
    fact = checked.fact
    text = f"{fact.person}: {fact.text}" if fact.person else fact.text
    since = f" (since {fact.since})" if fact.since else ""
    until = f" (until {fact.until})" if fact.until else ""
    return Claim(f"{text}{since}{until}", fact.subject, checked.number, checked.quote)


def _judged(
    checked: CheckedFact, verdict: Verdict | None, excerpt: Excerpt, memories: Sequence[KnownMemory]
) -> CheckedFact:
    """A fact as a look has it. What is a sentence of the user's, word for word, needs none."""
    if verdict is None:
        return checked if is_own_sentence(checked) else replace(checked, doubt=Doubt.NOT_CHECKED)
    checked = replace(
        checked,
        replaces=tuple(memories[at] for at in verdict.replaces),
        repeats=tuple(memories[at] for at in verdict.repeats),
        is_past=not verdict.is_now,
    )
    match verdict.judgement:
        case Judgement.CONTRADICTS:
            return replace(checked, doubt=Doubt.CONTRADICTED)
        case Judgement.UNCLEAR:
            return replace(checked, doubt=Doubt.UNCLEAR if checked.number else Doubt.NO_SOURCE)
    if checked.number is not None:
        return checked
    return _sourced(checked, verdict.number, excerpt.messages)


def _sourced(checked: CheckedFact, number: int | None, messages: Sequence[Message]) -> CheckedFact:
    """A fact that cited nothing, with the message that a look names for it."""
    if number is None or not 1 <= number <= len(messages):
        return replace(checked, doubt=Doubt.NO_SOURCE)
    message = messages[number - 1]
    if status_of(messages, number - 1) is not CitationStatus.VERIFIED:
        return replace(checked, doubt=Doubt.NO_SOURCE)
    return replace(checked, message=message, number=number, quote=message.content[:LONGEST_SOURCE])


def is_own_sentence(checked: CheckedFact) -> bool:
    """Whether a fact is what the user typed, word for word: a whole message or a whole sentence of it."""
    message, quote = checked.message, checked.quote
    if message is None or quote is None or message.role is not Role.USER or "?" in quote or "？" in quote:
        return False
    if not same_words(checked.fact.text, quote):
        return False
    # a part of a sentence may say the opposite: "I like cranes" of "I wish I could say that I like cranes"
    whole = (message.content, *(sentence for sentence, _ in sentences(message.content)))
    return any(same_words(quote, text) for text in whole)
