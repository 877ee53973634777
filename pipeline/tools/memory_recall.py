"""The memory_recall tool: search, list and read everything that was said and noted."""

from __future__ import annotations

from typing import Annotated

from pydantic import AliasChoices, Field

from memory.messages import Passage  # Not under TYPE_CHECKING: the toolbox evaluates annotations.
from memory.search.memory_reader import MemoryReader, ReadRequest
from memory.search.paging import ResultPage
from memory.search.types import MESSAGE_KIND, Filter
from memory.store.entry import Kind
from memory.text.spans import parse_span
from pipeline.tools.toolbox import Texts, Tool, ToolContext

MAX_QUERIES = 8
MAX_RESULT_TOKENS = 2_000
KINDS = (*map(str, Kind), MESSAGE_KIND)


def memory_recall_tool(reading: MemoryReader) -> Tool:
    async def memory_recall(
        context: ToolContext,
        queries: Annotated[
            Texts,
            Field(
                max_length=MAX_QUERIES,
                validation_alias=AliasChoices("queries", "query"),
                description="words, or an entry's name to read it whole",
            ),
        ] = [],  # noqa: B006  # pydantic reads it, and nothing changes it.
        every: Annotated[bool, Field(description="list all mentions")] = False,
        since: Annotated[str, Field(description="2026-02-28 or 2026-02")] = "",
        until: str = "",
        around: Annotated[int, Field(description="message to read around")] = 0,
        kinds: Annotated[
            Texts,
            Field(validation_alias=AliasChoices("kinds", "kind"), description="fact, note, message"),
        ] = [],  # noqa: B006  # pydantic reads it, and nothing changes it.
        path: Annotated[str, Field(description="about this path")] = "",
        page: Annotated[int, Field(ge=1)] = 1,
        tokens: Annotated[int, Field(ge=50, le=MAX_RESULT_TOKENS)] = 800,
    ) -> str | Passage:
        """Search what was said and noted. Lists, counts, "all", "ever": up to five queries, reworded and by parts."""
        path = path.strip()
        if around:
            return await reading.read_around(around, context.owner, tokens)
        begins, ends = parse_span(since, until, reading.get_zone(context.owner))
        known_kinds = [_normalize_kind(kind) for kind in kinds]
        only = Filter(kinds=known_kinds or None, path=path or None, since=begins, until=ends)
        request = ReadRequest(only, page, tokens, context.recalled_text)
        if queries and not every:
            result_page = await reading.search(queries, context.owner, request)
        elif queries or begins or ends:
            result_page = await reading.find_every(queries, context.owner, request)
        elif path:
            result_page = await reading.find_for_path(path, context.owner, request)
        else:
            return "error: give queries, a time (since, until), a path, or a message to read around"
        return _record(result_page, context) if result_page is not None else _explain_nothing_found(known_kinds)

    def _record(result_page: ResultPage, context: ToolContext) -> Passage:
        context.recalled.update(result_page.entries)
        return result_page.passage

    return Tool(memory_recall)


def _normalize_kind(kind: str) -> str:
    """Return the name of a kind that was given in the plural or in capitals. Unknown kinds are returned unchanged."""
    lower = kind.lower()
    return next((name for name in KINDS if lower in (name, f"{name}s", f"{name[:-1]}ies")), kind)


def _explain_nothing_found(kinds: list[str]) -> str:
    unknown = [kind for kind in kinds if kind not in KINDS]
    hint = f"; there is no kind {unknown[0]}, but {', '.join(KINDS)}" if unknown else ""
    return f"nothing found{hint}"
