"""The vocabulary of entries: kinds, authors, operations, the entry itself, and what may wait for a yes (S1, S4)."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from config.texts import N_

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime


MOST_RECORDED = 1_000_000
"""Where the counts of a workflow's successes and failures stop."""


class Kind(StrEnum):
    """What an entry is: notes and archives (S1), typed memories (S4), episodes. To be translated where it is shown."""

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
"""The kinds that activate, fade and are reinforced (S4)."""


class Priority(StrEnum):
    CRITICAL = N_("critical")
    HIGH = N_("high")
    MEDIUM = N_("medium")
    NORMAL = N_("normal")


PRIORITY_RANK: Mapping[str, int] = {priority: rank for rank, priority in enumerate(Priority)}
"""Where each priority stands among all; the highest has 0."""
DEFAULT_PRIORITY: Mapping[str, Priority] = {
    Kind.POLICY: Priority.CRITICAL,
    Kind.WORKFLOW: Priority.HIGH,
    Kind.PITFALL: Priority.HIGH,
    Kind.ARCHITECTURE: Priority.HIGH,
    Kind.DECISION: Priority.MEDIUM,
    Kind.PREFERENCE: Priority.MEDIUM,
}
"""The priority of a kind where none is given (S4); of all other kinds it is normal."""


class Nature(StrEnum):
    """How long a memory matters, as the model that extracted it says."""

    VITAL = "vital"
    """It is in every prompt: allergies, blood type, emergency contacts, close people, home, phone."""
    STATE = "state"
    """It holds until something replaces it. The weekly tidying never archives it."""
    EVENT = "event"
    """It happened once. It fades, and is no line of MEMORY.md."""


def default_priority(kind: Kind | str) -> Priority:
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
    """The closed set of changes (S1)."""

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
    WITHDRAW = "withdraw"  # by the bot's owner, of what another has shared: only the owner undoes it


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing in the memory store. kind is a plain string where this version does not know it."""

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
    line: str | None = None  # of MEMORY.md, word for word, if one was written for it
    quote: str | None = None  # the words of its message that bear it out
    unconfirmed: str | None = None  # why not; then it is found, but stands in no prompt unasked
    valid_until: datetime | None = None  # from then on it is history
    # what confirming it does besides (`Proposal`); of a confirmed one: what it has put aside until a judgement
    proposal: str | None = None
    shared_at: datetime | None = None  # since when the family may know it
    shared_by: str | None = None  # the name of the person who shared it
    nature: str = Nature.STATE

    @property
    def is_rule(self) -> bool:
        """Return True if it is a rule for the bot: a policy, or a wish that stands in every prompt."""
        is_wish = self.kind == Kind.PREFERENCE and self.priority in (Priority.CRITICAL, Priority.HIGH)
        return self.kind == Kind.POLICY or is_wish


@dataclass(frozen=True, slots=True)
class NewEntry:
    """What Add is given."""

    content: str
    name: str | None = None  # None: made of `stem` and the telling words of `topic`, or else of the content
    stem: str = ""
    topic: str = ""
    kind: Kind | str = Kind.NOTE
    author: Author = Author.USER
    tags: tuple[str, ...] = ()
    scope: str | None = None
    priority: Priority | None = None  # None: that of the kind
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
    """What is proposed to be done to something that there is already. EDIT: to MEMORY.md."""

    EDIT = "edit"
    WRITE = "write"
    RENAME = "rename"
    ALIAS = "alias"
    REMOVE = "remove"
    RECORD = "record"


@dataclass(frozen=True, slots=True)
class Proposal:
    """What an unconfirmed memory does once a person confirms it, beside holding from then on.

    With an action the entry only tells of it, and goes once that is done.
    """

    replaces: tuple[int, ...] = ()  # the entries that give way to the confirmed one
    action: Action | None = None
    entry: int | None = None  # what the action is done to
    value: str = ""  # what becomes of that: a content, a name, how a run went
    part: str = ""  # of MEMORY.md, what an EDIT replaces; nothing for a new line
    steps: tuple[str, ...] = ()  # of a workflow

    def to_text(self) -> str:
        return json.dumps({key: value for key, value in asdict(self).items() if value}, ensure_ascii=False)

    @classmethod
    def from_text(cls, text: str) -> Proposal:
        stored = json.loads(text)
        lists = {name: tuple(stored[name]) for name in ("replaces", "steps") if name in stored}
        return cls(**stored | lists | ({"action": Action(stored["action"])} if "action" in stored else {}))
