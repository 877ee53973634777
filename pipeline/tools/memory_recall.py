"""memory_recall: the model searches everything that was said and noted, or reads one entry whole (S1, S4)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from memory.messages import Passage, Provenance, worst
from memory.retrieval.search import Filter
from memory.store.entry import TYPED_KINDS
from pipeline.tools.toolbox import Tool, ToolContext

if TYPE_CHECKING:
    from memory.retrieval.recall import Recall, Recollection
    from memory.store.reinforcement import Reinforcement
    from memory.text.tokens import TokenCounter

MOST_RESULTS = 20
MOST_TOKENS = 2_000
SHORTEST_PAGE = 10
"""Tokens of an entry's text on a page at the least, whatever its name and its source take of the result."""


def memory_recall_tool(recall: Recall, reinforcement: Reinforcement, counter: TokenCounter) -> Tool:
    """The tool over what the calling session's owner has."""

    async def memory_recall(
        context: ToolContext,
        query: Annotated[str, Field(description="a few telling words, or the name of an entry to read it whole")] = "",
        kind: Annotated[str, Field(description="only this kind, such as fact, note, message")] = "",
        path: Annotated[str, Field(description="only what is about this path")] = "",
        page: Annotated[int, Field(ge=1, description="of a long entry")] = 1,
        tokens: Annotated[int, Field(ge=50, le=MOST_TOKENS, description="longest result")] = 400,
    ) -> str | Passage:
        """Search earlier conversations and memories. Use it when the user asks about the past and you don't see it."""
        query, path = query.strip(), path.strip()
        if not query and not path:
            return "error: give a query, or a path"
        only = Filter(kinds=[kind.strip()] if kind.strip() else None, path=path or None)
        listing = _Listing(tokens, counter)
        called = await recall.called(query, context.owner, only) if query else None
        if called is not None:
            pages = listing.pages_of(called.about, called.text)
            if page > len(pages):
                return f"error: {called.name} has only {len(pages)} page{'s' if len(pages) > 1 else ''}"
            listing.add(f"- {called.about} {pages[page - 1]}", called.provenance, called.id)
        elif page > 1:
            return "error: only an entry that is asked for by its name has pages"
        if called is None or len(pages) == 1:
            listing.add_all(await _found(recall, context.owner, query, only))
        # once a turn, however often it asks
        await reinforcement.recalled(listing.entries - context.recalled)
        context.recalled.update(listing.entries)
        return listing.passage or "nothing found"

    return Tool(memory_recall)


async def _found(recall: Recall, owner: str, query: str, only: Filter) -> list[Recollection]:
    if query:
        return await recall.recall(query, owner, only, MOST_RESULTS)
    return await recall.semantic_scoped(owner, only.path or "", MOST_RESULTS, only.kinds or TYPED_KINDS)


class _Listing:
    """What is shown, within so many tokens. entries: the ids of those that are in it."""

    def __init__(self, tokens: int, counter: TokenCounter) -> None:
        self._left = tokens
        self._counter = counter
        self._lines: list[str] = []
        self._provenances: list[Provenance] = []
        self.entries: set[int] = set()

    @property
    def passage(self) -> Passage | None:
        """All of it; None where there is nothing."""
        return Passage("\n".join(self._lines), worst(self._provenances)) if self._lines else None

    def add(self, line: str, provenance: Provenance, entry: int | None) -> bool:
        """Add a line if there is room; of the first one as much as there is room for."""
        if self._counter.text(line) > self._left:
            if self._lines:
                return False
            line = f"{self._fitting(line, self._left, '…')}…"
        self._left -= self._counter.text(line) + 1
        self._lines.append(line)
        self._provenances.append(provenance)
        self.entries |= {entry} if entry is not None else set()
        return True

    def add_all(self, found: list[Recollection]) -> None:
        """Add what there is room for, an entry once."""
        for one in found:
            entry = one.hit.id if one.hit.name is not None else None
            if entry not in self.entries and not self.add(f"- {one.text}", one.provenance, entry):
                break

    def pages_of(self, about: str, text: str) -> list[str]:
        """`text` in pages that have room after `about`; where there are several, each begins with its number."""
        if self._counter.text(f"- {about} {text}") <= self._left:
            return [text]
        longest = " (page 99 of 99, page=99 shows more) "
        room = max(SHORTEST_PAGE, self._left - self._counter.text(f"- {about}{longest}"))
        parts: list[str] = []
        while text:
            part = self._fitting(text, room)
            # between words, where there are any
            end = max(part.rfind("\n"), part.rfind(" ")) + 1
            part = part if part == text or end <= len(part) // 2 else part[:end]
            parts.append(part)
            text = text[len(part) :]
        return [
            f"(page {number} of {len(parts)}{f', page={number + 1} shows more' if number < len(parts) else ''}) {part}"
            for number, part in enumerate(parts, 1)
        ]

    def _fitting(self, text: str, tokens: int, end: str = "") -> str:
        """As much of the beginning of `text` as fits with `end` after it; one character at the least."""
        while len(text) > 1 and (cost := self._counter.text(f"{text}{end}")) > tokens:
            text = text[: max(1, min(len(text) - 1, len(text) * tokens // cost))]
        return text
