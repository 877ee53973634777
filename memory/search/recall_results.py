"""Results of a recall as text for a prompt."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from memory.messages import Passage, Provenance, find_least_trusted
from memory.search.formatting import (
    HitFormatter,
    QuotedMessage,
    make_sentence_key,
    split_sentences,
)
from memory.search.types import Hit
from memory.store.entry import Kind
from memory.store.forgotten import ForgottenWords
from memory.text.words import is_small_talk


@dataclass(frozen=True, slots=True)
class RecallResult:
    """A formatted hit: an entry, or the whole exchange that the message belongs to.

    Attributes:
        provenance: The worst provenance of the text. Foreign parts are also marked in the text.
        said: The messages of an exchange as one text, without the time. None for an entry.
        messages: The messages of an exchange.
    """

    hit: Hit
    text: str
    provenance: Provenance
    said: str | None = None
    messages: tuple[QuotedMessage, ...] = ()

    @property
    def pieces(self) -> list[Passage]:
        if self.said is None:
            return [Passage(self.hit.content, self.provenance)]
        return [Passage(message.text, message.provenance) for message in self.messages]

    @property
    def key(self) -> tuple[bool, int]:
        return make_hit_key(self.hit)

    def is_hidden_by(self, forgotten: ForgottenWords) -> bool:
        """Return True if it contains text that was forgotten since. Typed memories are never hidden."""
        hit = self.hit
        if hit.turn_id is None:
            is_derived = hit.kind in (Kind.ARCHIVE, Kind.EPISODE)
            return is_derived and forgotten.hides(hit.content, hit.created_at)
        return forgotten.hides(self.said or self.text, hit.created_at, message_id=hit.id, turn_id=hit.turn_id)


@dataclass(frozen=True, slots=True)
class WholeEntry:
    """An entry with its full text. `about` is one line with its validity, kind, name and source."""

    id: int
    name: str
    about: str
    text: str
    provenance: Provenance


def remove_sentences(result: RecallResult, said: Collection[str], formatter: HitFormatter) -> RecallResult | None:
    """Return a result without the sentences that the prompt contains. None if nothing remains."""
    if result.said is None:
        keys = {make_sentence_key(part) for part in split_sentences(result.hit.content)}
        return None if keys and keys <= {*said} else result
    remaining = [unsaid for message in result.messages if (unsaid := message.remove_sentences(said)) is not None]
    if len(remaining) == len(result.messages) and all(a is b for a, b in zip(remaining, result.messages, strict=True)):
        return result
    if all(is_small_talk(message.text) for message in remaining):
        return None
    return format_exchange(result.hit, tuple(remaining), formatter)


def format_exchange(
    hit: Hit, messages: tuple[QuotedMessage, ...], formatter: HitFormatter, *, numbered: bool = False
) -> RecallResult:
    text = " | ".join(message.wording for message in messages)
    provenance = find_least_trusted(message.provenance for message in messages)
    return RecallResult(hit, formatter.format_exchange(hit, text, numbered=numbered), provenance, text, messages)


def interleave(groups: Sequence[Iterator[RecallResult]]) -> Iterator[RecallResult]:
    for several in itertools.zip_longest(*groups):
        yield from (item for item in several if item is not None)


def make_hit_key(hit: Hit) -> tuple[bool, int]:
    return (hit.turn_id is None, hit.id if hit.turn_id is None else hit.turn_id)
