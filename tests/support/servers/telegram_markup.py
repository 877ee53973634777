"""The parse modes MarkdownV2, HTML and Markdown, as strict as Telegram is with them.

Left out: MarkdownV2's expandable quotes (`**>` and a closing `||`), and the language of code in HTML.
"""

from __future__ import annotations

import html
import re
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from tests.support.servers.telegram_params import bad_request
from tests.support.servers.telegram_text import Entity, FormattedText, utf16_length

if TYPE_CHECKING:
    from collections.abc import Callable

_RESERVED = frozenset("_*[]()~`>#+-=|{}.!")
# the longest first, where one mark begins with another
_MARKS = {
    "```": "pre",
    "__": "underline",
    "||": "spoiler",
    "![": "custom_emoji",
    "*": "bold",
    "_": "italic",
    "~": "strikethrough",
    "`": "code",
    "[": "text_link",
}
_CLOSING = {"![": "]", "[": "]"}
_NAMES = {
    "pre": "Pre",
    "underline": "Underline",
    "spoiler": "Spoiler",
    "custom_emoji": "CustomEmoji",
    "bold": "Bold",
    "italic": "Italic",
    "strikethrough": "Strikethrough",
    "code": "Code",
    "text_link": "TextUrl",
}
_TAGS = {
    "b": "bold", "strong": "bold", "i": "italic", "em": "italic", "u": "underline", "ins": "underline",
    "s": "strikethrough", "strike": "strikethrough", "del": "strikethrough", "tg-spoiler": "spoiler",
    "span": "spoiler", "a": "text_link", "code": "code", "pre": "pre", "blockquote": "blockquote",
    "tg-emoji": "custom_emoji",
}  # fmt: skip
_TAG = re.compile(r"<(?P<end>/?)(?P<name>[a-zA-Z0-9-]*)(?P<attributes>[^<>]*)>")
_TARGET = re.compile(r"""(?:href|emoji-id)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""")
_CHARACTER = re.compile(r"&(?:lt|gt|amp|quot|#\d+|#x[0-9a-fA-F]+);")


class _Open(NamedTuple):
    """An entity whose end has not come yet."""

    mark: str
    type: str
    start: int
    at: int
    url: str | None = None
    language: str | None = None


