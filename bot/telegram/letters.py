"""What is meant for us in updates: read once when they come, and kept at hand until they are worked on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.telegram.updates import letter_of, read_update

if TYPE_CHECKING:
    from collections.abc import Container

    from telegram import Update, User

    from bot.telegram.updates import Letter, RawUpdate
    from memory.service.mailbox import InboxItem
    from pipeline.arrival import Channel

MOST_AT_HAND = 2_000
"""Letters at hand at a time, of some kilobytes each; what is beyond is read again from what the inbox keeps."""


class Letters:
    """Reads updates. What the library makes of one takes a tenth of a millisecond, so a crowd's is read once only."""

    def __init__(self, me: User, channel: Channel, known: Container[str], albums: Container[str]) -> None:
        self._me = me
        self._bot = me.get_bot()
        self._channel = channel
        self._known = known
        self._albums = albums
        self._at_hand: dict[int, tuple[str, Letter]] = {}

    def read(self, update: RawUpdate) -> tuple[Update, Letter | None]:
        """An update and the letter in it, if there is any. Raises whatever the library does where it can't read it."""
        read = read_update(update.payload, self._bot)
        return read, self.in_update(read)

    def in_update(self, update: Update) -> Letter | None:
        """The letter in an update, by what is known of albums now."""
        return letter_of(update, self._me, self._channel, self._known, self._albums)

    def keep(self, update: RawUpdate, letter: Letter) -> None:
        """Have the letter of an update at hand for when it is taken from the inbox."""
        if len(self._at_hand) >= MOST_AT_HAND:
            del self._at_hand[next(iter(self._at_hand))]
        self._at_hand[update.id] = update.payload, letter

    def of_item(self, item: InboxItem) -> Letter | None:
        """The letter in what the inbox keeps; it is at hand once. What was changed since is read as it is now."""
        payload, letter = self._at_hand.pop(item.update_id, ("", None))
        return letter if payload == item.payload else self.kept(item.payload)

    def if_meant(self, update: Update) -> Letter | None:
        """The letter that an update would be if it were meant for us."""
        return letter_of(update, self._me, self._channel, self._known, kept=True)

    def kept(self, payload: str) -> Letter | None:
        """The letter in an update that was found to be meant for us when it came."""
        return self.if_meant(read_update(payload, self._bot))
