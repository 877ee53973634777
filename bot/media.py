"""The media half of the composition root: who fetches, reads, sees and hears what is sent besides words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.endpoints import endpoint_at
from pipeline.media.fetching import MediaSources
from pipeline.media.reading import MediaReader
from pipeline.media.transcription import Transcriber

if TYPE_CHECKING:
    import contextlib

    from config.settings import Settings
    from memory.media.media import MediaStore
    from pipeline.models.endpoint import Endpoint
    from pipeline.prompt.budget import BudgetOf


def media_reader(
    settings: Settings,
    store: MediaStore,
    budget: BudgetOf,
    stack: contextlib.AsyncExitStack,
) -> tuple[MediaReader, MediaSources]:
    """The reader, and where channels say that they are what it fetches from."""
    sources = MediaSources()
    transcriber = Transcriber(settings.llm_transcription_model, _hearing(settings), settings.llm_timeout)
    stack.push_async_callback(transcriber.close)
    return MediaReader(store, sources, transcriber, budget), sources


def _hearing(settings: Settings) -> Endpoint | None:
    """Where the model is that turns recordings into text; the key of one place is not shown to another."""
    own, url = settings.llm_transcription_api_key, settings.llm_transcription_base_url
    if own is None and url is None and not settings.has_endpoint:
        return None
    key = own or (settings.openai_api_key if url is None else None)
    return endpoint_at(url or settings.openai_base_url, key)
