"""Messages of Telegram's rich composer (Bot API 10.1), which the library does not know yet: read as Markdown.

Such a message has no text of its own: `rich_message` holds blocks (paragraphs, lists, tables, quotes, media), each with
texts that are a string, a list of texts or an object around a text. What a later version adds is read for the texts
and blocks in it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from telegram import Animation, Audio, PhotoSize, TelegramObject, Video, Voice

if TYPE_CHECKING:
    from collections.abc import Iterator

    from telegram import Message

DEEPEST = 20
"""Blocks in blocks that are read; Telegram's own clients nest far fewer."""
_MARKS = {"bold": "**", "italic": "_", "strikethrough": "~~", "code": "`", "spoiler": "||"}
_MEDIA: dict[str, type[TelegramObject]] = {"animation": Animation, "audio": Audio, "video": Video, "voice_note": Voice}


def rich_text(message: Message) -> str:
    """A rich message as Markdown; empty for any other."""
    return "\n\n".join(part for part in _blocks(_blocks_of(message)) if part)


def rich_media(message: Message) -> Iterator[tuple[PhotoSize, ...] | TelegramObject]:
    """The photos (in their sizes) and files among a rich message's blocks, in their order."""
    yield from _media(_blocks_of(message), DEEPEST)


def _blocks_of(message: Message) -> list[Any]:
    rich = message.api_kwargs.get("rich_message")
    blocks = rich.get("blocks") if isinstance(rich, dict) else None
    return blocks if isinstance(blocks, list) else []


def _blocks(blocks: object, depth: int = DEEPEST) -> Iterator[str]:
    if isinstance(blocks, list) and depth:
        for block in blocks:
            if isinstance(block, dict):
                yield _block(block, depth - 1)


def _block(block: dict[str, Any], depth: int) -> str:
    """One block, in the Markdown that says the same."""
    text = _text(block.get("text", ""), depth).strip()
    match block.get("type"):
        case "heading":
            size = block.get("size")
            return f"{'#' * min(size if isinstance(size, int) and size > 0 else 2, 6)} {text}" if text else ""
        case "pre":
            return f"```{block.get('language') or ''}\n{text}\n```"
        case "divider":
            return "---"
        case "mathematical_expression":
            return str(block.get("expression", ""))
        case "list":
            return "\n".join(_items(block.get("items"), depth))
        case "table":
            return "\n".join([*_rows(block.get("cells"), depth), _text(block.get("caption", ""), depth)]).strip()
        case "blockquote":
            quoted = "\n".join(_blocks(block.get("blocks"), depth))
            return "\n".join(
                f"> {line}" for line in [*quoted.splitlines(), _text(block.get("credit", ""), depth)] if line
            )
        case "pullquote":
            return "\n".join(
                f"> {line}" for line in [*text.splitlines(), _text(block.get("credit", ""), depth)] if line
            )
        case _:
            # a paragraph, a footer, a caption, what can be opened, and what is not known here
            parts = [text, *(_text(block.get(name, ""), depth) for name in ("summary", "caption"))]
            return "\n".join(part for part in (*parts, *_blocks(block.get("blocks"), depth)) if part)


def _quote(text: str, block: dict[str, Any], depth: int) -> str:
    lines = [*text.splitlines(), _text(block.get("credit", ""), depth)]
    return "\n".join(f"> {line}" for line in lines if line)


def _items(items: object, depth: int) -> Iterator[str]:
    for item in items if isinstance(items, list) else []:
        if not isinstance(item, dict):
            continue
        label = str(item.get("label") or "-").strip()
        mark = label if label[:-1].isalnum() and label[-1] in ".)" else "-"
        box = ("[x] " if item.get("is_checked") else "[ ] ") if item.get("has_checkbox") else ""
        content = "\n".join(_blocks(item.get("blocks"), depth)).replace("\n", "\n  ")
        yield f"{mark} {box}{content}"


def _rows(rows: object, depth: int) -> Iterator[str]:
    for number, row in enumerate(rows if isinstance(rows, list) else []):
        cells = [cell for cell in row if isinstance(cell, dict)] if isinstance(row, list) else []
        yield "| " + " | ".join(_text(cell.get("text", ""), depth) for cell in cells) + " |"
        if number == 0:
            yield "|" + " --- |" * len(cells)


def _text(text: object, depth: int) -> str:
    """A text with its marks: a string, a list of texts, or an object around one."""
    if isinstance(text, str):
        return text
    if depth <= 0:
        return ""
    if isinstance(text, list):
        return "".join(_text(part, depth - 1) for part in text)
    if not isinstance(text, dict):
        return ""
    inner = _text(text.get("text", ""), depth - 1)
    mark = _MARKS.get(str(text.get("type")), "")
    if text.get("type") == "url" and isinstance(url := text.get("url"), str) and url != inner:
        return f"[{inner}]({url})"
    if not inner:  # an emoji's alternative, a formula
        return next(
            (value for name in ("alternative_text", "expression") if isinstance(value := text.get(name), str)), ""
        )
    return f"{mark}{inner}{mark}"


def _media(blocks: object, depth: int) -> Iterator[tuple[PhotoSize, ...] | TelegramObject]:
    for block in blocks if isinstance(blocks, list) and depth else []:
        if not isinstance(block, dict):
            continue
        if block.get("type") == "photo" and isinstance(sizes := block.get("photo"), list) and sizes:
            yield tuple(PhotoSize.de_json(size, None) for size in sizes)
        elif (kind := _MEDIA.get(str(block.get("type")))) and isinstance(file := block.get(str(block["type"])), dict):
            yield kind.de_json(file, None)
        yield from _media(block.get("blocks"), depth - 1)
        for item in items if isinstance(items := block.get("items"), list) else []:
            yield from _media(item.get("blocks") if isinstance(item, dict) else None, depth - 1)
