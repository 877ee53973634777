"""The verdict on each fact that a model gives: confirmed, unconfirmed with its doubt, or refused."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from memory.evidence.agreement import Doubt, agreement
from memory.evidence.assent import is_statement
from memory.evidence.citation import Standing, is_affirmed, is_quoted_from, source_of
from memory.evidence.evidence import Evidence
from memory.messages import Provenance, Role
from memory.text.forms import in_common, roots
from memory.text.overlap import value_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from zoneinfo import ZoneInfo

    from memory.evidence.fact import Fact
    from memory.messages import Message

_ENOUGH = 0.5
"""The part of an uncited fact's words that one statement of the user's must hold."""
_BEFORE = 40
"""Messages before the cited one that say who "she" is, and what was asked, and that names may come from."""


class Refusal(StrEnum):
    """Why a fact is not kept at all, in the words of the log."""

    FOREIGN = "only a foreign text says so"


@dataclass(frozen=True, slots=True)
class Weighed:
    """A fact with the verdict on it. message: where it was said, where that is known; number: its place, from 1.

    is_plain: whether it says what its quote says in the same words, so that no second look need affirm it.
    """

    fact: Fact
    doubt: Doubt | None = None
    refusal: Refusal | None = None
    message: Message | None = None
    quote: str | None = None
    is_plain: bool = False
    number: int | None = None


@dataclass(frozen=True, slots=True)
class Hearing:
    """What facts are weighed against: a stretch of conversation, numbered from 1, and what was known before it.

    before: what was said last before the stretch; it tells who "she" is, and is no source.
    """

    messages: Sequence[Message]
    known: tuple[str, ...]
    zone: ZoneInfo
    before: Sequence[Message] = ()

    def weigh(self, fact: Fact) -> Weighed:
        """The verdict on one fact."""
        weighed, evidence = self._held_against(fact)
        if evidence is None:
            return weighed
        agreed = agreement(fact, evidence)
        return replace(weighed, doubt=agreed.doubt, is_plain=weighed.quote is not None and agreed.is_plain)

    def evidence_of(self, fact: Fact) -> Evidence | None:
        """What a fact is held against; None where nobody but a foreign text says anything like it, or nobody at all."""
        return self._held_against(fact)[1]

    def _held_against(self, fact: Fact) -> tuple[Weighed, Evidence | None]:
        """Where a fact was said and its evidence; without evidence the verdict."""
        if fact.citation is None or not fact.citation.quote.strip():
            return self._said_somewhere(fact)
        quote = fact.citation.quote
        source = source_of(fact.citation, self.messages)
        if source.at is None:
            return Weighed(fact, doubt=Doubt.NO_SOURCE), None
        message = self.messages[source.at]
        if source.standing is Standing.FOREIGN:
            return Weighed(fact, refusal=Refusal.FOREIGN, message=message), None
        if source.standing is Standing.NOT_AFFIRMED:
            return Weighed(fact, doubt=Doubt.NOT_AFFIRMED, message=message, quote=quote), None
        weighed = Weighed(fact, message=message, quote=quote, number=source.at + 1)
        return weighed, self._evidence(source.at, quote)

    def _said_somewhere(self, fact: Fact) -> tuple[Weighed, Evidence | None]:
        """A fact that cites nothing is held against the user's own statements, one by one."""
        shares = [_share(value_of(fact.text), message.content) for message in self.messages]
        stated = [at for at in range(len(self.messages)) if self._states(at)]
        best = max(stated, key=lambda at: shares[at], default=None)
        if best is None or shares[best] < _ENOUGH:
            quoted = any(
                share >= _ENOUGH and _is_foreign(message)
                for share, message in zip(shares, self.messages, strict=True)
                if message.role is Role.USER
            )
            doubt, refusal = (None, Refusal.FOREIGN) if quoted else (Doubt.NO_SOURCE, None)
            return Weighed(fact, doubt=doubt, refusal=refusal), None
        message = self.messages[best]
        return Weighed(fact, message=message), self._evidence(best, message.content)

    def _states(self, at: int) -> bool:
        """Whether a message is the user's own statement, or the assistant's that they said yes to."""
        message = self.messages[at]
        if message.role is Role.USER:
            return message.provenance is Provenance.TYPED and is_statement(message.content)
        return is_affirmed(self.messages, at)

    def _evidence(self, at: int, quote: str) -> Evidence:
        message = self.messages[at]
        earlier = [*self.before, *self.messages[:at]][-_BEFORE:]
        before = [one.content for one in earlier if not _is_foreign(one)]
        speaker = message.speaker
        if message.role is Role.ASSISTANT:
            for answer in self.messages[at + 1 : at + 2]:  # who says yes makes it theirs, and says more
                before.append(answer.content)
                speaker = answer.speaker
        return Evidence(
            quote,
            message.content,
            tuple(reversed(before)),
            self.known,
            message.created_at.astimezone(self.zone),
            speaker,
            message.role is Role.USER,
            frozenset(m.speaker for m in self.messages if m.speaker and m.speaker != speaker),
            "\n".join(m.content for m in (*self.before, *self.messages) if _is_foreign(m)),
        )


def _share(text: str, said: str) -> float:
    """The part of the words of `text` that were said; of a text without any whether it was said whole."""
    wanted, words = roots(text), roots(said)
    if not wanted:
        return float(is_quoted_from(text, said))
    return in_common(wanted, words) / len(wanted)


def _is_foreign(message: Message) -> bool:
    return message.provenance is not None and message.provenance.is_foreign
