"""Consistency checks of the records that FTS5 stores for an index in addition to its words.

FTS5's own `integrity-check` only reads the lists of words. It ignores the sizes of documents, the averages used for
ranking, and the end of the table that maps words to pages. If one of these is damaged, a search fails or misses words.
"""

from __future__ import annotations

import sqlite3

_AVERAGES = 1
"""The id of the averages in the `_data` table."""
_SEGMENT_BITS = 37
"""The id of a page is its segment's number, shifted by this number of bits, plus the page number."""
_PAGE = "(id & 0x7fffffff)"
_IS_LEAF = f"id >= 1 << {_SEGMENT_BITS} AND (id >> 31) & 63 = 0"
_HEADER_BYTES = 4
_TABLES = ("", "_config", "_data", "_docsize", "_idx")


def find_trouble(connection: sqlite3.Connection, index: str) -> str | None:
    """Return a description of the first defect, or None. Raise sqlite3.Error if the records can't be read."""
    there = {row[0] for row in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    for end in _TABLES:
        if f"{index}{end}" not in there:
            return f"{index}{end} is missing"
    columns = len(connection.execute(f"SELECT * FROM {index} LIMIT 0").description)
    averages = connection.execute(f"SELECT block FROM {index}_data WHERE id = ?", (_AVERAGES,)).fetchone()
    if averages is None:
        return f"{index}: the averages are missing"
    expected = _decode_integers(averages[0])
    if expected == []:
        expected = [0] * (columns + 1)
    totals = [0] * (columns + 1)
    for row, size in connection.execute(f"SELECT id, sz FROM {index}_docsize"):
        sizes = _decode_integers(size)
        if sizes is None or len(sizes) != columns:
            return f"{index}: the size of row {row} can't be read"
        totals[0] += 1
        for column, words in enumerate(sizes, 1):
            totals[column] += words
    if expected != totals:
        return f"{index}: the averages don't fit the rows"
    return _find_lost_page(connection, index)


def _find_lost_page(connection: sqlite3.Connection, index: str) -> str | None:
    known = {(row[0], row[1] >> 1) for row in connection.execute(f"SELECT segid, pgno FROM {index}_idx")}
    leaves = connection.execute(
        f"SELECT id >> {_SEGMENT_BITS}, {_PAGE}, substr(block, 1, {_HEADER_BYTES}), length(block)"
        f" FROM {index}_data WHERE {_IS_LEAF}"
    )
    for segment, page, header, length in leaves:
        # The second number in a page's header is the offset of its word list, or the page's length without a list.
        begins_words = isinstance(header, bytes) and int.from_bytes(header[2:], "big") < length
        if begins_words and (segment, page) not in known:
            return f"{index}: page {page} of segment {segment} isn't found by its words"
    return None


def _decode_integers(record: object) -> list[int] | None:
    """Decode a record of SQLite varints. Return None if it is truncated."""
    if not isinstance(record, bytes):
        return None
    if record.isascii():  # All numbers are below 128: one byte each.
        return list(record)
    results: list[int] = []
    value = count = 0
    for byte in record:
        count += 1
        if count == 9:  # The ninth byte has no continuation bit.
            value = value << 8 | byte
        else:
            value = value << 7 | byte & 0x7F
            if byte & 0x80:
                continue
        results.append(value)
        value = count = 0
    return results if count == 0 else None
