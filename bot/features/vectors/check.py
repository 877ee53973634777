"""The check of the embedding model in `mneme doctor`."""

from __future__ import annotations

import contextlib
import time

from bot.doctor.finding import DoctorContext, Finding, create_ok, create_warning
from bot.doctor.services import BUSY_TIMEOUT_SECONDS
from bot.features.vectors.models import check_embedder, create_meaning_models
from bot.features.vectors.settings import VectorsSettings
from bot.features.vectors.store import Vectors
from memory.store.database import Database

EMBEDDER = "Check EMBEDDING_MODEL and what it needs. Until then, the bot searches only by words."


async def check_embeddings(context: DoctorContext) -> list[Finding]:
    settings = context.settings
    if settings.group(VectorsSettings).embedding_model is None:
        return [create_ok("embedder", "None is configured, so the memory is searched only by words")]
    async with contextlib.AsyncExitStack() as stack:
        started = time.monotonic()
        models = await check_embedder(create_meaning_models(settings, stack))
        if models.embedder is None:
            return [create_warning("embedder", (models.trouble or "Memory is off").rstrip("."), EMBEDDER)]
        text = f"{models.embedder.name} answers in {time.monotonic() - started:.1f} s"
        if not context.state.is_usable:
            return [create_ok("embedder", text)]
        database = await Database.open(context.database, busy_timeout=BUSY_TIMEOUT_SECONDS)
        stack.push_async_callback(database.close)
        progress = await Vectors(database).measure_progress(models.embedder.name)
        return [create_ok("embedder", f"{text}; {progress.done:,} of {progress.total:,} texts have vectors")]
