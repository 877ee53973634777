"""Paged reading for the recall tool, the commands and MCP clients.

MemoryReader returns pages of results: the best hits of several queries, every mention of a subject, or the messages
around one. It uses recall.py to select and rank hits.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from itertools import zip_longest
from zoneinfo import ZoneInfo

from memory.clock import from_text, to_text
from memory.errors import MnemeError
from memory.messages import Passage, Provenance, find_least_trusted
from memory.search.formatting import HitFormatter, add_speaker, cut_excerpt, find_quotes
from memory.search.paging import LINES_PER_FETCH, Line, NoSuchPage, Paging, ResultPage, cut_to_tokens
from memory.search.recall import Recall
from memory.search.recall_results import RecallResult
from memory.search.search import SCORE, Search, build_conditions, build_sources
from memory.search.types import Filter, Hit
from memory.store.database import Database, Row
from memory.store.entry import TYPED_KINDS
from memory.store.index import IN_PART, ROW, get_part_parameters, split_row
from memory.text.query_terms import QueryTerms
from memory.text.tokens import TokenCounter
from memory.text.words import build_mention_expressions

_MENTIONED = f"""
whole AS (SELECT {ROW} AS row FROM search WHERE search MATCH :whole AND {IN_PART}),
found AS MATERIALIZED (SELECT {ROW} AS row, {SCORE} AS score FROM search WHERE search MATCH :some AND {IN_PART})
"""
_SAID = """
found AS MATERIALIZED (
    SELECT 2 * e.id AS row, 0.0 AS score FROM entries e
        JOIN names n ON n.entry_id = e.id AND NOT n.is_alias WHERE (:owner_id IS NULL OR e.owner_id = :owner_id)
    UNION ALL SELECT 2 * m.id + 1, 0.0 FROM conversations c JOIN spoken m ON m.conversation_id = c.id
        WHERE (:owner_id IS NULL OR c.owner_id = :owner_id) AND m.created_at >= :from AND m.created_at < :to),
