"""The report of an import: its counts, and its texts for the user."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime

from bot.features.imports.items import ImportRefused, SkippedItem
from config.texts import _, ngettext

MAX_PLACES = 3
"""Maximum number of unreadable items with a place in the report."""
MAX_SPEAKERS_SHOWN = 10


@dataclass(slots=True)
class ImportReport:
    """The counts of an import.

    Attributes:
        known: The number of conversations and memories that are stored already.
        changed: The number of messages with a changed text.
        places: The places of unreadable items, at most MAX_PLACES.
        unreadable: The number of all unreadable items.
        speakers: For each program, the number of messages by speaker in the chats that don't say who the user is.
        is_user_unknown: Whether the user is still unknown in one of these chats.
    """

    program: str
    conversations: int = 0
    messages: int = 0
    memories: int = 0
    known: int = 0
    changed: int = 0
    secrets: int = 0
    first: datetime | None = None
    last: datetime | None = None
    left_out: Counter[str] = field(default_factory=Counter)
    places: list[str] = field(default_factory=list)
    unreadable: int = 0
    speakers: dict[str, Counter[str]] = field(default_factory=dict)
    is_user_unknown: bool = False

    @property
    def is_empty(self) -> bool:
        return not self.conversations and not self.memories

    def count_skipped(self, item: SkippedItem) -> None:
        self.left_out[item.what] += 1
        if item.place:
            self.unreadable += 1
            if len(self.places) < MAX_PLACES:
                self.places.append(item.place)


def describe(report: ImportReport, *, is_preview: bool = False) -> str:
    counts = format_counts(report)
    if is_preview:
        return _("Would be imported from {program}: {what}.", program=report.program, what=counts)
    return _("Imported from {program}: {what}.", program=report.program, what=counts)


def format_counts(report: ImportReport) -> str:
    parts = []
    if report.messages and report.first is not None and report.last is not None:
        parts.append(
            ngettext(
                "{n} conversation ({messages} messages, {first} to {last})",
                "{n} conversations ({messages} messages, {first} to {last})",
                report.conversations,
                messages=report.messages,
                first=f"{report.first:%Y-%m-%d}",
                last=f"{report.last:%Y-%m-%d}",
            )
        )
    if report.changed:
        parts.append(ngettext("{n} changed message", "{n} changed messages", report.changed))
    if report.memories:
        parts.append(ngettext("{n} memory", "{n} memories", report.memories))
    return ", ".join(parts) or _("nothing new")


def format_left_out(report: ImportReport) -> list[str]:
    lines = []
    if report.known:
        lines.append(_("Already there: {n}.", n=report.known))
    if report.left_out:
        what = ", ".join(f"{_(what)} ({count})" for what, count in report.left_out.most_common())
        lines.append(_("Left out: {what}.", what=what))
    if report.places:
        places = "; ".join(report.places)
        if more := report.unreadable - len(report.places):
            lines.append(_("Unreadable: {places} and {n} more.", places=places, n=more))
        else:
            lines.append(_("Unreadable: {places}.", places=places))
    if report.secrets:
        lines.append(ngettext("{n} message had a secret masked.", "{n} messages had secrets masked.", report.secrets))
    return lines


def rank_speakers(report: ImportReport) -> list[str]:
    """Return the speakers of the chats that don't say who the user is, most messages first."""
    counted = sum(report.speakers.values(), Counter[str]())
    return sorted(counted, key=lambda name: (-counted[name], name))


def list_speakers(report: ImportReport) -> str:
    names = rank_speakers(report)
    listed = ", ".join(names[:MAX_SPEAKERS_SHOWN])
    if more := len(names) - MAX_SPEAKERS_SHOWN:
        return _("{names} and {n} more", names=listed, n=more) if more > 0 else listed
    return listed


class UnknownUser(ImportRefused):
    """Raised if the file doesn't say which speaker is the user."""

    def __init__(self, report: ImportReport) -> None:
        super().__init__(
            _(
                "The file doesn't say which of the speakers is you ({names}): send it to me in a chat, where I can"
                " ask.",
                names=list_speakers(report),
            )
        )
        self.speakers = rank_speakers(report)[:MAX_SPEAKERS_SHOWN]
