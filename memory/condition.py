"""A health report of one owner's memory: size of MEMORY.md, contradicting rules, faded and archived memories."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from memory.clock import Clock
from memory.facts.rules import may_contradict, read_rules
from memory.files.markdown import MarkdownFiles
from memory.store.database import Database
from memory.store.decay import Decay
from memory.store.entry import TYPED_KINDS, Entry
from memory.store.entry_rows import LIVE, sql_list

FULL_SHARE = 0.95
"""MEMORY.md counts as full from this share of its limit. The program itself fills less of it."""
_KINDS = sql_list(TYPED_KINDS)


@dataclass(frozen=True, slots=True)
class Condition:
    """The condition of an owner's memory.

    Attributes:
        size: Size of MEMORY.md in bytes.
        limit: Maximum size of MEMORY.md in bytes.
        contradicting: Pairs of rules that may contradict each other, the newest first.
        faded: Number of memories that are too weak to activate without a matching message.
        archived: Number of archived memories, which are no longer used in prompts.
    """

    size: int
    limit: int
    contradicting: tuple[tuple[Entry, Entry], ...]
    faded: int
    archived: int

    @property
    def is_full(self) -> bool:
        return self.size >= self.limit * FULL_SHARE


@dataclass(frozen=True, slots=True)
class ConditionInspector:
    database: Database
    files: MarkdownFiles
    decay: Decay
    limit: int
    clock: Clock

    async def inspect(self, owner: str) -> Condition:
        rules = await read_rules(self.database, owner)
        pairs = itertools.combinations(rules, 2)
        rows = await self.database.rows(
            "SELECT kind, reinforcement_count, last_reinforced_at FROM entries e WHERE owner_id ="
            f" (SELECT id FROM owners WHERE name = ?) AND kind IN ({_KINDS}) AND {LIVE} AND nature <> 'vital'",
            (owner,),
        )
        archived = await self.database.value(
            "SELECT count(*) FROM entries WHERE owner_id = (SELECT id FROM owners WHERE name = ?)"
            " AND archived_at IS NOT NULL AND deleted_at IS NULL AND superseded_by IS NULL",
            (owner,),
        )
        return Condition(
            len((await self.files.read_long_term(owner)).encode()),
            self.limit,
            tuple((one, other) for one, other in pairs if may_contradict(one.content, other.content)),
            self.decay.count_faded(rows, self.clock()),
            int(archived),
        )

    async def list_owners(self) -> list[str]:
        return [row["name"] for row in await self.database.rows("SELECT name FROM owners ORDER BY id")]
