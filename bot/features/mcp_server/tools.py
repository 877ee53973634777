"""The tools of the MCP server.

They show what the owner sees with /memory and /recall. New facts get the author `mcp`. They are confirmed only if words
that the user typed support them. All others wait for the user's confirmation and are not used in prompts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated
from urllib.parse import quote as percent_encoded

from pydantic import AliasChoices, Field

from bot.cli.memory_json import entry_to_json
from bot.services import MemoryServices
from config.numbers import NUMBER
from config.secrets import mask_secrets
from memory.errors import MnemeError, Postponed
from memory.facts.checker import FactChecker
from memory.facts.fact import CheckedFact, Citation, Doubt, Fact, KnownMemory
from memory.facts.fact_learner import LearnedMemory
from memory.log.quoted import QuotedMessages
from memory.search.formatting import cut_excerpt
from memory.search.memory_reader import MAX_RESULTS, ReadRequest
from memory.search.recall_results import RecallResult
from memory.search.types import Filter, Hit
from memory.store.entry import TYPED_KINDS, Author, Entry, Kind, NewEntry
from memory.store.entry_rows import MAX_CONTENT_CHARS, refuse_secret
from memory.text.query_terms import QueryTerms
from pipeline.tools.cited_writes import CitedWrites
from pipeline.tools.entries import stats_tool
from pipeline.tools.memory_recall import MAX_QUERIES
from pipeline.tools.toolbox import Texts, Tool, ToolContext

MAX_QUERY_CHARS = 2_000
"""Maximum length of a query, a name or a quote. Longer ones only take more time."""
MAX_ANSWER_TOKENS = 8_000
"""Maximum number of tokens in an answer of memory_recall, or in the context of a message."""
MAX_SEARCH_RESULTS = 10
MAX_TITLE_CHARS = 100
MEMORY = "memory://"
ENTRIES, MESSAGES = f"{MEMORY}entries/", f"{MEMORY}messages/"
# Ids of the results of `search`.
_FETCHED = re.compile(rf"(?P<kind>entry|message):(?P<number>{NUMBER})")

Query = Annotated[str, Field(max_length=MAX_QUERY_CHARS)]


class NotFound(MnemeError):
    """No memory or message has the requested id."""


class MemoryTools:
    """The tools for the memory of an installation.

    Args:
        checker: verifies new facts.
    """

    def __init__(self, memory: MemoryServices, checker: FactChecker) -> None:
        self._memory = memory
        self._quoted = QuotedMessages(memory.database, memory.search)
        self._writes = CitedWrites(checker, memory.entries, memory.zone_of)
        self._unchecked_writes = CitedWrites(FactChecker(None), memory.entries, memory.zone_of)
        self.reading = [
            Tool(function) for function in (self.memory_recall, self.memory_get, self.search, self.fetch)
        ] + [stats_tool(memory.stats)]
        self.learning = Tool(self.memory_learn, writes=True)
        self.forgetting = Tool(self.memory_forget, writes=True)

    async def memory_recall(
        self,
        context: ToolContext,
        queries: Annotated[
            Texts,
            Field(
                min_length=1,
                max_length=MAX_QUERIES,
                validation_alias=AliasChoices("queries", "query"),
                description="questions or words, each looked up by itself; the name of a memory reads it whole",
            ),
        ],
        limit: Annotated[int, Field(ge=1, le=MAX_RESULTS, description="results at most")] = MAX_SEARCH_RESULTS,
    ) -> str:
        """Search what the user said in earlier conversations and what is remembered of them, best first.

        Each line has its date and source. What is marked unconfirmed or superseded does not hold.
        """
        shortened = [query[:MAX_QUERY_CHARS] for query in queries]
        page = await self._memory.reading.search(shortened, context.owner, ReadRequest(Filter(), 1, MAX_ANSWER_TOKENS))
        return mask_secrets("\n".join(page.lines[:limit])) if page is not None else "nothing found"

    async def memory_get(self, context: ToolContext, name: Query) -> str:
        """Read one memory whole, by its name: what it says, since when, where it came from, whether it is confirmed."""
        return await self.read_entry(context.owner, name)

    async def memory_learn(
        self,
        context: ToolContext,
        text: Annotated[
            str, Field(max_length=MAX_CONTENT_CHARS, description="one fact about the user, in one sentence")
        ],
        quote: Annotated[
            str,
            Field(
                max_length=MAX_QUERY_CHARS,
                description="the user's own words that say so, as they typed them in a conversation with Mneme",
            ),
        ] = "",
    ) -> str:
        """Remember a fact about the user. Without words of theirs that bear it out it waits until they confirm it."""
        # Before it is used in a search or shown to a model
        refuse_secret(f"{text}\n{quote}")
        checked = await self._check_fact(context, text, quote)
        repeated = _find_first_typed(checked.repeats)
        if checked.doubt is None and repeated is not None:
            return mask_secrets(f"known already as {repeated.name}: {repeated.content}")
        replaced = _find_first_typed(checked.replaces) if checked.doubt is None and not checked.is_past else None
        new = NewEntry(
            text,
            stem=Kind.FACT,
            kind=Kind.FACT,
            author=Author.MCP,
            quote=checked.quote,
            source_message_id=checked.message.id if checked.message is not None else None,
            unconfirmed=checked.doubt,
            valid_until=checked.message.created_at if checked.message is not None and checked.is_past else None,
        )
        # By its id, since another change may have given the name to its successor
        learned = await self._memory.learning.learn(context.owner, new, f"#{replaced.id}" if replaced else None)
        return mask_secrets(_describe_outcome(learned))

    async def memory_forget(self, context: ToolContext, name: Query) -> str:
        """Delete one memory by its name. The user can take that back with /undo."""
        removed = await self._memory.entries.remove(context.owner, name, Author.MCP)
        return f"forgotten: {removed.name}: {mask_secrets(removed.content)}"

    async def search(self, context: ToolContext, query: Query) -> str:
        """Search the user's memories and conversations; gives ids, titles and addresses, to be read with fetch."""
        results = await self._memory.recall.recall(query, context.owner, Filter(), MAX_SEARCH_RESULTS)
        return _to_json({"results": [_result_to_json(result, query) for result in results]})

    async def fetch(self, context: ToolContext, id: Query) -> str:  # noqa: A002  # The name that OpenAI's clients use
        """Read one result of search whole, by its id."""
        match = _FETCHED.fullmatch(id)
        if match is None:
            raise NotFound(f"there is no {id[:80]!r}: take an id that search has given")
        number = int(match["number"])
        document: dict[str, object]
        if match["kind"] == "message":
            document = {
                "title": f"Conversation around message {number}",
                "text": await self.read_conversation(context.owner, number),
                "url": f"{MESSAGES}{number}",
                "metadata": {"kind": "message"},
            }
        else:
            entry = await self._memory.entries.get(context.owner, f"#{number}")
            values = _mask_secrets(entry_to_json(entry))
            metadata = {key: str(value) for key, value in values.items() if value and key not in ("content", "name")}
            document = {
                "title": _mark_title(entry.name, entry),
                "text": values["content"],
                "url": f"{ENTRIES}{percent_encoded(entry.name, safe='')}",
                "metadata": metadata,
            }
        return _to_json({"id": id, **document})

    async def read_entry(self, owner: str, name: str) -> str:
        """Return an entry as JSON. Raises MemoryRefused if there is no such name."""
        return _to_json(_mask_secrets(entry_to_json(await self._memory.entries.get(owner, name))))

    async def read_conversation(self, owner: str, message: int) -> str:
        """Return a message with its context. Raises NoSuchMessage."""
        passage = await self._memory.reading.read_around(message, owner, MAX_ANSWER_TOKENS)
        return mask_secrets(passage.text)

    async def read_long_term(self, owner: str) -> str:
        return mask_secrets(await self._memory.long_term.read(owner))

    async def _check_fact(self, context: ToolContext, text: str, quote: str) -> CheckedFact:
        messages = await self._quoted.find_around(quote, context.owner)
        context = replace(context, messages=tuple(messages))
        memories: list[KnownMemory] = []
        if messages:
            fact = Fact("", text, Kind.FACT, citation=Citation(None, quote))
            memories = await self._memory.facts.find_related(context.owner, [fact], messages[0].id or 0)
        try:
            return await self._writes.check(context, text, quote, memories)
        except Postponed:  # A user is waiting for the model
            return await self._unchecked_writes.check(context, text, quote, memories)


