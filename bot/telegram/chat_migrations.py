"""Groups that become supergroups with another id: detection, redirection of updates, and moving of their data."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from telegram import Update
from telegram.constants import ChatType

from bot.sessions import SessionRunner
from bot.telegram import CHANNEL
from bot.telegram.calls import get_chat_id
from bot.telegram.updates import IncomingMessage
from memory.log.sessions import Address
from memory.mail.chat_migration import ChatMigration


def parse_migration(update: Update) -> tuple[int, int] | None:
    """Return the former and the new id of a group that became a supergroup, or None for other updates.

    Telegram reports it in the last message of the group and the first one of the supergroup.
    """
    message = update.message
    if message is None:
        return None
    if message.migrate_to_chat_id is not None and message.chat.type == ChatType.GROUP:
        return message.chat.id, message.migrate_to_chat_id
    if message.migrate_from_chat_id is not None and message.chat.type == ChatType.SUPERGROUP:
        return message.migrate_from_chat_id, message.chat.id
    return None


class ChatMigrations:
    """Tracks groups that have a new id, and moves their data."""

    def __init__(self, moving: ChatMigration, runner: SessionRunner) -> None:
        self._moving = moving
        self._runner = runner
        self._present: dict[int, int] = {}
        self._moving_ids: set[int] = set()
        self._one_at_a_time = asyncio.Lock()

    async def start(self) -> None:
        migrations = await self._moving.read_new_ids(CHANNEL)
        self._present = {int(former): int(present) for former, present in migrations.items()}

    def find_former_ids(self, chat: int) -> set[int]:
        return {former for former, present in self._present.items() if present == chat}

    def is_known(self, former: int, present: int) -> bool:
        return self._present.get(former) == present

    def is_moving(self, chat: int) -> bool:
        """Return True if a group is being moved from or to that id. Its updates wait in the inbox."""
        return chat in self._moving_ids

    def redirect(self, message: IncomingMessage) -> IncomingMessage:
        """Address a message to the new id of its chat, if the chat has moved.

        Message numbers start again in the new chat, so the message loses its number.
        """
        present = self._present.get(get_chat_id(message.arrival.address))
        if present is None:
            return message
        address = replace(message.arrival.address, chat_id=str(present))
        return replace(message, arrival=replace(message.arrival, address=address, message_id=None))

    async def follow(self, former: int, present: int) -> bool:
        """Move the data of a group. Return True if that worked. Raises StoreError.

        Running turns are cancelled without a commit and start again from the inbox under the new id.
        """
        old, new = Address(CHANNEL, str(former)), Address(CHANNEL, str(present))
        async with self._one_at_a_time:
            if self.is_known(former, present):
                return True
            self._moving_ids |= {former, present}
            has_moved = False
            try:
                await self._runner.suspend_chat(old.owner)
                has_moved = await self._moving.move(old, new)
            finally:
                if has_moved:
                    self._present[former] = present
                else:
                    self._runner.resume_chat(old.owner)
                self._moving_ids.clear()
            return has_moved
