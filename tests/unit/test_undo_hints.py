"""Tests of the removal of hints at /undo."""

from __future__ import annotations

import pytest
from telegram import MessageEntity

from bot.telegram.rendering import Chunk
from bot.telegram.undo_hints import remove_undo_hints


@pytest.mark.parametrize(
    ("text", "without"),
    [
        ("Noted: tea (green) (/undo takes it back)", "Noted: tea (green)"),
        ("Noted: tea (was: coffee; /undo takes it back)", "Noted: tea (was: coffee)"),
        ("Записано: чай (раніше: кава; скасувати: /undo)", "Записано: чай (раніше: кава)"),
        ("Noté : thé (avant : café ; /undo l’annule)", "Noté : thé (avant : café)"),
        ("已记下：茶（原为：咖啡；/undo 可撤销）", "已记下：茶（原为：咖啡）"),
        ("MEMORY.md was updated (/undo takes it back).", "MEMORY.md was updated."),
        ("Changed (/undo_12 takes it back)", None),
        ("/undo reverts the newest change.", None),
        ("Noted: a (/undo takes it back)\n\nNoted: b (/undo takes it back)", None),
    ],
)
def test_hint_is_removed_in_all_languages(text: str, without: str | None) -> None:
    shown = remove_undo_hints(Chunk(text), is_last=False)
    assert (shown and shown.text) == without


def test_all_hints_are_removed_after_the_last_button() -> None:
    shown = remove_undo_hints(Chunk("Noted: a (/undo undoes)\n\nNoted: b (/undo undoes)"), is_last=True)
    assert shown == Chunk("Noted: a\n\nNoted: b")


def test_entities_keep_their_words() -> None:
    text = "\N{TEACUP WITHOUT HANDLE}\N{GRINNING FACE} Hi\n\nNoted: tea (/undo takes it back)\n\nend"
    units = text.encode("utf-16-le")

    def find(words: str, kind: str) -> MessageEntity:
        before = text[: text.index(words)].encode("utf-16-le")
        return MessageEntity(kind, len(before) // 2, len(words.encode("utf-16-le")) // 2)

    entities = find("Noted: tea (/undo takes it back)", "italic"), find("/undo", "bot_command"), find("end", "bold")
    assert units[entities[2].offset * 2 :].decode("utf-16-le") == "end"
    shown = remove_undo_hints(Chunk(text, entities), is_last=True)
    assert shown is not None
    words = shown.text.encode("utf-16-le")
    marked = [
        (entity.type, words[entity.offset * 2 : (entity.offset + entity.length) * 2].decode("utf-16-le"))
        for entity in shown.entities
    ]
    assert marked == [("italic", "Noted: tea"), ("bold", "end")]