def _find_first_typed(memories: Sequence[KnownMemory]) -> Entry | None:
    """Return the first typed memory that a fact repeats or replaces. Notes and lines of MEMORY.md are not changed."""
    return next((m.entry for m in memories if m.entry is not None and m.entry.kind in TYPED_KINDS), None)


def _describe_outcome(learned: LearnedMemory) -> str:
    entry = learned.entry
    known = "known already" if learned.known else "saved"
    if entry.unconfirmed is None:
        instead = f" instead of: {learned.superseded.content}" if learned.superseded else ""
        return f"{known} as {entry.name}: {entry.content}{instead}"
    if entry.unconfirmed == Doubt.NOT_CHECKED:
        return f"{known} as {entry.name}, not confirmed: it is checked later, and holds from then on"
    return (
        f"{known} as {entry.name}, not confirmed: it holds once the user confirms it (/memory unsure in their chat), "
        "or with a quote of theirs that says it"
    )


def _mark_title(name: str, memory: Hit | Entry) -> str:
    """Mark a title as unconfirmed or superseded."""
    if memory.unconfirmed is not None:
        return f"[unconfirmed] {name}"
    return f"[superseded] {name}" if memory.superseded_by is not None else name


def _result_to_json(result: RecallResult, query: str) -> dict[str, str]:
    hit = result.hit
    if hit.name is None:
        title = cut_excerpt(result.text, QueryTerms(query), MAX_TITLE_CHARS)
        return {"id": f"message:{hit.id}", "title": mask_secrets(title), "url": f"{MESSAGES}{hit.id}"}
    title = f"{_mark_title(hit.name, hit)}: {cut_excerpt(hit.content, QueryTerms(query), MAX_TITLE_CHARS)}"
    url = f"{ENTRIES}{percent_encoded(hit.name, safe='')}"
    return {"id": f"entry:{hit.id}", "title": mask_secrets(title), "url": url}


def _mask_secrets(values: dict[str, object]) -> dict[str, object]:
    # Before the conversion to JSON: secrets are recognized by the words around them
    return {key: mask_secrets(value) if isinstance(value, str) else value for key, value in values.items()}


def _to_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