whole AS (SELECT row FROM found)
"""
_ALWAYS = ("0001", "9999")


@dataclass(frozen=True, slots=True)
class Mention:
    """An exchange or an entry that mentions a subject.

    Attributes:
        row: The row in the index. For an exchange, that of its first matching message.
        whole: Whether it contains all telling words of a subject.
        day: The day in the chat's time zone.
        conversation: None for an entry.
    """

    row: int
    whole: bool
    score: float
    at: datetime
    day: date
    conversation: int | None
    turn: int | None


async def find_mentions(
    database: Database, owner: str | None, subjects: Sequence[str], only: Filter, zone: ZoneInfo
) -> list[Mention]:
    """Return every mention of the subjects, by one owner or by all. Without subjects, return everything.

    Mentions that contain all words of a subject come first. They are grouped by conversation and day. The group with
    the best hit comes first, or without subjects the oldest one, and each group is sorted by time.
    """
    owner_id = None
    if owner is not None:
        owner_id = await database.value("SELECT id FROM owners WHERE name = ?", (owner,))
        if owner_id is None:
            return []
    where, parameters = build_conditions(only, owner_id)
    if subjects:
        expressions = build_mention_expressions(subjects)
        if expressions is None:
            return []
        condition = _MENTIONED
        parameters |= get_part_parameters(owner_id) | dict(zip(("whole", "some"), expressions, strict=True))
    else:
        condition = _SAID
        bounds = (to_text(end) if end else never for end, never in zip((only.since, only.until), _ALWAYS, strict=True))
        parameters |= dict(zip(("from", "to"), bounds, strict=True)) | {"owner_id": owner_id}
    rows = await database.rows(
        f"WITH {condition}, hits AS ({build_sources([(only.kinds, None)])})"
        " SELECT b.row, b.score, b.created_at, b.row IN (SELECT row FROM whole) AS whole, m.conversation_id, m.turn_id"
        f" FROM hits b LEFT JOIN messages m ON b.row % 2 = 1 AND m.id = b.row / 2 {where} ORDER BY b.row",
        parameters,
    )
    return _group_mentions(_merge_exchanges(rows, zone))


def _merge_exchanges(rows: Sequence[Row], zone: ZoneInfo) -> list[Mention]:
    """Merge the rows of an exchange into its first message with all words, or its first message."""
    results: dict[tuple[bool, int], Mention] = {}
    for row in rows:
        at = from_text(row["created_at"])
        mention = Mention(
            row["row"],
            bool(row["whole"]),
            row["score"],
            at,
            at.astimezone(zone).date(),
            row["conversation_id"],
            row["turn_id"],
        )
        key = (mention.turn is None, mention.row if mention.turn is None else mention.turn)
        earlier = results.get(key)
        if earlier is None:
            results[key] = mention
        else:
            better = mention if mention.whole and not earlier.whole else earlier
            results[key] = replace(better, score=max(mention.score, earlier.score))
    return list(results.values())


def _group_mentions(mentions: Sequence[Mention]) -> list[Mention]:
    groups: dict[tuple[object, ...], list[Mention]] = {}
    for mention in mentions:
        # All entries are one group, independent of their days.
        day = mention.day if mention.conversation is not None else None
        groups.setdefault((mention.whole, mention.conversation, day), []).append(mention)
    for group in groups.values():
        group.sort(key=lambda mention: (mention.at, mention.row))
    ordered = sorted(
        groups.values(),
        key=lambda group: (not group[0].whole, -max(mention.score for mention in group), group[0].at, group[0].row),
    )
    return [mention for group in ordered for mention in group]


@dataclass(frozen=True, slots=True)
class KindStats:
    """The entries of one kind, and the tokens of their contents."""

    kind: str
    entries: int
    tokens: int


class MemoryStats:
    def __init__(self, database: Database, counter: TokenCounter) -> None:
        self._database = database
        self._counter = counter

    async def count_by_kind(self, owner: str) -> list[KindStats]:
        """Return the counts for each kind, including archived and superseded entries."""
        rows = await self._database.rows(
            "SELECT e.kind, e.content FROM entries e JOIN owners o ON o.id = e.owner_id"
            " WHERE o.name = ? AND e.deleted_at IS NULL",
            (owner,),
        )
        entries, tokens = Counter[str](), Counter[str]()
        for row in rows:
            entries[row["kind"]] += 1
            tokens[row["kind"]] += self._counter.count(row["content"])
        return [KindStats(kind, entries[kind], tokens[kind]) for kind in sorted(entries)]

    async def find_sole_owner(self) -> str | None:
        """Return the name of the only owner, or None if there are several or none."""
        names = await self.list_owners(2)
        return names[0] if len(names) == 1 else None

    async def list_owners(self, most: int = 1_000) -> list[str]:
        rows = await self._database.rows("SELECT name FROM owners ORDER BY id LIMIT ?", (most,))
        return [row["name"] for row in rows]


MAX_RESULTS = 30
"""Maximum number of results across all pages of a query. Each exchange counts once."""
MAX_LINE_CHARS = 160
"""Characters of a message or an entry in a list."""
MAX_ID_BITS = 63
MAX_MESSAGES_AROUND = 30
"""Messages to read before a message, and as many after it."""
MAX_AROUND_CHARS = 1_000
"""Characters of each surrounding message. The message itself may fill the page."""
WHOLE = "These hold all words of a query:"
SOME = "These hold only some of the words:"
_LIMIT = MAX_MESSAGES_AROUND + 1
_BEFORE = f"SELECT * FROM spoken WHERE conversation_id = :conversation AND id < :id ORDER BY id DESC LIMIT {_LIMIT}"
_AFTER = f"SELECT * FROM spoken WHERE conversation_id = :conversation AND id > :id ORDER BY id LIMIT {_LIMIT}"
_ONE = (
    "SELECT m.* FROM spoken m JOIN conversations c ON c.id = m.conversation_id JOIN owners o ON o.id = c.owner_id"
    " WHERE m.id = ? AND o.name = ?"
)


class NoSuchMessage(MnemeError):
    """The requested message does not exist. The text says what to do."""


@dataclass(frozen=True, slots=True)
class ReadRequest:
    """Filters and paging of a request.

    Attributes:
        page: The page number, from 1.
        tokens: Maximum tokens of the page.
        prompt: The prompt of the model that asks. Exchanges that it quotes already are left out.
    """

    only: Filter
    page: int
    tokens: int
    prompt: str = ""


class MemoryReader:
    def __init__(self, recall: Recall, search: Search, database: Database, counter: TokenCounter) -> None:
        self._recall = recall
        self._search = search
        self._database = database
        self._counter = counter

    def get_zone(self, owner: str | None) -> ZoneInfo:
        return self._recall.create_formatter(owner).zone

    async def search(self, queries: Sequence[str], owner: str, requested: ReadRequest) -> ResultPage | None:
        """Return a page of the best hits of the queries, alternating between them, or None without hits.

        Entries with a query as their name come first and in full. If the only query names a long entry, the pages are
        those of the entry. The first line counts the results that were left out. Raises NoSuchPage.
        """
        paging = Paging(requested.tokens, self._counter)
        called = {
            hit.id: hit
            for query in queries
            if (hit := await self._recall.find_by_name(query, owner, requested.only)) is not None
        }
        lines: list[Line] = []
        for entry in called.values():
            pages = paging.split_into_pages(f"- {entry.about}", entry.text)
            texts = [Line(f"- {entry.about} {text}", entry.provenance, entry.id) for text in pages]
            if len(queries) == 1 and len(pages) > 1:
                return _build_entry_page(texts, requested.page, entry.name)
            lines += texts[:1]
        groups = [
            await self._recall.recall(query, owner, requested.only, MAX_RESULTS, numbered=True) for query in queries
        ]
        unique = _deduplicate(hit for turns in zip_longest(*groups) for hit in turns if hit is not None)
        quoted = find_quotes(requested.prompt)
        unseen = [hit for hit in unique if hit.said not in quoted]
        lines += [_format_result(hit) for hit in unseen if hit.hit.name is None or hit.hit.id not in called]
        left_out = len(unique) - len(unseen)
        return await _build_page(
            paging, lines, requested.page, f"({left_out} quoted to you already)" if left_out else ""
        )

    async def find_for_path(self, path: str, owner: str, requested: ReadRequest) -> ResultPage | None:
        """Return a page of the memories for a path, or None without memories."""
        kinds = requested.only.kinds or TYPED_KINDS
        results = await self._recall.find_for_path(owner, path, MAX_RESULTS, kinds)
        return await _build_page(
            Paging(requested.tokens, self._counter), [_format_result(result) for result in results], requested.page
        )

    async def find_every(self, subjects: Sequence[str], owner: str, requested: ReadRequest) -> ResultPage | None:
        """Return a page of all mentions of the subjects, a line each, or None without mentions.

        They are grouped by conversation and day, and the first line counts them. Without subjects everything is
        returned, oldest first. Raises NoSuchPage.
        """
        mentions = await self._find_mentions(subjects, owner, requested.only)
        if not mentions:
            return None
        whole = sum(mention.whole for mention in mentions)
        head = f"{whole} found"
        if subjects:
            head = f"{whole} with all words of a query, {len(mentions) - whole} more with some of them"
        query_terms, formatter = QueryTerms(" ".join(subjects)), self._recall.create_formatter(owner)
        has_both = 0 < whole < len(mentions)

        async def fetch(start: int) -> list[Line]:
            chunk = mentions[start : start + LINES_PER_FETCH]
            present = await self._read_hits(chunk)
            return [
                _format_mention(mention, hit, query_terms, formatter, has_both=has_both) for mention, hit in present
            ]

        return await Paging(requested.tokens, self._counter).fill_page(fetch, len(mentions), requested.page, f"{head}:")

    async def find_mentioning(self, subjects: Sequence[str], owner: str | None, only: Filter) -> list[Hit]:
        """Return all mentions as hits, by one owner or by all. An exchange is its first matching message."""
        return [hit for _, hit in await self._read_hits(await self._find_mentions(subjects, owner, only))]

    async def _find_mentions(self, subjects: Sequence[str], owner: str | None, only: Filter) -> list[Mention]:
        return await find_mentions(self._database, owner, subjects, only, self.get_zone(owner))

    async def _read_hits(self, mentions: Sequence[Mention]) -> list[tuple[Mention, Hit]]:
        """Return the mentions with their hits, without those that were forgotten since."""
        hits = {
            (hit.turn_id, hit.id): hit for hit in await self._search.read_hits([mention.row for mention in mentions])
        }
        return [
            (mention, hits[key]) for mention in mentions if (key := (mention.turn, split_row(mention.row)[1])) in hits
        ]

    async def read_around(self, message: int, owner: str, tokens: int) -> Passage:
        """Return a message with as many surrounding messages as fit in `tokens`. Raises NoSuchMessage."""
        item = await self._database.row(_ONE, (message, owner)) if message.bit_length() <= MAX_ID_BITS else None
        if item is None:
            raise NoSuchMessage(f"there is no message {message}: take a number that memory_recall has shown")
        formatter = self._recall.create_formatter(owner)
        place = {"conversation": item["conversation_id"], "id": message}
        before, after = await self._database.rows(_BEFORE, place), await self._database.rows(_AFTER, place)
        room = (
            tokens
            - self._counter.count(_format_more_hint("before", 9_999_999) + _format_more_hint("after", 9_999_999))
            - 2
        )
        texts = {message: cut_to_tokens(_format_row(item, formatter), max(1, room), self._counter)}
        room -= self._counter.count(texts[message]) + 1
        # Take messages after it first, since they usually tell more. A side ends if a message doesn't fit.
        sides = {"after": iter(after[:MAX_MESSAGES_AROUND]), "before": iter(before[:MAX_MESSAGES_AROUND])}
        counts = {"after": 0, "before": 0}
        while sides:
            for side, rows in list(sides.items()):
                row = next(rows, None)
                text = _format_row(row, formatter, MAX_AROUND_CHARS) if row is not None else ""
                cost = self._counter.count(text) + 1
                if row is None or cost > room:
                    del sides[side]
                    continue
                room -= cost
                texts[row["id"]] = text
                counts[side] += 1
        lines = [texts[number] for number in sorted(texts)]
        lines[:0] = [_format_more_hint("before", min(texts))] if len(before) > counts["before"] else []
        lines += [_format_more_hint("after", max(texts))] if len(after) > counts["after"] else []
        read = [item, *before[: counts["before"]], *after[: counts["after"]]]
        return Passage("\n".join(lines), find_least_trusted(Provenance(row["provenance"] or "typed") for row in read))


def _format_mention(
    mention: Mention, hit: Hit, query_terms: QueryTerms, formatter: HitFormatter, *, has_both: bool
) -> Line:
    tier = (WHOLE if mention.whole else SOME,) if has_both else ()
    if mention.conversation is None:
        text = formatter.format_entry(hit, query_terms, MAX_LINE_CHARS)
        return Line(f"- {text}", hit.provenance, hit.id, (*tier, "[entries]"))
    at = hit.created_at.astimezone(formatter.zone)
    wording = add_speaker(hit.source, hit.provenance, cut_excerpt(hit.content, query_terms, MAX_LINE_CHARS))
    return Line(
        f"- {at:%H:%M}, message {hit.id}: {wording}",
        hit.provenance,
        headings=(*tier, f"[{at:%Y-%m-%d}, conversation]"),
    )


def _format_row(row: Row, formatter: HitFormatter, most: int | None = None) -> str:
    text = " ".join(row["content"].split())
    text = text if most is None or len(text) <= most else f"{text[:most]}…"
    text_of_row = add_speaker(row["speaker"] or row["role"], Provenance(row["provenance"] or "typed"), text)
    return f"- [{formatter.format_moment(from_text(row['created_at']))}, message {row['id']}] {text_of_row}"


def _format_more_hint(side: str, number: int) -> str:
    return f"(more was said {side}: around={number})"


def _deduplicate(results: Iterable[RecallResult]) -> list[RecallResult]:
    return list(
        {(result.hit.turn_id, result.hit.turn_id or result.hit.id): result for result in reversed([*results])}.values()
    )[::-1]


def _format_result(result: RecallResult) -> Line:
    return Line(f"- {result.text}", result.provenance, result.hit.id if result.hit.name is not None else None)


async def _build_page(paging: Paging, lines: Sequence[Line], number: int, head: str = "") -> ResultPage | None:
    async def fetch(start: int) -> Sequence[Line]:
        return lines[start : start + LINES_PER_FETCH]

    return await paging.fill_page(fetch, len(lines), number, head) if lines or head else None


def _build_entry_page(pages: Sequence[Line], number: int, name: str) -> ResultPage:
    if number > len(pages):
        raise NoSuchPage(f"{name} has only {len(pages)} pages")
    line = pages[number - 1]
    return ResultPage(number, [line.text], [line.provenance], {line.entry} if line.entry is not None else set())
