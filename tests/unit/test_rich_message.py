"""Tests of reading rich messages of Bot API 10.1 as Markdown."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from telegram import Chat, Message

from bot.telegram.media import find_rich_media, format_rich_text


def create_rich_message(*blocks: Any) -> Message:
    """Return a message with these blocks, as Telegram sends it."""
    fields = {"rich_message": {"blocks": [*blocks]}}
    return Message(1, datetime(2026, 7, 1, tzinfo=UTC), Chat(7, "private"), api_kwargs=fields)


def create_paragraph(text: Any) -> dict[str, Any]:
    return {"type": "paragraph", "text": text}


@pytest.mark.parametrize(
    ("block", "markdown"),
    [
        (create_paragraph("Milk and bread"), "Milk and bread"),
        (create_paragraph(["I am ", {"type": "bold", "text": "not"}, " a nurse"]), "I am **not** a nurse"),
        (
            create_paragraph({"type": "url", "text": "here", "url": "https://example.org/"}),
            "[here](https://example.org/)",
        ),
        (create_paragraph({"type": "custom_emoji", "alternative_text": "🐝", "custom_emoji_id": "5"}), "🐝"),
        ({"type": "heading", "text": "Trip", "size": 1}, "# Trip"),
        ({"type": "pre", "text": "x = 1", "language": "python"}, "```python\nx = 1\n```"),
        (
            {"type": "blockquote", "blocks": [create_paragraph("one"), create_paragraph("two")], "credit": "Ann"},
            "> one\n> two\n> Ann",
        ),
        (
            {
                "type": "list",
                "items": [
                    {"label": "1.", "blocks": [create_paragraph("pack")]},
                    {"label": "•", "blocks": [create_paragraph("book")], "has_checkbox": True, "is_checked": True},
                ],
            },
            "1. pack\n- [x] book",
        ),
        (
            {"type": "table", "cells": [[{"text": "day"}, {"text": "km"}], [{"text": "Mon"}, {"text": "12"}]]},
            "| day | km |\n| --- | --- |\n| Mon | 12 |",
        ),
        ({"type": "details", "summary": "More", "blocks": [create_paragraph("hidden")]}, "More\nhidden"),
        ({"type": "of 2027", "text": "new", "blocks": [create_paragraph("inner")]}, "new\ninner"),
        ({"type": "photo", "photo": [], "caption": {"text": "the boat"}}, "the boat"),
    ],
)
def test_blocks_are_read_as_markdown(block: dict[str, Any], markdown: str) -> None:
    assert format_rich_text(create_rich_message(block)) == markdown


def test_photos_and_files_among_the_blocks_are_found() -> None:
    size = {"file_id": "a", "file_unique_id": "b", "width": 90, "height": 90}
    voice = {"file_id": "c", "file_unique_id": "d", "duration": 3}
    message = create_rich_message(
        {"type": "collage", "blocks": [{"type": "photo", "photo": [size]}]}, {"type": "voice_note", "voice_note": voice}
    )
    sizes, file = find_rich_media(message)
    assert isinstance(sizes, tuple)
    assert [photo.file_id for photo in sizes] == ["a"]
    assert file.to_dict()["file_id"] == "c"  # type: ignore[union-attr]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["type", "text", "blocks", "items", "cells", "label", "caption"]), inner)
    ),
    max_leaves=25,
)


@given(JSON)
def test_unexpected_json_never_fails(value: Any) -> None:
    assert isinstance(format_rich_text(create_rich_message(value)), str)
    message = Message(1, datetime(2026, 7, 1, tzinfo=UTC), Chat(7, "private"), api_kwargs={"rich_message": value})
    assert isinstance(format_rich_text(message), str)


def test_deeply_nested_blocks_are_left_out() -> None:
    block: dict[str, Any] = create_paragraph("deep")
    for _ in range(5_000):
        block = {"type": "details", "blocks": [block]}
    assert format_rich_text(create_rich_message(block)) == ""
