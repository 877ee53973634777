"""Checks of the memory writes that a model makes with tools: a write must quote words that the user typed.

Trust comes from the quote, not from the rest of the conversation. With a forwarded text in view, the model can still
write what the user's own words say. Anything else is stored as unconfirmed until the user confirms it with a button.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

from config.texts import _, use_language
from memory.buttons import Notice, create_review_buttons
from memory.clock import TimezoneLookup
from memory.facts.checker import FactChecker, ForgetTarget
from memory.facts.fact import (
    MAX_FOREIGN_WORDS,
    CheckedFact,
    Citation,
    Doubt,
    Excerpt,
    Fact,
    KnownMemory,
    find_foreign_words,
    find_typed_source,
)
from memory.ledger.entries import EntryStore
from memory.messages import Message
from memory.store.entry import Author, Kind, NewEntry, Proposal
from pipeline.tools.toolbox import ToolContext, ToolFailed

MAX_CHECK_SECONDS = 15.0
"""How long a tool waits for the verification by a model. If it takes longer, the entry stays unconfirmed."""
PROPOSAL_STEM = "proposal"
"""The beginning of the names of entries that describe a pending change."""

Quote = str
"""The type of the `quote` argument of every tool that writes. The system prompt explains it to the model."""


@dataclass(frozen=True, slots=True)
class CheckedQuote:
    """The result of checking a quote.

    Attributes:
        quote: None if the user did not type these words.
        message_id: The message that contains the quote. None if it is not in the log yet.
        trusted: The text to write uses only the user's words.
    """

    quote: str | None = None
    message_id: int | None = None
    trusted: bool = False


class CitedWrites:
    """Checks the writes of tools against their quotes, and stores the others as unconfirmed."""

    def __init__(self, checker: FactChecker, entries: EntryStore, zone_of: TimezoneLookup) -> None:
        self._checker = checker
        self._entries = entries
        self._zone_of = zone_of

    async def check_quote(self, context: ToolContext, quote: str, text: str = "") -> CheckedQuote:
        """Check a quote without a model. That is enough for notes and names, which appear in no prompt unasked.

        Raises ToolFailed if the user had these words forgotten.
        """
        messages = await self._get_citable_messages(context, text, quote)
        at = find_typed_source(Citation(None, quote), messages)
        if at is None:
            return CheckedQuote()
        speakers = [message.speaker for message in messages if message.speaker]
        trusted = len(find_foreign_words(text, messages, speakers)) <= MAX_FOREIGN_WORDS
        return CheckedQuote(quote, messages[at].id, trusted)

    async def check(
        self, context: ToolContext, text: str, quote: str, memories: Sequence[KnownMemory] = (), kind: Kind = Kind.FACT
    ) -> CheckedFact:
        """Have a model verify that the quote states the text. Raises ToolFailed if the words were forgotten."""
        citation = Citation(None, quote)
        fact = Fact("", text, kind, citation=citation)
        messages = await self._get_citable_messages(context, text, quote)
        if find_typed_source(citation, messages) is None:
            return CheckedFact(fact, doubt=Doubt.NO_SOURCE)
        excerpt = Excerpt(messages, self._zone_of(context.session_id))
        (checked,), _none = await self._checker.check([fact], excerpt, memories, _get_deadline())
        # The user typed at least the quote, so ask about the fact instead of dropping it as foreign.
        return replace(checked, is_foreign=False, doubt=Doubt.NO_SOURCE) if checked.is_foreign else checked

    async def has_asked_for(self, context: ToolContext, act: str, quote: str) -> bool:
        """Return True if the user has asked for an act.

        Without foreign text in view, only the user can have asked. With it, a model has to verify that the quote asks
        for this very act, since hostile text can make the model quote any words of the user. A scheduled task never
        has the user's consent to something new.

        Args:
            act: The act as a claim, such as `The user asks to be reminded to call Ann at 9`.
        """
        if context.is_task:
            return False
        return not context.provenance.is_foreign or (await self.check(context, act, quote)).doubt is None

    async def has_asked_to_forget(self, context: ToolContext, text: str, quote: str) -> bool:
        """Have a model verify that the quote asks to delete something."""
        request = ForgetTarget(text, Citation(None, quote))
        _none, (follows,) = await self._checker.check([], self._build_excerpt(context), (), _get_deadline(), [request])
        return follows

    async def store_unconfirmed(self, context: ToolContext, new: NewEntry, doubt: Doubt) -> str:
        """Store an entry as unconfirmed and ask the user about it. Return the answer for the model."""
        new = replace(new, unconfirmed=doubt, author=Author.MODEL)
        entry = await self._entries.add(context.owner, new)
        context.note_written(entry)
        if doubt is Doubt.NOT_CHECKED:
            return f"kept as {entry.name}, not confirmed yet: it is checked later, and holds from then on"
        with use_language(context.language):
            question = _("Not sure: {facts} - /memory unsure", facts=entry.content)
            context.notices.append(Notice(question, (create_review_buttons(entry.id, entry.content),)))
        return (
            f"kept as {entry.name}, not confirmed ({doubt}): the user is asked under your answer. To have it hold at "
            "once, call again with the words of theirs that say it or ask for it"
        )

    async def propose(self, context: ToolContext, description: str, proposal: Proposal) -> str:
        """Store a change of an existing memory as a proposal and ask the user. Return the answer for the model."""
        new = NewEntry(description, stem=PROPOSAL_STEM, kind=Kind.NOTE, proposal=proposal.to_text())
        return await self.store_unconfirmed(context, new, Doubt.NO_SOURCE)

    async def _get_citable_messages(self, context: ToolContext, text: str, quote: str) -> Sequence[Message]:
        """Return the messages in view, with forgotten words masked. Raises ToolFailed if the write needs those."""
        forgotten = await self._entries.read_forgotten_words(context.owner)
        if not forgotten:
            return context.messages
        messages = [forgotten.mask(message) for message in context.messages]
        if find_typed_source(Citation(None, quote), messages) is None and forgotten.forbids(text, quote, None):
            raise ToolFailed("The user had this forgotten, so nothing was kept: it can be kept once they say it again.")
        return messages

    def _build_excerpt(self, context: ToolContext) -> Excerpt:
        return Excerpt(context.messages, self._zone_of(context.session_id))


def _get_deadline() -> float:
    return asyncio.get_running_loop().time() + MAX_CHECK_SECONDS