class _Parse:
    """A text being parsed: what has been read, what it came to, and which entities are open."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.at = 0
        self.text = ""
        self.length = 0
        self.open: list[_Open] = []
        self.entities: list[Entity] = []

    def add(self, text: str) -> None:
        """Take `text` over into the result."""
        self.text += text
        self.length += utf16_length(text)

    def refuse(self, reason: str, at: int | None = None) -> Exception:
        """The error, with the place in the source it is about, which Telegram counts in bytes."""
        place = "" if at is None else f" at byte offset {len(self.source[:at].encode())}"
        return bad_request(f"can't parse entities: {reason}{place}")

    def begin(self, mark: str, kind: str, *, url: str | None = None, language: str | None = None) -> None:
        """Open an entity here."""
        self.open.append(_Open(mark, kind, self.length, self.at, url, language))

    def end(self, *, url: str | None = None) -> None:
        """Close the innermost entity; one without text, without its URL or inside of code is left out."""
        begun = self.open.pop()
        length = self.length - begun.start
        target = (url if url is not None else begun.url) or None
        in_code = any(outer.type in {"code", "pre"} for outer in self.open)
        if not length or in_code or (begun.type in {"text_link", "custom_emoji"} and target is None):
            return
        entity = Entity(begun.type, begun.start, length, target, begun.language)
        if begun.type == "custom_emoji":
            entity = replace(entity, url=None, custom_emoji_id=(target or "").rpartition("=")[2])
        self.entities.append(entity)

    def result(self) -> FormattedText:
        """The text, with its entities outermost first."""
        ordered = sorted(self.entities, key=lambda entity: (entity.offset, -entity.length))
        return FormattedText(self.text, tuple(ordered))


def parse_markup(text: str, mode: str) -> FormattedText:
    """The text with the entities its markup stands for."""
    parse = _MODES.get(mode.lower())
    if parse is None:
        raise bad_request("unsupported parse_mode")
    return parse(_Parse(text))


def _markdown_v2(parse: _Parse) -> FormattedText:
    source = parse.source
    while parse.at < len(source):
        character = source[parse.at]
        following = source[parse.at + 1 : parse.at + 2]
        if character == "\\" and following and following.isascii():
            parse.add(following)
            parse.at += 2
        elif parse.open and _closes(parse):
            _close_markdown(parse)
        elif character not in _RESERVED or (parse.open and parse.open[-1].type in {"code", "pre"}):
            parse.add(character)
            parse.at += 1
            if character == "\n":
                _end_quote(parse)
        else:
            _open_markdown(parse)
    _end_quote(parse)
    if parse.open:
        raise parse.refuse(f"Can't find end of {_NAMES[parse.open[-1].type]} entity", parse.open[-1].at)
    return parse.result()


def _closes(parse: _Parse) -> bool:
    mark = parse.open[-1].mark
    closing = _CLOSING.get(mark, mark)
    if mark == "_" and parse.source.startswith("__", parse.at):
        return False
    return mark != ">" and parse.source.startswith(closing, parse.at)


def _close_markdown(parse: _Parse) -> None:
    mark = parse.open[-1].mark
    parse.at += len(_CLOSING.get(mark, mark))
    if mark not in _CLOSING:
        parse.end()
        return
    url = ""
    if parse.source.startswith("(", parse.at):
        end = parse.at + 1
        while parse.source[end : end + 1] not in {")", ""}:
            end += 2 if parse.source[end] == "\\" else 1
        if end >= len(parse.source):
            raise parse.refuse("Can't find end of a URL", parse.at)
        url = re.sub(r"\\(.)", r"\1", parse.source[parse.at + 1 : end])
        parse.at = end + 1
    elif mark == "![":
        raise parse.refuse("Custom emoji entity must contain a tg://emoji URL")
    parse.end(url=url)


def _open_markdown(parse: _Parse) -> None:
    source = parse.source
    begins_line = parse.at == 0 or source[parse.at - 1] in "\r\n"
    if begins_line and source[parse.at] == ">":
        if not any(begun.mark == ">" for begun in parse.open):
            parse.begin(">", "blockquote")
        parse.at += 1
        return
    mark = next((mark for mark in _MARKS if source.startswith(mark, parse.at)), None)
    if mark is None:
        character = source[parse.at]
        raise parse.refuse(f"Character '{character}' is reserved and must be escaped with the preceding '\\'")
    language = None
    skipped = len(mark)
    if mark == "```" and (header := re.match(r"([^\s`]*)[ ]?\n?", source[parse.at + 3 :])):
        language = header[1] or None
        skipped += header.end()
    parse.begin(mark, _MARKS[mark], language=language)
    parse.at += skipped


def _end_quote(parse: _Parse) -> None:
    """Close an open quote unless the next line goes on with it."""
    if parse.source.startswith(">", parse.at) or not any(begun.mark == ">" for begun in parse.open):
        return
    if parse.open[-1].mark != ">":
        raise parse.refuse(f"Can't find end of {_NAMES[parse.open[-1].type]} entity", parse.open[-1].at)
    parse.end()


def _markdown(parse: _Parse) -> FormattedText:
    marks = {mark: _MARKS[mark] for mark in ("```", "*", "_", "`", "[")}
    source = parse.source
    while parse.at < len(source):
        if source[parse.at] == "\\" and source[parse.at + 1 : parse.at + 2] in {"_", "*", "`", "["}:
            parse.add(source[parse.at + 1])
            parse.at += 2
            continue
        mark = next((mark for mark in marks if source.startswith(mark, parse.at)), None)
        if mark is None:
            parse.add(source[parse.at])
            parse.at += 1
            continue
        closing = _CLOSING.get(mark, mark)
        end = source.find(closing, parse.at + len(mark))
        if end < 0:
            raise parse.refuse("Can't find end of the entity starting", parse.at)
        parse.begin(mark, marks[mark])
        parse.add(source[parse.at + len(mark) : end])
        parse.at = end
        _close_markdown(parse)
    return parse.result()


def _html(parse: _Parse) -> FormattedText:
    source = parse.source
    while parse.at < len(source):
        if source[parse.at] == "<":
            tag = _TAG.match(source, parse.at)
            if tag is None:
                raise parse.refuse("Unclosed start tag", parse.at)
            _take_tag(parse, tag)
            parse.at = tag.end()
        elif character := _CHARACTER.match(source, parse.at):
            parse.add(html.unescape(character[0]))
            parse.at = character.end()
        else:
            parse.add(source[parse.at])
            parse.at += 1
    if parse.open:
        raise parse.refuse(f'Can\'t find end tag corresponding to start tag "{parse.open[-1].mark}"')
    return parse.result()


def _take_tag(parse: _Parse, tag: re.Match[str]) -> None:
    name = tag["name"].lower()
    if tag["end"]:
        if not parse.open:
            raise parse.refuse("Unexpected end tag", parse.at)
        if parse.open[-1].mark != name:
            expected = parse.open[-1].mark
            place = len(parse.source[: parse.at].encode())
            raise parse.refuse(f'Unmatched end tag at byte offset {place}, expected "</{expected}>", found "</{name}>"')
        parse.end()
        return
    if name not in _TAGS:
        raise parse.refuse(f'Unsupported start tag "{name}"', parse.at)
    if name == "span" and "tg-spoiler" not in tag["attributes"]:
        raise parse.refuse('Tag "span" must have class "tg-spoiler"', parse.at)
    target = _TARGET.search(tag["attributes"]) if name in {"a", "tg-emoji"} else None
    parse.begin(name, _TAGS[name], url=html.unescape(target[target.lastindex or 0]) if target else None)


_MODES: dict[str, Callable[[_Parse], FormattedText]] = {
    "markdownv2": _markdown_v2,
    "markdown": _markdown,
    "html": _html,
}
