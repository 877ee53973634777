"""What an unconfirmed memory does once a person confirms it, beside holding from then on."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from enum import StrEnum


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
    """What confirming does.

    replaces: the entries that give way to the one that is confirmed. With an action the entry only tells of it, and
    goes once that is done: entry is what it is done to, value what becomes of that (a content, a name, how a run went),
    steps those of a workflow; of an EDIT part is what is replaced, nothing for a new line.
    """

    replaces: tuple[int, ...] = ()
    action: Action | None = None
    entry: int | None = None
    value: str = ""
    part: str = ""
    steps: tuple[str, ...] = ()

    def to_text(self) -> str:
        """It as it is stored."""
        return json.dumps({key: value for key, value in asdict(self).items() if value}, ensure_ascii=False)

    @classmethod
    def from_text(cls, text: str) -> Proposal:
        """The proposal that was stored as `text`."""
        stored = json.loads(text)
        return cls(
            tuple(stored.get("replaces", ())),
            Action(stored["action"]) if "action" in stored else None,
            stored.get("entry"),
            stored.get("value", ""),
            stored.get("part", ""),
            tuple(stored.get("steps", ())),
        )
