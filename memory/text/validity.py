"""Valid Unicode for stores and protocols, and text without invisible characters for people."""

from __future__ import annotations

import re
import unicodedata

_HIDING = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Unicode categories: control, format, surrogates, private use, unassigned, line and paragraph separators."""
_JOINERS = frozenset("\u200c\u200d\ufe0f")
"""Characters that emoji and some scripts need between the characters that they join."""
# A surrogate pair, half of one, or any other JSON escape, so that an escaped backslash is skipped correctly.
_ESCAPES = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    rb"|(?P<half>\\u[dD][89a-fA-F][0-9a-fA-F]{2})|\\(?:.|\Z)",
    re.DOTALL,
)
_PAIR_BYTES = 12
_MAX_MARKS = 30
_GRAPHEME_JOINER = "\u034f"
_MAYBE_MARKS = re.compile(rf"[^\w\s\x00-\x7f]{{{_MAX_MARKS + 1},}}")
"""Candidates for long runs of combining marks. It also matches emoji and punctuation, which pass unchanged."""


def make_storable(text: str) -> str:
    """Return `text` as valid UTF-8. Separated surrogates are paired again, and single ones become U+FFFD.

    Long runs of combining marks are broken up as in Unicode's Stream-Safe Text Format (UAX #15), since the time to
    normalize them grows quadratically.
    """
    if text.isascii():
        return text
    # Models write half a surrogate pair if a stream cuts an emoji in two.
    paired = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return _MAYBE_MARKS.sub(lambda run: _limit_marks(run.group()), paired)


def replace_invalid(text: str) -> str:
    """Return storable text with U+FFFD instead of NUL, which some protocols reject."""
    if text.isascii() and "\0" not in text:
        return text  # Nearly always. A request contains hundreds of texts.
    return make_storable(text).replace("\0", "\ufffd")


def _limit_marks(run: str) -> str:
    pieces: list[str] = []
    marks = 0
    for character in run:
        marks = marks + 1 if unicodedata.combining(character) else 0
        if marks > _MAX_MARKS:
            pieces.append(_GRAPHEME_JOINER)
            marks = 1
        pieces.append(character)
    return "".join(pieces)


def replace_invalid_in_json(value: object) -> object:
    """Return a JSON value with valid text in all strings and keys. Raises RecursionError if it is nested too deeply."""
    match value:
        case str():
            return replace_invalid(value)
        case dict():
            return {replace_invalid(str(key)): replace_invalid_in_json(inner) for key, inner in value.items()}
        case list() | tuple():
            return [replace_invalid_in_json(inner) for inner in value]
    return value


def escape_invisible(text: str) -> str:
    r"""Replace invisible characters and direction overrides in `text` by escapes such as `\u202e`.

    Line breaks and tabs are kept.
    """
    if text.isascii() and text.isprintable():
        return text
    shown: list[str] = []
    for at, character in enumerate(text):
        joins = character in _JOINERS and 0 < at < len(text) - (character != "\ufe0f") and not text[at - 1].isascii()
        if character in "\n\t" or joins or unicodedata.category(character) not in _HIDING:
            shown.append(character)
        else:
            code = ord(character)
            shown.append(f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}")
    return "".join(shown)


class JsonRepair:
    """Replaces single surrogates in a JSON stream by U+FFFD. Chunks may be cut anywhere."""

    def __init__(self) -> None:
        self._rest = b""

    def repair(self, chunk: bytes) -> bytes:
        """Return the repaired data except for an unfinished pair of escapes at the end."""
        return self._repair(self._rest + chunk, _PAIR_BYTES)

    def finish(self) -> bytes:
        return self._repair(self._rest, 0)

    def _repair(self, data: bytes, held_bytes: int) -> bytes:
        pieces: list[bytes] = []
        at, end = 0, len(data)
        for escape in _ESCAPES.finditer(data):
            if escape.start() > len(data) - held_bytes:
                end = escape.start()
                break
            if escape["half"]:
                pieces += (data[at : escape.start()], b"\\ufffd")
                at = escape.end()
        self._rest = data[end:]
        return b"".join((*pieces, data[at:end]))
