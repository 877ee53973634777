"""Checks each extracted fact: it is confirmed, unconfirmed with a doubt, or refused.

A fact is confirmed only if it cites words that the user typed or affirmed, and a second look says that it follows from
them. Facts that were not looked at stay unconfirmed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

from memory.facts.fact import (
    MAX_FOREIGN_WORDS,
    CheckedFact,
    Citation,
    CitationStatus,
    Doubt,
    Excerpt,
    Fact,
    KnownMemory,
    check_source,
    find_foreign_words,
    find_source,
    find_typed_source,
)
from memory.facts.second_look import Claim, Judgement, SecondLook, Verdict
from memory.messages import Message, Role
from memory.text.sentences import split_sentences
from memory.text.wording import has_same_words

MAX_QUOTE_CHARS = 300
"""Characters of a message that are stored as the quote of a fact."""


@dataclass(frozen=True, slots=True)
class ForgetTarget:
    """A request of the user to forget something, as extracted by a model. `text` is the known memory."""

    text: str
    citation: Citation


class FactChecker:
    """Checks extracted facts against a conversation. Without a `look`, facts that need one stay unconfirmed."""

    def __init__(self, look: SecondLook | None) -> None:
        self._look = look

    async def check(
        self,
        facts: Sequence[Fact],
        excerpt: Excerpt,
        memories: Sequence[KnownMemory],
        deadline: float,
        forgetting: Sequence[ForgetTarget] = (),
    ) -> tuple[list[CheckedFact], list[bool]]:
        """Return the checked facts, and for each request to forget whether the user really made it.

        Raises Postponed.
        """
        # An excerpt may contain a long file, so the comparison runs in a thread.
        checked = await asyncio.to_thread(lambda: [_check_citation(fact, excerpt, memories) for fact in facts])
        claims = [
            (at, _build_fact_claim(item))
            for at, item in enumerate(checked)
            if item.doubt is None and not item.is_foreign
        ]
        requests = [(at, _build_forget_claim(item, excerpt)) for at, item in enumerate(forgetting)]
        typed = [(at, claim) for at, claim in requests if claim is not None]
        asked = [claim for _, claim in (*claims, *typed)]
        verdicts = await self._look.look(asked, excerpt, memories, deadline) if self._look is not None else {}
        # The claims are the facts, followed by the requests to forget.
        for place, (at, _) in enumerate(claims):
            checked[at] = _apply_verdict(checked[at], verdicts.get(place), excerpt, memories)
        follows = {
            at
            for place, (at, _) in enumerate(typed, len(claims))
            if place in verdicts and verdicts[place].judgement is Judgement.FOLLOWS
        }
        return checked, [at in follows for at in range(len(forgetting))]


def _check_citation(fact: Fact, excerpt: Excerpt, memories: Sequence[KnownMemory]) -> CheckedFact:
    """Check the citation of a fact. If it has no doubt afterwards, the second look decides."""
    at, quote = None, None
    if fact.citation is not None and fact.citation.quote.strip():
        at, quote = find_source(fact.citation, excerpt.messages), fact.citation.quote
    message = excerpt.messages[at] if at is not None else None
    match check_source(excerpt.messages, at) if at is not None else None:
        case CitationStatus.FOREIGN:
            return CheckedFact(fact, is_foreign=True, message=message)
        case CitationStatus.NOT_AFFIRMED:
            return CheckedFact(fact, doubt=Doubt.NOT_AFFIRMED, message=message, quote=quote)
        case CitationStatus.VERIFIED if at is not None:
            checked = CheckedFact(fact, message=message, number=at + 1, quote=quote)
        case _:
            # There is no valid citation. The second look at all messages may find the source.
            checked = CheckedFact(fact)
    everything = (*excerpt.before, *excerpt.messages)
    own = [memory.text for memory in memories if memory.is_confirmed]
    own += [message.speaker for message in everything if message.speaker]
    borrowed = len(find_foreign_words(fact.text, everything, own))
    if borrowed <= MAX_FOREIGN_WORDS and (borrowed == 0 or checked.number is not None):
        return checked
    if checked.number is None and borrowed > MAX_FOREIGN_WORDS:
        return replace(checked, is_foreign=True)
    return replace(checked, doubt=Doubt.FOREIGN_WORDS)


def _build_forget_claim(forgetting: ForgetTarget, excerpt: Excerpt) -> Claim | None:
    """Return the claim that the user asked to forget something, or None if the user didn't type the quote."""
    at = find_typed_source(forgetting.citation, excerpt.messages)
    if at is None:
        return None
    return Claim(f"Forget: {forgetting.text}", number=at + 1, quote=forgetting.citation.quote)


def _build_fact_claim(checked: CheckedFact) -> Claim:
    fact = checked.fact
    text = f"{fact.person}: {fact.text}" if fact.person else fact.text
    since = f" (since {fact.since})" if fact.since else ""
    until = f" (until {fact.until})" if fact.until else ""
    return Claim(f"{text}{since}{until}", fact.subject, checked.number, checked.quote)


def _apply_verdict(
    checked: CheckedFact, verdict: Verdict | None, excerpt: Excerpt, memories: Sequence[KnownMemory]
) -> CheckedFact:
    """Apply the verdict of the second look. A fact that is the user's own sentence needs none."""
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
    return _add_source(checked, verdict.number, excerpt.messages)


def _add_source(checked: CheckedFact, number: int | None, messages: Sequence[Message]) -> CheckedFact:
    if number is None or not 1 <= number <= len(messages):
        return replace(checked, doubt=Doubt.NO_SOURCE)
    message = messages[number - 1]
    if check_source(messages, number - 1) is not CitationStatus.VERIFIED:
        return replace(checked, doubt=Doubt.NO_SOURCE)
    return replace(checked, message=message, number=number, quote=message.content[:MAX_QUOTE_CHARS])


def is_own_sentence(checked: CheckedFact) -> bool:
    """Return True if a fact is a whole message of the user, or a whole sentence of one, verbatim."""
    message, quote = checked.message, checked.quote
    if message is None or quote is None or message.role is not Role.USER or "?" in quote or "？" in quote:
        return False
    if not has_same_words(checked.fact.text, quote):
        return False
    # Part of a sentence may mean the opposite: "I like cranes" in "I wish I could say that I like cranes".
    whole = (message.content, *(sentence for sentence, _ in split_sentences(message.content)))
    return any(has_same_words(quote, text) for text in whole)
