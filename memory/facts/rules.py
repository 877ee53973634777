"""Rules: the user's lasting instructions, and pairs of them that may contradict each other."""

from __future__ import annotations

from memory.store.database import Database
from memory.store.entry import Entry, Kind, Priority
from memory.store.entry_rows import CURRENT, read_entries
from memory.text.classes import classify_first
from memory.text.values import differ_in_value
from memory.text.wording import split_comparable
from memory.text.words import STOP_WORDS

MAX_RULES = 60
# Words of a rule that don't belong to its subject.
_RULE_WORDS = frozenset({"NEVER", "ALWAYS", "NOT", "FROMNOW", "ANYMORE", "PLEASE"})
_NEGATIONS = frozenset({"NEVER", "NOT"})
_IS_RULE = f"(e.kind = '{Kind.POLICY}' OR (e.kind = '{Kind.PREFERENCE}' AND e.priority = '{Priority.HIGH}'))"


async def read_rules(database: Database, owner: str) -> list[Entry]:
    """Return the rules of an owner, the newest first."""
    where = f"{_IS_RULE} AND {CURRENT} AND e.archived_at IS NULL AND o.name = ? ORDER BY e.id DESC LIMIT ?"
    return await read_entries(database.rows, where, (owner, MAX_RULES))


def may_contradict(rule: str, other: str) -> bool:
    """Return True if two rules differ only in a value or a negation, so that they may contradict each other."""
    if differ_in_value(rule, other):
        return True
    one, two = _forbids(rule), _forbids(other)
    subject = extract_subject(rule)
    return one != two and bool(subject) and subject == extract_subject(other)


def extract_subject(rule: str) -> list[str]:
    """Return the words of a rule that tell what it is about."""
    return [
        word
        for word in split_comparable(rule)
        if word not in STOP_WORDS and _RULE_WORDS.isdisjoint(classify_first(word))
    ]


def _forbids(rule: str) -> bool:
    return any(not _NEGATIONS.isdisjoint(classify_first(word)) for word in split_comparable(rule))
