"""Decides which captures can be stored without asking a model, and makes entries of captures.

Certain are orders to the bot and single plain statements.

The whole message counts. A sentence next to a request may be the text that the request is about, so it is only a
candidate.
"""

from __future__ import annotations

from bot.features.capture.classifier import CaptureKind, load_classifier
from bot.features.capture.statements import Capture, ParsedSentence, capture_statements, parse_sentences, restate
from memory.store.entry import TYPED_KINDS, Author, Entry, Kind, NewEntry, Priority
from memory.text.classes import classify_words, split_pieces
from memory.text.speaking import is_about_speaker
from memory.text.words import is_small_talk


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


MAX_CERTAIN_CHARS = 300
"""A longer message was likely pasted, so nothing in it is certain."""
MAX_STATEMENT_CHARS = 120
MIN_MARGIN = 1.5
"""Log-odds that a certain statement has above the threshold of the classifier."""
_HANDLING = frozenset({"MAKE", "EDIT", "GAME", "SCENE", "TEXTTHING", "CODE", "SAY"})
_FLEETING = frozenset(
    {
        *("FEEL", "TODAY", "NOW", "LAST", "IF", "MAYBE", "THINK", "WANT", "LATE", "WEATHER", "LAUGH", "BRIEFLY"),
        *("CANYOU", "QW", "THIS", "HE", "THEY", "YOU", "YOUR", "NEXTONE", "DAY", "DONE", "PAST", "quoted"),
    }
)
"""Word classes of statements that depend on the moment or the conversation, or are only supposed."""
_SELF = frozenset({"I", "MY", "WE", "OUR"})


def is_certain_order(text: str, order: Capture) -> bool:
    """Return True if `order` is surely meant for the bot, and is not part of a text that the message hands over.

    It must be a whole sentence. Only statements may precede it, and no other sentence may ask to process a text.
    """
    if not order.is_standing or len(text) > MAX_CERTAIN_CHARS:
        return False
    before = True
    found = False
    for sentence in parse_sentences(text):
        is_order = not found and sentence.core.rstrip(" .!。！?？").endswith(_fold(order.text))
        if is_order:
            found, before = True, False
            if not _is_whole(sentence, order) or _classify(sentence.core)[:1] in ([frozenset({"I"})], []):
                return False
        elif is_small_talk(sentence.said):
            continue
        elif _asks_to_process(sentence) or (before and not capture_statements(sentence.typed)):
            return False
    return found


def is_certain_statement(text: str, statement: Capture) -> bool:
    """Return True if `text` consists of `statement` only, about the user, and doesn't depend on context."""
    sentences = [sentence for sentence in parse_sentences(text) if not is_small_talk(sentence.said)]
    if len(sentences) != 1 or len(text) > MAX_STATEMENT_CHARS or ":" in text or "\n" in text.strip():
        return False
    sentence = sentences[0]
    names = frozenset().union(*_classify(sentence.core))
    model = load_classifier()
    return (
        _is_whole(sentence, statement)
        and names.isdisjoint(_HANDLING | _FLEETING)
        and bool(names & _SELF)
        and model.score(sentence.said) >= model.header.at_once + MIN_MARGIN
    )


def asks_to_process_text(text: str) -> bool:
    """Return True if a sentence of `text` asks to process a text or to imagine something."""
    return any(_asks_to_process(sentence) for sentence in parse_sentences(text))


def _asks_to_process(sentence: ParsedSentence) -> bool:
    return sentence.introduces_text or not _HANDLING.isdisjoint(frozenset().union(*_classify(sentence.core)))


def _is_whole(sentence: ParsedSentence, capture: Capture) -> bool:
    """Return True if the capture is the whole sentence without fillers."""
    return len(_fold(sentence.core)) - len(_fold(capture.text)) <= 1


def _classify(text: str) -> list[frozenset[str]]:
    return classify_words(split_pieces(text))


def _fold(text: str) -> str:
    return text.strip(" \t.!?…。！？;:,")
