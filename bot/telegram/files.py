"""Fetching files from Telegram: getFile and the download behind it, within limits, again where that may help."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import structlog
from telegram.error import BadRequest, InvalidToken, RetryAfter, TelegramError

from bot.tasks import Backoff
from bot.telegram.calls import explained
from config.texts import _
from pipeline.media.files import MediaUnreadable

if TYPE_CHECKING:
    from telegram import Bot

    from memory.media.media import Media

log = structlog.get_logger(__name__)

LARGEST = 20 * 1024 * 1024
"""Bytes of a file that Telegram lets bots fetch."""
SECONDS = 60
"""How long one try may take in all."""
TRIES = 3
LONGEST_PAUSE = 10.0
"""Seconds that a fetch waits at the most when Telegram asks for patience."""
AT_ONCE = 4
"""Files that are in memory at the same time."""


class TelegramFiles:
    """Fetches what was sent over Telegram."""

    def __init__(self, bot: Bot) -> None:
        self._bot = bot
        self._free = asyncio.Semaphore(AT_ONCE)

    async def fetch(self, media: Media) -> bytes:
        """The bytes. Raises MediaUnreadable."""
        if (media.file.size or 0) > LARGEST:
            raise _too_large(media)
        backoff = Backoff(LONGEST_PAUSE)
        async with self._free:
            for tried in range(1, TRIES + 1):
                try:
                    async with asyncio.timeout(SECONDS):
                        return await self._download(media)
                except BadRequest as error:
                    log.warning("file_refused", kind=media.file.kind, reason=error.message)
                    if "too big" in error.message.lower():
                        raise _too_large(media) from None
                    raise MediaUnreadable(
                        _("Telegram no longer has {name}: send it again.", name=_(media.name))
                    ) from None
                except (TelegramError, TimeoutError, OSError) as error:
                    # not the error's words: they may hold the address, which has the token in it
                    log.warning("file_not_fetched", kind=media.file.kind, error=type(error).__name__, tried=tried)
                    if tried == TRIES or isinstance(error, InvalidToken):
                        break
                    pause = explained(error).pause if isinstance(error, RetryAfter) else 0
                    await backoff.wait(at_least=min(pause, LONGEST_PAUSE))
        raise MediaUnreadable(_("I could not fetch {name} from Telegram: send /retry in a moment.", name=_(media.name)))

    async def _download(self, media: Media) -> bytes:
        file = await self._bot.get_file(media.file.file_id)
        if (file.file_size or 0) > LARGEST:
            raise _too_large(media)
        return bytes(await file.download_as_bytearray())


def _too_large(media: Media) -> MediaUnreadable:
    size = f" ({media.file.size / 1024 / 1024:.0f} MB)" if media.file.size else ""
    return MediaUnreadable(
        _(
            "{name} is larger than the 20 MB that Telegram lets bots fetch: send a smaller one, or a part.",
            name=f"{_(media.name)}{size}",
        )
    )
