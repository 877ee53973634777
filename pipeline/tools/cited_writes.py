"""Writes of memory that a model makes by tools: each cites words that the user typed, or waits to be confirmed.

Trust comes from what is cited, not from what stands in view: with a forwarded text in the conversation the model writes
as ever at the user's own words, and what it writes without them holds only once the user has tapped that it does.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from config.texts import _, use_language
from memory.buttons import Notice, right_or_wrong
from memory.facts.checker import Forgetting
from memory.facts.fact import MOST_BORROWED, CheckedFact, Citation, Doubt, Excerpt, Fact, foreign_words, typed_source
from memory.store.entry import Author, Kind, NewEntry
from pipeline.tools.toolbox import ToolFailed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memory.clock import TimezoneLookup
    from memory.facts.checker import FactChecker
    from memory.facts.fact import KnownMemory
    from memory.ledger.entries import EntryStore
    from memory.messages import Message
    from memory.store.entry import Proposal
    from pipeline.tools.toolbox import ToolContext

LOOK_SECONDS = 15.0
"""How long a tool waits for the second look; what was not looked at by then waits unconfirmed."""
PROPOSED = "proposal"
"""What the name of an entry begins with that tells of a change which waits."""

Quote = str
"""The argument by which a tool that writes cites; every such tool takes it, and the system prompt says what it is."""


@dataclass(frozen=True, slots=True)
class Cited:
    """What a citation is worth."""

    quote: str | None = None  # None: the user typed no such words
    message_id: int | None = None  # of what holds the quote; None while it is not in the log yet
    trusted: bool = False  # no words but the user's went in


class CitedWrites:
    """Holds what tools write against what they cite, and keeps the rest until a person confirms it."""

    def __init__(self, checker: FactChecker, entries: EntryStore, zone_of: TimezoneLookup) -> None:
        self._checker = checker
        self._entries = entries
        self._zone_of = zone_of

    async def cited(self, context: ToolContext, quote: str, text: str = "") -> Cited:
        """Return what a citation proves by itself: enough for notes and names, which no prompt contains unasked.

        Raises ToolFailed if the words were forgotten.
        """
        messages = await self._citable(context, text, quote)
        at = typed_source(Citation(None, quote), messages)
        if at is None:
            return Cited()
        speakers = [message.speaker for message in messages if message.speaker]
        trusted = len(foreign_words(text, messages, speakers)) <= MOST_BORROWED
        return Cited(quote, messages[at].id, trusted)

    async def check(
        self, context: ToolContext, text: str, quote: str, memories: Sequence[KnownMemory] = (), kind: Kind = Kind.FACT
    ) -> CheckedFact:
        """Return a fact for prompts, with the verdict of a second look. Raises ToolFailed for forgotten words."""
        citation = Citation(None, quote)
        fact = Fact("", text, kind, citation=citation)
        messages = await self._citable(context, text, quote)
        if typed_source(citation, messages) is None:
            return CheckedFact(fact, doubt=Doubt.NO_SOURCE)
        excerpt = Excerpt(messages, self._zone_of(context.session_id))
        (checked,), _none = await self._checker.check([fact], excerpt, memories, _deadline())
        # not dropped as foreign: the user has typed the quote at least, and is asked about the rest
        return replace(checked, is_foreign=False, doubt=Doubt.NO_SOURCE) if checked.is_foreign else checked

    async def asks_for(self, context: ToolContext, act: str, quote: str) -> bool:
        """Return True if the user has asked for an act.

        Without text of others in view nobody else can have asked. With it, another look of a model has to find that the
        cited words ask for this very act, since hostile text can have any words of the user cited. A task by the clock
        never has the user's consent to something new.

        Args:
            act: The act as a claim, such as `The user asks to be reminded to call Ann at 9`.
        """
        if context.is_task:
            return False
        return not context.provenance.is_foreign or (await self.check(context, act, quote)).doubt is None

    async def asks_to_forget(self, context: ToolContext, text: str, quote: str) -> bool:
        """Whether the user's cited words ask to delete something, by a second look."""
        request = Forgetting(text, Citation(None, quote))
        _none, (follows,) = await self._checker.check([], self._excerpt(context), (), _deadline(), [request])
        return follows

    async def keep_unconfirmed(self, context: ToolContext, new: NewEntry, doubt: Doubt) -> str:
        """Store something as unconfirmed, ask the user about it, and tell the model."""
        new = replace(new, unconfirmed=doubt, author=Author.MODEL)
        entry = await self._entries.add(context.owner, new)
        context.note_written(entry)
        if doubt is Doubt.NOT_CHECKED:
            return f"kept as {entry.name}, not confirmed yet: it is checked later, and holds from then on"
        with use_language(context.language):
            question = _("Not sure: {facts} - /memory unsure", facts=entry.content)
            context.notices.append(Notice(question, (right_or_wrong(entry.id, entry.content),)))
        return (
            f"kept as {entry.name}, not confirmed ({doubt}): the user is asked under your answer. To have it hold at "
            "once, call again with the words of theirs that say it or ask for it"
        )

    async def propose(self, context: ToolContext, description: str, proposal: Proposal) -> str:
        """Keep a change of what is there already as a proposal, ask the user, and say so to the model."""
        new = NewEntry(description, stem=PROPOSED, kind=Kind.NOTE, proposal=proposal.to_text())
        return await self.keep_unconfirmed(context, new, Doubt.NO_SOURCE)

    async def _citable(self, context: ToolContext, text: str, quote: str) -> Sequence[Message]:
        """Return the messages in view as they may be cited. Raises ToolFailed if that was forgotten."""
        forgotten = await self._entries.forgotten(context.owner)
        if not forgotten:
            return context.messages
        messages = [forgotten.masked(message) for message in context.messages]
        if typed_source(Citation(None, quote), messages) is None and forgotten.forbids(text, quote, None):
            raise ToolFailed("The user had this forgotten, so nothing was kept: it can be kept once they say it again.")
        return messages

    def _excerpt(self, context: ToolContext) -> Excerpt:
        return Excerpt(context.messages, self._zone_of(context.session_id))


def _deadline() -> float:
    return asyncio.get_running_loop().time() + LOOK_SECONDS
