"""Entries and their vocabulary: kinds, priorities, authors, operations and proposals (S1, S4)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from enum import StrEnum

from config.texts import N_

MAX_RECORDED_RUNS = 1_000_000
"""Cap of the success and failure counts of a workflow."""


class Kind(StrEnum):
    """The kinds of entries: notes and archives (S1), typed memories (S4), episodes. Translate them for display."""

    NOTE = N_("note")
    ARCHIVE = N_("archive")
    POLICY = N_("policy")
    WORKFLOW = N_("workflow")
    PITFALL = N_("pitfall")
    ARCHITECTURE = N_("architecture")
    DECISION = N_("decision")
    PREFERENCE = N_("preference")
    FACT = N_("fact")
    EPISODE = N_("episode")


TYPED_KINDS = (
    Kind.POLICY,
    Kind.WORKFLOW,
    Kind.PITFALL,
    Kind.ARCHITECTURE,
    Kind.DECISION,
    Kind.PREFERENCE,
    Kind.FACT,
)
"""Kinds that are recalled unasked, fade and are reinforced (S4)."""


class Priority(StrEnum):
    CRITICAL = N_("critical")
    HIGH = N_("high")
    MEDIUM = N_("medium")
    NORMAL = N_("normal")


PRIORITY_RANK: Mapping[str, int] = {priority: rank for rank, priority in enumerate(Priority)}
"""Rank of each priority; 0 is the highest."""
DEFAULT_PRIORITY: Mapping[str, Priority] = {
    Kind.POLICY: Priority.CRITICAL,
    Kind.WORKFLOW: Priority.HIGH,
    Kind.PITFALL: Priority.HIGH,
    Kind.ARCHITECTURE: Priority.HIGH,
    Kind.DECISION: Priority.MEDIUM,
    Kind.PREFERENCE: Priority.MEDIUM,
}
"""Priority of an entry that is added without one (S4). Other kinds are normal."""


class Nature(StrEnum):
    """How long a memory matters, according to the model that extracted it."""

    VITAL = "vital"
    """Included in every prompt: allergies, blood type, emergency contacts, close people, home, phone."""
    STATE = "state"
    """Holds until something replaces it. The weekly consolidation never archives it."""
    EVENT = "event"
    """Happened once. It fades and gets no line in MEMORY.md."""


def get_default_priority(kind: Kind | str) -> Priority:
    return DEFAULT_PRIORITY.get(kind, Priority.NORMAL)


class Author(StrEnum):
    USER = N_("user")
    MODEL = N_("model")
    CAPTURE = N_("capture")
    CONSOLIDATION = N_("consolidation")
    COMPACTION = N_("compaction")
    IMPORT = N_("import")
    MCP = "mcp"


class Operation(StrEnum):
    """All kinds of changes (S1)."""

    ADD = "add"
    RENAME = "rename"
    ALIAS = "alias"
    WRITE = "write"
    REMOVE = "remove"
    LEARN = "learn"
    RECORD = "record"
    CONSOLIDATE = "consolidate"
    EDIT = "edit"
    CONFIRM = "confirm"
    COMPRESS = "compress"
    IMPORT = "import"
    SHARE = "share"
    WITHDRAW = "withdraw"  # the bot's owner stops the sharing of another user's entry; only they can undo it


@dataclass(frozen=True, slots=True)
class Entry:
    """One memory. `kind` is a plain string if this version does not know it."""

    id: int
    owner: str
    name: str
    aliases: tuple[str, ...]
    kind: Kind | str
    content: str
    tags: tuple[str, ...]
    scope: str | None
    priority: str
    author: str
    trusted: bool
    source_message_id: int | None
    reinforcement_count: int
    last_reinforced_at: datetime
    outcome: str | None
    steps: tuple[str, ...]
    success_count: int
    failure_count: int
    created_at: datetime
    subject: str | None
    valid_from: datetime
    superseded_by: int | None
    archived_at: datetime | None
    line: str | None = None  # its line in MEMORY.md, if any
    quote: str | None = None  # the words of its source message that support it
    unconfirmed: str | None = None  # the reason, if unconfirmed: it can be found but is never recalled unasked
    valid_until: datetime | None = None  # the time from which it is history
    # A `Proposal` as JSON: the effect of confirming it. After that, the provisionally replaced entries.
    proposal: str | None = None
    shared_at: datetime | None = None  # since when the family may read it
    shared_by: str | None = None  # the name of the person who shared it
    nature: str = Nature.STATE

    @property
    def is_rule(self) -> bool:
        """Return True if it is a rule for the bot: a policy or an important preference."""
        is_wish = self.kind == Kind.PREFERENCE and self.priority in (Priority.CRITICAL, Priority.HIGH)
        return self.kind == Kind.POLICY or is_wish


@dataclass(frozen=True, slots=True)
class NewEntry:
    """The values of an entry to add."""

    content: str
    name: str | None = None  # by default generated from `stem` and the distinctive words of `topic` or the content
    stem: str = ""
    topic: str = ""
    kind: Kind | str = Kind.NOTE
    author: Author = Author.USER
    tags: tuple[str, ...] = ()
    scope: str | None = None
    priority: Priority | None = None  # by default that of the kind
    outcome: str | None = None  # how an episode ended
    steps: tuple[str, ...] = ()  # of a workflow, in order
    source_message_id: int | None = None
    trusted: bool = True
    subject: str | None = None
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    quote: str | None = None
    unconfirmed: str | None = None
    proposal: str | None = None
    shared_by: str | None = None
    nature: Nature | str = Nature.STATE


class Action(StrEnum):
    """A proposed operation on an existing entry, or on MEMORY.md in the case of EDIT."""

    EDIT = "edit"
    WRITE = "write"
    RENAME = "rename"
    ALIAS = "alias"
    REMOVE = "remove"
    RECORD = "record"


@dataclass(frozen=True, slots=True)
class Proposal:
    """The additional effects of confirming an unconfirmed memory.

    An entry with an action only describes that action and is deleted once it is done.
    """

    replaces: tuple[int, ...] = ()  # ids of the entries that the confirmed one supersedes
    action: Action | None = None
    entry: int | None = None  # id of the entry that the action changes
    value: str = ""  # the new content or name, or the result of a run
    part: str = ""  # the part of MEMORY.md that an EDIT replaces; empty for a new line
    steps: tuple[str, ...] = ()  # of a workflow

    def to_text(self) -> str:
        return json.dumps({key: value for key, value in asdict(self).items() if value}, ensure_ascii=False)

    @classmethod
    def from_text(cls, text: str) -> Proposal:
        stored = json.loads(text)
        lists = {name: tuple(stored[name]) for name in ("replaces", "steps") if name in stored}
        return cls(**stored | lists | ({"action": Action(stored["action"])} if "action" in stored else {}))


@dataclass(frozen=True, slots=True)
class Details:
    """Details of an entry that replace its former ones. None keeps them."""

    steps: Sequence[str] | None = None
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    quote: str | None = None
    subject: str | None = None
    nature: Nature | None = None
    kind: Kind | None = None


NO_DETAILS = Details()


def build_kind_columns(entry: Entry, kind: Kind) -> dict[str, object]:
    """Return the columns that change an entry's kind. Its priority becomes the default of the new kind."""
    return {"kind": kind, "priority": get_default_priority(kind)} if kind != entry.kind else {}


def inherit_nature(former: Entry, nature: Nature | str) -> str:
    """Return the nature of an entry that supersedes `former`. A new home is as vital as the last one."""
    return Nature.VITAL if former.nature == Nature.VITAL and nature != Nature.EVENT else nature
