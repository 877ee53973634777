"""Conversion of a capture into a new entry."""

from __future__ import annotations

from memory.capture.capture import Capture, restate
from memory.capture.classifier import CaptureKind
from memory.store.entry import TYPED_KINDS, Author, Entry, Kind, NewEntry, Priority
from memory.text.speaking import is_about_speaker


def choose_kind(captured: Capture) -> tuple[Kind, Priority | None]:
    """Return the kind and priority of a capture. Only standing instructions to the bot go into every request (S4)."""
    if captured.is_standing:
        is_policy = captured.kind is CaptureKind.CONSTRAINT
        return (Kind.POLICY, None) if is_policy else (Kind.PREFERENCE, Priority.HIGH)
    if captured.is_change:
        return Kind.FACT, None
    return {
        CaptureKind.FACT: (Kind.FACT, None),
        CaptureKind.PREFERENCE: (Kind.PREFERENCE, None),
        CaptureKind.CONSTRAINT: (Kind.FACT, Priority.HIGH),
        CaptureKind.DECISION: (Kind.DECISION, None),
        CaptureKind.CORRECTION: (Kind.FACT, Priority.HIGH),
    }[captured.kind]


def add_speaker(text: str, captured: Capture, speaker: str | None, *, is_own: bool = False) -> str:
    """Return the text to store. In a group, a statement about the speaker gets the speaker's name as a prefix.

    Args:
        is_own: A model says that it is about the speaker, even if the words don't show it.
    """
    if not speaker or captured.is_standing:
        return text
    return f"{speaker}: {text}" if is_own or is_about_speaker(text) else text


def create_new_entry(
    captured: Capture, former: Entry | None, speaker: str | None, text: str | None = None, *, is_own: bool = False
) -> NewEntry:
    """Return the entry that a capture becomes.

    Args:
        former: The memory that it corrects.
        speaker: The speaker's name in a group.
        text: The capture reworded so that it can be understood without context, or None.
        is_own: A model says that it is about the speaker.
    """
    kind, priority = choose_kind(captured)
    quote = captured.text if text is not None and text != captured.text else None
    if former is None or former.kind not in TYPED_KINDS:
        content = add_speaker(text or captured.text, captured, speaker, is_own=is_own)
        return NewEntry(content, stem=kind, kind=kind, priority=priority, author=Author.CAPTURE, quote=quote)
    # A correction keeps the kind of the memory that it corrects.
    given_priority = priority if former.kind == kind else None
    if text is None and captured.corrects and captured.becomes:
        text = restate(former.content, captured.corrects, captured.becomes)
    elif text is not None:
        text = add_speaker(text, captured, speaker, is_own=is_own)
    return NewEntry(
        text or add_speaker(captured.text, captured, speaker, is_own=is_own),
        stem=former.kind,
        kind=former.kind,
        priority=given_priority or Priority(former.priority),
        author=Author.CAPTURE,
        quote=captured.text if text is not None and text != captured.text else None,
    )
