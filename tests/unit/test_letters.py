"""What was read of an update when it came is used once, and only while the inbox still says the same."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from telegram import Bot, User

from bot.telegram import updates as letters
from bot.telegram.updates import Letters, RawUpdate
from memory.service.mailbox import InboxItem
from tests.support.fakes import FakeChannel

if TYPE_CHECKING:
    from bot.telegram.updates import Letter

ANN = 1001


@pytest.fixture
def reading() -> Letters:
    me = User(99, "Mneme", is_bot=True, username="mneme_test_bot")
    me.set_bot(Bot("123:abc"))
    return Letters(me, FakeChannel(), (), ())


def update(number: int, text: str) -> RawUpdate:
    person = {"id": ANN, "is_bot": False, "first_name": "Ann"}
    chat = {"id": ANN, "type": "private", "first_name": "Ann"}
    message = {"message_id": number, "date": 1_770_000_000, "chat": chat, "from": person, "text": text}
    return RawUpdate(number, json.dumps({"update_id": number, "message": message}))


def came(reading: Letters, raw: RawUpdate) -> tuple[InboxItem, Letter]:
    """An update that came, as the inbox keeps it, and its letter."""
    letter = reading.read(raw)[1]
    assert letter is not None
    reading.keep(raw, letter)
    return InboxItem(1, raw.id, f"telegram:{ANN}", raw.payload, held=False, received_at=datetime.now(UTC)), letter


def test_what_was_read_when_it_came_is_not_read_again(reading: Letters) -> None:
    item, letter = came(reading, update(1, "hello"))
    assert reading.of_item(item) is letter
    again = reading.of_item(item)
    assert again == letter
    assert again is not letter


def test_what_was_changed_in_the_inbox_since_is_read_as_it_is_now(reading: Letters) -> None:
    item, _ = came(reading, update(1, "helo"))
    now = reading.of_item(replace(item, payload=update(1, "hello").payload))
    assert now is not None
    assert now.arrival.text == "hello"


def test_a_crowd_does_not_fill_the_memory(reading: Letters, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(letters, "MOST_AT_HAND", 2)
    found = [came(reading, update(number, "hello")) for number in (1, 2, 3)]
    assert [reading.of_item(item) is letter for item, letter in found] == [False, True, True]
