"""Decides which captures can be stored without asking a model: orders to the bot and single plain statements.

The whole message counts. A sentence next to a request may be the text that the request is about, so it is only a
candidate.
"""

from __future__ import annotations

from memory.capture.capture import Capture, ParsedSentence, capture_statements, parse_sentences
from memory.capture.classifier import load_classifier
from memory.text.classes import classify_words, split_pieces
from memory.text.words import is_small_talk

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
