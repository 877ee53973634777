"""Which buttons stand under the replies of a channel, and what a press of one of them does to them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from memory.store.button_rows import PLACED, PRESSABLE, placed

if TYPE_CHECKING:
    from memory.buttons import PlacedKeyboard
    from memory.store.database import Database, Row


class ClaimResult(StrEnum):
    """What a press came to."""

    NOW = "now"
    BEFORE = "before"
    TOO_LATE = "too late"


@dataclass(frozen=True, slots=True)
class PressedButton:
    """A button that somebody presses. said: what it says for them. asker: who may press it, where that is one person.

    reply: the number of the reply that it stands under, in the outbox. again: a press uses up nothing.
    """

    id: str
    reply: int
    session_id: str
    said: str
    in_place: bool
    again: bool
    asker: str | None


class Buttons:
    """The buttons of one channel. They are kept, so they can be pressed after a restart."""

    def __init__(self, database: Database, channel: str) -> None:
        self._database = database
        self._channel = channel

    async def find(self, button_id: str) -> PressedButton | None:
        """The button of that id; None for one that was never there, or that is gone with its reply."""
        return await self._first(
            "SELECT b.*, o.session_id FROM buttons b JOIN outbox o ON o.id = b.outbox_id"
            " WHERE b.id = ? AND NOT b.by_reply AND o.channel = ?",
            (button_id, self._channel),
        )

    async def asked(self, session_id: str, reply_to: str, message_id: str | None) -> PressedButton | None:
        """The question that a message answers by a reply to the one of `reply_to`, both by the channel's ids.

        None where there is none, or where another message has answered it.
        """
        return await self._first(
            "SELECT b.*, o.session_id FROM buttons b JOIN outbox o ON o.id = b.outbox_id"
            " WHERE b.by_reply AND o.channel = ? AND o.session_id = ?"
            " AND EXISTS (SELECT 1 FROM json_each(o.message_ids) WHERE value = ?) AND (b.pressed_by IS NULL"
            " OR EXISTS (SELECT 1 FROM inbox i WHERE i.id = b.pressed_by AND i.message_id = ?))",
            (self._channel, session_id, reply_to, message_id),
        )

    async def _first(self, query: str, parameters: tuple[object, ...]) -> PressedButton | None:
        for database in self._database.private.databases():
            if (row := await database.row(query, parameters)) is not None:
                return _pressed_button(row)
        return None

    async def press(self, button: PressedButton, by: int) -> ClaimResult:
        """Use up the button's row, or all rows where it works in place. by: the press, by its number in the inbox.

        The same press counts as often as it comes, since one that was interrupted is taken up again.
        """
        async with self._database.private.database_with(button.reply).transaction() as connection:
            if button.again:
                query = f"SELECT 1 FROM buttons b WHERE b.id = ? AND {PRESSABLE}"
                rows = await connection.execute_fetchall(query, (button.id,))
                return ClaimResult.NOW if list(rows) else ClaimResult.TOO_LATE
            await connection.execute(
                f"UPDATE buttons AS b SET pressed_by = :by WHERE outbox_id = :reply AND {PRESSABLE} AND (:all OR line ="
                " (SELECT line FROM buttons WHERE id = :id))"
                f" AND EXISTS (SELECT 1 FROM buttons b WHERE b.id = :id AND {PRESSABLE})",
                {"by": by, "reply": button.reply, "all": button.in_place, "id": button.id},
            )
            (row,) = await connection.execute_fetchall("SELECT pressed_by FROM buttons WHERE id = ?", (button.id,))
        if row[0] is None:
            return ClaimResult.TOO_LATE
        return ClaimResult.NOW if row[0] == by else ClaimResult.BEFORE

    async def left(self, reply: int) -> PlacedKeyboard:
        """The buttons under a reply that can still be pressed."""
        database = self._database.private.database_with(reply)
        value = await database.value(f"SELECT {PLACED} FROM outbox o WHERE o.id = ?", (reply,))
        return placed(value) if value is not None else ()


def _pressed_button(row: Row) -> PressedButton:
    return PressedButton(
        id=row["id"],
        reply=row["outbox_id"],
        session_id=row["session_id"],
        said=row["said"],
        in_place=bool(row["in_place"]),
        again=bool(row["again"]),
        asker=row["asker"],
    )
