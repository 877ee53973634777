"""Memories as JSON for the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory.clock import to_text

if TYPE_CHECKING:
    from memory.search.types import Hit
    from memory.store.entry import Entry


def entry_to_json(entry: Entry) -> dict[str, object]:
    return {
        "name": entry.name,
        "aliases": entry.aliases,
        "kind": entry.kind,
        "content": entry.content,
        "tags": entry.tags,
        "scope": entry.scope,
        "priority": entry.priority,
        "owner": entry.owner,
        "author": entry.author,
        "created_at": to_text(entry.created_at),
        "superseded_by": entry.superseded_by,
        "quote": entry.quote,
        "unconfirmed": entry.unconfirmed,
        "valid_until": to_text(entry.valid_until) if entry.valid_until else None,
    } | _outcome_to_json(entry)


def hit_to_json(hit: Hit) -> dict[str, object]:
    return {
        "name": hit.name,
        "kind": hit.kind,
        "content": hit.content,
        "score": float(f"{hit.score:.3g}"),
        "created_at": to_text(hit.created_at),
        "owner": hit.owner,
        "source": hit.source,
    } | _outcome_to_json(hit)


def _outcome_to_json(result: Entry | Hit) -> dict[str, object]:
    # Only episodes have an outcome
    return {"outcome": result.outcome} if result.outcome else {}
