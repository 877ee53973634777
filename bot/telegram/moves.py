"""Groups that become supergroups: Telegram gives them another id, under which all goes on."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

from bot.telegram import CHANNEL
from bot.telegram.calls import chat_of
from memory.log.sessions import Address

if TYPE_CHECKING:
    from bot.chat.session_runner import SessionRunner
    from bot.telegram.updates import Letter
    from memory.service.moving import Moving


class Moves:
    """Knows which groups have another id now, and moves what is kept of them."""

    def __init__(self, moving: Moving, runner: SessionRunner) -> None:
        self._moving = moving
        self._runner = runner
        self._present: dict[int, int] = {}
        self._on_the_way: set[int] = set()
        self._one_at_a_time = asyncio.Lock()

    async def start(self) -> None:
        """Learn of the moves of earlier runs."""
        known = await self._moving.known(CHANNEL)
        self._present = {int(former): int(present) for former, present in known.items()}

    def former_of(self, chat: int) -> set[int]:
        """The ids that a chat had before."""
        return {former for former, present in self._present.items() if present == chat}

    def is_known(self, former: int, present: int) -> bool:
        """Whether a group has moved there already."""
        return self._present.get(former) == present

    def is_on_the_way(self, chat: int) -> bool:
        """Whether a group is being moved from or to that id: what arrives meanwhile waits in the inbox."""
        return chat in self._on_the_way

    def sent_on(self, letter: Letter) -> Letter:
        """A letter that was written under the former id of its chat, as one to the present one.

        Messages are counted anew there, so the number of this one means nothing any more.
        """
        present = self._present.get(chat_of(letter.arrival.address))
        if present is None:
            return letter
        address = replace(letter.arrival.address, chat_id=str(present))
        return replace(letter, arrival=replace(letter.arrival, address=address, message_id=None))

    async def follow(self, former: int, present: int) -> bool:
        """Move what is kept of a group; whether it goes on under its new id. Raises StoreError.

        What runs there is ended uncommitted, and comes again from the inbox under the new id.
        """
        async with self._one_at_a_time:
            if not self.is_known(former, present):
                self._on_the_way |= {former, present}
                try:
                    if not await self._move(Address(CHANNEL, str(former)), Address(CHANNEL, str(present))):
                        return False
                finally:
                    self._on_the_way.clear()
                self._present[former] = present
            return True

    async def _move(self, former: Address, present: Address) -> bool:
        has_moved = False
        try:
            await self._runner.let_go(former.owner)
            has_moved = await self._moving.move(former, present)
        finally:
            if not has_moved:
                self._runner.take_back(former.owner)
        return has_moved
