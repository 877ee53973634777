"""memory_recall: the model searches everything that was said and noted (S1, S4)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from memory.messages import Passage, Provenance, worst
from memory.retrieval.search import Filter
from memory.store.entry import TYPED_KINDS
from pipeline.tools.toolbox import Tool, ToolContext

if TYPE_CHECKING:
    from memory.retrieval.recall import Recall
    from memory.store.reinforcement import Reinforcement
    from memory.text.tokens import TokenCounter

MOST_RESULTS = 20
MOST_TOKENS = 2_000


def memory_recall_tool(recall: Recall, reinforcement: Reinforcement, counter: TokenCounter) -> Tool:
    """The tool over what the calling session's owner has."""

    async def memory_recall(
        context: ToolContext,
        query: Annotated[str, Field(description="a few telling words")] = "",
        kind: Annotated[str, Field(description="only this kind, such as fact, note, message")] = "",
        path: Annotated[str, Field(description="only what is about this path")] = "",
        tokens: Annotated[int, Field(ge=50, le=MOST_TOKENS, description="longest result")] = 400,
    ) -> str | Passage:
        """Search earlier conversations and memories. Use it when the user asks about the past and you don't see it."""
        if not query.strip() and not path.strip():
            return "error: give a query, or a path"
        if query.strip():
            only = Filter(kinds=[kind.strip()] if kind.strip() else None, path=path.strip() or None)
            found = await recall.recall(query, context.owner, only, MOST_RESULTS)
        else:
            found = await recall.semantic_scoped(
                context.owner, path, MOST_RESULTS, [kind.strip()] if kind.strip() else TYPED_KINDS
            )
        lines: list[str] = []
        provenances: list[Provenance] = []
        shown: set[int] = set()
        for one in found:
            line = f"- {one.text}"
            if counter.text(line) > tokens:
                if lines:
                    break
                line = _cut(line, tokens, counter)
            tokens -= counter.text(line) + 1
            lines.append(line)
            provenances.append(one.provenance)
            shown |= {one.hit.id} if one.hit.name is not None else set()
        # once a turn, however often it asks
        await reinforcement.recalled(shown - context.recalled)
        context.recalled.update(shown)
        return Passage("\n".join(lines), worst(provenances)) if lines else "nothing found"

    return Tool(memory_recall)


def _cut(line: str, tokens: int, counter: TokenCounter) -> str:
    """As much of the beginning of `line` as `tokens` hold."""
    while (cost := counter.text(f"{line}…")) > tokens:
        line = line[: min(len(line) - 1, len(line) * tokens // cost)]
    return f"{line}…"
